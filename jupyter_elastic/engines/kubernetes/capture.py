"""Run a program for its output, within bounds of time and memory."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress

OUTPUT_LIMIT = 1024 * 1024  # bytes
_CHUNK = 64 * 1024
_LINGER_SECONDS = 1.0  # for what a child that outlives the program may still print


class CaptureError(Exception):
    """The program went over a bound and was ended; the text says which one."""


def capture(argv: list[str], environ: Mapping[str, str], seconds: float) -> tuple[int, bytes]:
    """Run a program without input; blocks, at most `seconds`.

    Its errors are read, so that it cannot block on them, and dropped.

    Returns
    -------
    tuple
        Exit code, negative for a signal, and the output.

    Raises
    ------
    CaptureError
        It took longer than `seconds`, or printed more than 1 MiB.
    OSError
        It cannot be started.
    """
    process = subprocess.Popen(
        argv,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output = _drain(process, time.monotonic() + seconds, seconds)
        return process.wait(_LINGER_SECONDS), output
    except subprocess.TimeoutExpired:
        raise CaptureError("closed its output and did not end") from None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _drain(process: subprocess.Popen[bytes], end: float, seconds: float) -> bytes:
    output = bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = end - time.monotonic()
            if left <= 0:
                if process.poll() is not None:
                    break  # it has ended; a child of it holds the pipes
                raise CaptureError(f"did not end within {seconds:g} s")
            for key, _ in selector.select(min(left, _LINGER_SECONDS)):
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    output += data
            if len(output) > OUTPUT_LIMIT:
                raise CaptureError(f"printed more than {OUTPUT_LIMIT // 1024} KiB")
            if process.poll() is not None:
                end = min(end, time.monotonic() + _LINGER_SECONDS)
    return bytes(output)
