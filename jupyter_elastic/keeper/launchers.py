"""What the command line of each launcher program says: ranks, bounds, source of the hosts.

A program is added by one entry in :data:`LAUNCHERS`.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Launcher(NamedTuple):
    """How to read one program's options. Names are given as they are typed."""

    np: tuple[str, ...] = ()
    min_np: tuple[str, ...] = ()
    max_np: tuple[str, ...] = ()
    hostfile: tuple[str, ...] = ()  # a file of hosts
    script: tuple[str, ...] = ()  # a discovery script
    with_value: tuple[str, ...] = ()  # other options that take the next word
    no_run: tuple[str, ...] = ()  # options with which nothing trains
    sets_devices: bool = True  # False: it rejects CUDA_VISIBLE_DEVICES in its own environment


class Reading(NamedTuple):
    """What a command line says. ``hosts`` is the path of the host file or discovery script."""

    np: int | None = None
    min_np: int | None = None
    max_np: int | None = None
    elastic: bool = False
    hosts: str | None = None
    runs: bool = True


HOROVODRUN = Launcher(
    np=("-np", "--num-proc", "--np"),
    min_np=("--min-np", "--min-num-proc"),
    max_np=("--max-np", "--max-num-proc"),
    hostfile=("-hostfile", "--hostfile"),
    script=("--host-discovery-script",),
    with_value=(
        "-H", "--hosts", "-p", "--ssh-port", "-i", "--ssh-identity-file", "--network-interfaces",
        "--network-interface", "--start-timeout", "--output-filename", "--config-file",
        "--slots-per-host", "--elastic-timeout", "--reset-limit", "--gloo-timeout-seconds",
        "--mpi-args", "--binding-args", "--log-level", "--fusion-threshold-mb", "--cycle-time-ms",
        "--cache-capacity", "--timeline-filename", "--num-nccl-streams", "--thread-affinity",
    ),
    no_run=("-h", "--help", "-v", "--version", "-cb", "--check-build"),
)  # fmt: skip

LAUNCHERS: dict[str, Launcher] = {
    "horovodrun": HOROVODRUN,
    "deepspeed": Launcher(
        hostfile=("-H", "--hostfile"),
        with_value=(
            "-i", "--include", "-e", "--exclude", "--num_nodes", "--num_gpus", "--master_addr",
            "--master_port", "--ssh_port", "--launcher", "--launcher_args", "--node_rank",
            "--venv_script", "--min_elastic_nodes", "--max_elastic_nodes",
        ),
        no_run=("-h", "--help"),
        sets_devices=False,
    ),
    "mpirun": Launcher(
        np=("-np", "--np", "-n", "-c"),
        hostfile=("-hostfile", "--hostfile", "-machinefile", "--machinefile"),
        with_value=("-H", "-host", "--host", "-x"),
        no_run=("-h", "--help", "-V", "--version"),
    ),
    "torchrun": Launcher(
        with_value=(
            "--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id",
            "--rdzv-conf", "--max-restarts", "--monitor-interval", "--node-rank", "--master-addr",
            "--master-port", "--local-addr",
        ),
        no_run=("-h", "--help"),
    ),
}  # fmt: skip


def of(program: str) -> Launcher:
    """Return how to read a program's options; for one without an entry nothing is known."""
    return LAUNCHERS.get(program, Launcher())


def _number(text: str | None) -> int | None:
    try:
        value = int(text or "")
    except ValueError:
        return None
    return value if value > 0 else None


def read(program: str, arguments: Sequence[str]) -> Reading:
    """Read the options before the training command. What cannot be read is None, never an error."""
    launcher = of(program)
    found: dict[tuple[str, ...], str] = {}
    runs = True
    known = (launcher.np, launcher.min_np, launcher.max_np, launcher.hostfile, launcher.script)
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if not word.startswith("-") or word == "--":
            break  # the training command begins; its options are not ours
        name, equals, value = word.partition("=")
        if name in launcher.no_run:
            runs = False
        names = next((group for group in known if name in group), None)
        if names is None and not (name in launcher.with_value and not equals):
            continue
        if not equals:
            value = arguments[at] if at < len(arguments) else ""
            at += 1
        if names is not None:
            found[names] = value
    low, high = found.get(launcher.min_np), found.get(launcher.max_np)
    script = found.get(launcher.script) if launcher.script else None
    return Reading(
        np=_number(found.get(launcher.np)),
        min_np=_number(low),
        max_np=_number(high),
        elastic=script is not None,
        hosts=script or (found.get(launcher.hostfile) if launcher.hostfile else None),
        runs=runs,
    )
