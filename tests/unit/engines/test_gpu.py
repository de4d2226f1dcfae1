"""GPUs: every answer of the driver's tool is a state, none is an error."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jupyter_elastic.engines.local.gpu import GpuProbe, GpuReading, parse, read, visible

MIB = 1024 * 1024
TWO = "0, NVIDIA P4, 7611, 120, 3\n1, NVIDIA P4, 7611, 7000, 97\n"


def tool(folder: Path, body: str) -> str:
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_parse() -> None:
    first, second = parse(TWO)
    assert (first.index, first.name, first.memory_total) == (0, "NVIDIA P4", 7611 * MIB)
    assert (second.memory_used, second.percent) == (7000 * MIB, 97.0)
    assert first.gpu.memory_bytes == 7611 * MIB


@pytest.mark.parametrize("word", ["[N/A]", "[Not Supported]", "", "-1", "nan", "inf"])
def test_what_the_driver_does_not_tell_is_none(word: str) -> None:
    (gpu,) = parse(f"0, GRID A100, {word}, {word}, {word}\n")
    assert (gpu.memory_total, gpu.memory_used, gpu.percent) == (None, None, None)


def test_parse_leaves_out_what_is_no_gpu() -> None:
    assert parse("") == ()
    assert parse("warning: something\nNo devices were found\n") == ()
    assert parse("0, NVIDIA A, B, 1, 2, 3\n")[0].name == "NVIDIA A, B"


@pytest.mark.parametrize(
    ("value", "left"),
    [(None, [0, 1]), ("1", [1]), ("1,0", [0, 1]), ("", []), ("-1", []), ("0,-1,1", [0]), ("7", [])],
)
def test_cuda_visible_devices(value: str | None, left: list[int]) -> None:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    found = visible(GpuReading(parse(TWO)), environment)
    assert [gpu.index for gpu in found.gpus] == left


def test_gpus_named_by_uuid_are_not_guessed() -> None:
    found = visible(GpuReading(parse(TWO)), {"CUDA_VISIBLE_DEVICES": "GPU-8f3a"})
    assert found.gpus == ()
    assert "uuid" in found.problem


def test_no_tool_is_no_gpu() -> None:
    assert read("nvidia-smi-that-is-not-there") == GpuReading()


def test_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert len(read(tool(tmp_path, f"printf '{TWO}'")).gpus) == 2
    assert read(tool(tmp_path, "echo No devices were found; exit 6")) == GpuReading()
    failed = read(tool(tmp_path, "echo NVIDIA-SMI has failed; exit 9"))
    assert failed.gpus == ()
    assert "has failed" in failed.problem
    assert "exit 3" in read(tool(tmp_path, "exit 3")).problem


def test_a_tool_that_hangs_is_a_state(tmp_path: Path) -> None:
    found = read(tool(tmp_path, "exec sleep 30"), timeout=0.2)
    assert found.gpus == ()
    assert "0.2 s" in found.problem


async def test_probe_reads_once_for_all(tmp_path: Path) -> None:
    log = tmp_path / "log"
    probe = GpuProbe(tool(tmp_path, f"echo x >> {log}; printf '{TWO}'"))
    readings = await asyncio.gather(*(probe.now() for _ in range(5)))
    await probe.now()
    assert log.read_text().count("x") == 1
    assert {len(reading.gpus) for reading in readings} == {2}
    assert len(probe.last.gpus) == 2
