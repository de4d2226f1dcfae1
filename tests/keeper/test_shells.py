"""Launch shells: whose start files, whose PATH, whose environment; terminals that come and go."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from jupyter_elastic.keeper.client import KeeperError

from .harness import Kept, Terminal, wait_for

SHELLS = [path for path in ("/bin/bash", "/usr/bin/zsh", "/bin/dash") if os.path.exists(path)]
PROFILES = (".bashrc", ".bash_profile", ".profile", ".zshenv", ".zprofile", ".zshrc", ".zlogin")


@pytest.fixture(params=SHELLS, ids=[os.path.basename(path) for path in SHELLS])
def program(request: pytest.FixtureRequest) -> str:
    """Every shell that we know the start files of."""
    return str(request.param)


def ask(terminal: Terminal, text: str, mark: str) -> str:
    """Run a command that prints ``mark=...=`` and return what is between."""
    terminal.type(f"{text}\r")
    pattern = re.compile(rf"{mark}=([^=\r]*)=")

    def there() -> re.Match[str] | None:
        terminal.read(0.05)
        found = pattern.findall(terminal.output.decode(errors="replace"))
        return next((re.match(r"(.*)", one, re.DOTALL) for one in found if "$" not in one), None)

    found: re.Match[str] = wait_for(there, what=f"{mark} in {terminal.output[-800:]!r}")
    return found[1]


def path_of(terminal: Terminal) -> list[str]:
    return ask(terminal, "printf 'P%s=%s=\\n' ATH \"$PATH\"", "PATH").split(":")


def evil(kept: Kept, name: str) -> Path:
    """Make a folder with another horovodrun."""
    folder = kept.base / name
    folder.mkdir()
    kept.script("horovodrun", "#!/bin/sh\necho wrong one\n", folder)
    return folder


def test_our_folder_then_the_environment(kept: Kept, program: str) -> None:
    path = path_of(kept.terminal(kept.open(program)))
    assert path[:2] == [str(kept.folder / "bin"), str(kept.python_folder)]
    assert path.count(str(kept.folder / "bin")) == 1
    assert {"/usr/bin", "/bin"} <= set(path)


def test_rc_that_prepends_another_one(kept: Kept, program: str) -> None:
    for name in PROFILES:
        folder = evil(kept, f"evil{name}")
        (kept.home / name).write_text(
            f'export PATH="{folder}:$PATH"\nexport SEEN="$SEEN {name}"\n'
            f'alias horovodrun="{folder}/horovodrun" 2>/dev/null\n'
        )
    terminal = kept.terminal(kept.open(program))
    path = path_of(terminal)
    assert path[:2] == [str(kept.folder / "bin"), str(kept.python_folder)]
    seen = ask(terminal, "printf 'S%s=%s=\\n' EEN \"$SEEN\"", "SEEN").split()
    own = {
        "bash": [".bash_profile", ".bashrc"],
        "zsh": [".zshenv", ".zprofile", ".zshrc", ".zlogin"],
    }
    assert seen == own.get(os.path.basename(program), [".profile"])
    terminal.type(f"horovodrun -np 1 --hostfile {kept.hostfile} code4; echo rc-$?\r")
    assert "wrong one" not in terminal.expect("rc-4")


def test_profile_that_reads_the_rc_reads_it_once(kept: Kept) -> None:
    (kept.home / ".bashrc").write_text('SEEN="$SEEN rc"\n')
    (kept.home / ".profile").write_text('[ -z "$BASH_VERSION" ] || . "$HOME/.bashrc"\n')
    assert ask(kept.terminal(kept.open()), "printf 'S%s=%s=\\n' EEN \"$SEEN\"", "SEEN").split() == [
        "rc"
    ]


def test_zsh_user_who_moves_the_start_files(kept: Kept) -> None:
    if "/usr/bin/zsh" not in SHELLS:
        pytest.skip("no zsh here")
    moved = kept.home / "dot"
    moved.mkdir()
    (kept.home / ".zshenv").write_text(f'export ZDOTDIR="{moved}"\n')
    (moved / ".zshrc").write_text(f'SEEN=moved\nPATH="{evil(kept, "evil")}:$PATH"\n')
    terminal = kept.terminal(kept.open("/usr/bin/zsh"))
    assert ask(terminal, "printf 'S%s=%s=\\n' EEN \"$SEEN\"", "SEEN") == "moved"
    assert ask(terminal, "printf 'Z%s=%s=\\n' DOT \"$ZDOTDIR\"", "ZDOT") == str(moved)
    assert path_of(terminal)[0] == str(kept.folder / "bin")


@pytest.mark.parametrize("program", [one for one in SHELLS if "dash" not in one])
def test_path_changed_at_the_prompt(kept: Kept, program: str) -> None:
    terminal = kept.terminal(kept.open(program))
    folder = evil(kept, "activated")
    terminal.type(f'PATH="{folder}:$PATH"\r')
    assert path_of(terminal)[:2] == [str(kept.folder / "bin"), str(folder)]


@pytest.mark.parametrize("hook", ["PROMPT_COMMAND='true;'", "PROMPT_COMMAND=(true true)", "set -u"])
def test_prompt_hooks_of_the_user_live_on(kept: Kept, hook: str) -> None:
    (kept.home / ".bashrc").write_text(hook + "\n")
    terminal = kept.terminal(kept.open())
    assert path_of(terminal)[0] == str(kept.folder / "bin")
    terminal.type("false\r")
    terminal.type("echo rc-$?\r")
    assert "syntax" not in terminal.expect("rc-1")


def test_environment_is_an_allow_list(kept: Kept, program: str) -> None:
    shell = kept.open(program, env={"HF_TOKEN": "passed on; $(purpose)"})
    terminal = kept.terminal(shell)
    terminal.type("env; echo d''one\r")
    text = terminal.expect("done\r\n")
    assert "HF_TOKEN=passed on; $(purpose)\r\n" in text
    assert "secret" not in text
    names = set(re.findall(r"^([A-Za-z_0-9]+)=", text.replace("\r", ""), re.MULTILINE))
    jupyter = {name for name in names if name.startswith(("JUPYTER", "JPY"))}
    assert jupyter <= {
        "JUPYTER_ELASTIC_RUNTIME_DIR",
        "JUPYTER_ELASTIC_KEEPER",
        "JUPYTER_ELASTIC_SHELL",
    }
    assert ask(terminal, "printf 'T%s=%s=\\n' ERM \"$TERM\"", "TERM") == "xterm-256color"
    # Nor is anything of it in the command line or on disk.
    for path in kept.folder.rglob("*"):
        if path.is_file() and path.suffix != ".out":
            assert b"passed on" not in path.read_bytes(), path


@pytest.mark.parametrize(
    "name", ["JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "BASH_ENV", "a b", "", "1A"]
)
def test_names_that_are_not_passed(kept: Kept, name: str) -> None:
    with pytest.raises(KeeperError) as caught:
        kept.open(env={name: "x"})
    assert caught.value.code == "bad_input"


def test_long_line_is_typed_and_not_run(kept: Kept, program: str) -> None:
    terminal = kept.terminal(kept.open(program), columns=4000)
    path_of(terminal)
    word = "x" * (3000 if "dash" in program else 20_000)
    mark = kept.base / "ran"
    terminal.type(f"echo {word} > {mark}")
    time.sleep(1.0)
    terminal.read(0.5)
    assert not mark.exists()
    terminal.type("\r")
    wait_for(
        lambda: mark.exists() and mark.read_text() == word + "\n",
        30,  # zsh takes its time with so long a line
        "the line as it was typed",
    )


def test_resize_reaches_the_program(kept: Kept) -> None:
    terminal = kept.terminal(kept.open(), rows=30, columns=100)
    terminal.type("stty size\r")
    terminal.expect("30 100")
    terminal.type("sh -c 'trap \"stty size\" WINCH; echo ready; while :; do sleep 0.1; done'\r")
    terminal.expect("ready\r\n")
    terminal.resize(41, 123)
    terminal.expect("41 123")


def test_control_c_reaches_the_run_once(kept: Kept) -> None:
    kept.script(
        "horovodrun",
        f"#!{sys.executable}\nimport signal, time\nsignal.signal(2, lambda *_: print('int', flush=True))\n"
        "print('ready', flush=True)\nend = time.monotonic() + 1.5\n"
        "while time.monotonic() < end: time.sleep(0.1)\nraise SystemExit(9)\n",
        kept.python_folder,
    )
    terminal = kept.terminal(kept.open())
    terminal.type(f"horovodrun -np 1 --hostfile {kept.hostfile} x; echo rc-$?\r")
    terminal.expect("ready")
    terminal.type("\x03")
    terminal.read(3)
    terminal.type("echo rc2-$?\r")
    assert terminal.output.decode().count("int\r\n") == 1
    run = kept.status()["runs"][0]
    assert (run["exit"], run["state"]) == (9, "stopped")


def test_two_terminals_on_one_shell(kept: Kept) -> None:
    shell = kept.open()
    one, two = kept.terminal(shell), kept.terminal(shell)
    one.type("echo both-$((1+1))\r")
    two.expect("both-2")
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 2)
    one.close()
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
    later = kept.terminal(shell)
    later.expect("both-2")
    two.type("exit 5\r")
    assert (two.wait_exit()["code"], later.wait_exit()["code"]) == (5, 5)
    wait_for(lambda: kept.status()["shells"] == [])


def test_replay_asks_the_terminal_nothing(kept: Kept) -> None:
    shell = kept.open()
    one = kept.terminal(shell)
    one.type(r"printf 'a\033[6nb\033[cd\033]11;?\007e\n'" + "\r")
    one.expect("e\r\n")
    later = kept.terminal(shell)
    later.expect("abde")
    assert b"\x1b[6n" not in later.output


def test_much_output_is_bounded_and_keeps_the_newest(kept: Kept) -> None:
    shell = kept.open()
    terminal = kept.terminal(shell)
    path_of(terminal)
    terminal.type("seq 1 1500000; echo en''d\r")
    idle = kept.terminal(shell)  # never reads: it must not hold up the shell
    terminal.expect("end\r\n", 60)
    assert (kept.folder / "shells" / f"{shell['id']}.out").stat().st_size < 5 * 2**20
    assert "1500000\r\nend" in kept.ask("shell.output", shell=shell["id"])["output"]
    idle.close()
    later = kept.terminal(shell)
    later.expect("1500000\r\nend")
    assert len(later.output) < 2**20


def test_shell_that_nobody_shows_ends_when_nothing_runs() -> None:
    kept = Kept(shell_idle_seconds=1.0)
    try:
        kept.start()
        kept.hosts(1, 1, 2)
        idle, busy = kept.open(), kept.open()
        terminal = kept.terminal(busy)
        terminal.type(f"horovodrun -np 1 --hostfile {kept.hostfile} sleep\r")
        wait_for(lambda: kept.status()["runs"])
        terminal.close()
        wait_for(lambda: [one["id"] for one in kept.status()["shells"]] == [busy["id"]], 15)
        time.sleep(4)
        run = kept.status()["runs"][0]
        assert run["state"] == "running"
        assert idle["id"] != busy["id"]
        kept.ask("run.stop", run=run["id"], grace_seconds=2)
        wait_for(lambda: kept.status()["shells"] == [], 15)
    finally:
        kept.close()


def test_close_ends_what_runs(kept: Kept) -> None:
    shell = kept.open()
    terminal = kept.terminal(shell)
    terminal.type("sleep 77\r")
    terminal.expect("sleep 77")
    kept.ask("shell.close", shell=shell["id"])
    last = terminal.wait_exit()
    assert last["reason"] == "closed"
    assert "closed" in last["text"]
    wait_for(lambda: kept.status()["shells"] == [])


def test_background_run_outlives_its_shell(kept: Kept) -> None:
    terminal = kept.terminal(kept.open())
    terminal.type(f"horovodrun -np 1 --hostfile {kept.hostfile} count & exit\r")
    run = wait_for(lambda: kept.status()["runs"])[0]
    assert kept.wait_state(run["id"], "ended", seconds=30)["exit"] == 0
    wait_for(lambda: kept.status()["shells"] == [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cwd", "/nowhere"),
        ("cwd", "relative"),
        ("cwd", None),
        ("python_folder", "/nowhere"),
        ("program", "/no/shell"),
    ],
)
def test_bad_fields(kept: Kept, field: str, value: str | None) -> None:
    with pytest.raises(KeeperError):
        kept.ask("shell.open", **kept.where(**{field: value}))
    assert kept.status()["shells"] == []


def attached(kept: Kept, shell: str) -> tuple[int, int]:
    """Start ``attach`` on a terminal of its own; returns its pid and the terminal."""
    pid, master = pty.fork()
    if pid == 0:
        pyz = str(kept.folder / "keeper.pyz")
        socket = str(kept.folder / "shells" / f"{shell}.sock")
        os.execv(sys.executable, [sys.executable, "-I", pyz, "attach", socket])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    return pid, master


def read_until(master: int, text: bytes, seconds: float = 10) -> bytes:
    os.set_blocking(master, False)
    seen = bytearray()

    def there() -> bool:
        try:
            seen.extend(os.read(master, 65536))
        except BlockingIOError:
            pass
        except OSError:
            return True
        return text in seen

    wait_for(there, seconds, f"{text!r} in {bytes(seen)!r}")
    return bytes(seen)


def test_attach_shows_types_resizes_and_leaves(kept: Kept) -> None:
    shell = kept.open()
    pid, master = attached(kept, shell["id"])
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
    os.write(master, b"stty size; echo don''e\r")
    assert b"33 101" in read_until(master, b"done\r\n")
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
    time.sleep(0.3)
    os.write(master, b"stty size; echo agai''n\r")
    assert b"40 90" in read_until(master, b"again\r\n")
    os.kill(pid, signal.SIGHUP)  # the tab was closed
    assert os.waitpid(pid, 0)[1] == 0
    os.close(master)
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 0)
    again, master = attached(kept, shell["id"])
    assert b"again" in read_until(master, b"again\r\n")
    os.write(master, b"exit 6\r")
    assert os.waitstatus_to_exitcode(os.waitpid(again, 0)[1]) == 6
    os.close(master)


def test_attach_says_that_the_cluster_was_released(kept: Kept) -> None:
    pid, master = attached(kept, kept.open()["id"])
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
    kept.ask("end", grace_seconds=2)
    shutil.rmtree(kept.folder)
    read_until(master, b"released")
    assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the line must stay until it was read"
    os.write(master, b"\r")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(master)


def test_killed_terminal_program_leaves_the_shell(kept: Kept) -> None:
    pid, master = attached(kept, kept.open()["id"])
    wait_for(lambda: kept.status()["shells"][0]["attached"] == 1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)
    wait_for(lambda: [one["attached"] for one in kept.status()["shells"]] == [0])


def test_preflight(kept: Kept, program: str) -> None:
    kept.script("python", "#!/bin/sh\n", kept.python_folder)
    (kept.home / ".bashrc").write_text("echo noise; sleep 60 &\n")
    kept.environment["SHELL"] = program
    kept.kill()
    kept.start()
    found = kept.ask("preflight", **kept.where(program="horovodrun"))
    assert found["program"] == str(kept.python_folder / "horovodrun")
    assert found["python"] == str(kept.python_folder / "python")
    missing = kept.ask("preflight", **kept.where(program="torchrun"))
    assert missing["program"] is None
    assert "torchrun" in missing["error"]


def test_rc_that_ends_the_shell(kept: Kept) -> None:
    (kept.home / ".bashrc").write_text("exit 3\n")
    found = kept.ask("preflight", **kept.where(program="horovodrun"))
    assert "start files" in found["error"]
    argv = ["horovodrun", "-np", "2", "--hostfile", str(kept.hostfile), "sleep"]
    with pytest.raises(KeeperError, match="did not start"):
        kept.ask("run.start", argv=argv, **kept.where(program="/bin/bash"))


def test_killed_host_of_a_shell(kept: Kept) -> None:
    shell = kept.open()
    record = subprocess.check_output(["cat", str(kept.folder / "shells" / f"{shell['id']}.json")])
    pid = int(re.search(rb'"host": {"pid": (\d+)', record)[1])  # type: ignore[index]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: kept.status()["shells"] == [])
    wait_for(lambda: not Path(f"/proc/{shell['pid']}").exists(), what="the end of its shell")
