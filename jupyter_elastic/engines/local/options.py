"""What the create form may offer on this machine, in words."""

from __future__ import annotations

from collections.abc import Iterable

from ...models import EngineOptions, GpuKind, Health
from .allocation import Machine, capacity, reserved
from .records import Record


def options_of(
    machine: Machine, records: Iterable[Record], name: str, title: str, health: Health
) -> EngineOptions:
    """Return the options of this machine now."""
    most = capacity(0, None, machine)
    if len(machine.gpus) > most.size:
        most = capacity(1, None, machine)
    return EngineOptions(
        name=name,
        title=title,
        summary=_summary(machine),
        health=health,
        max_size=most.size,
        capacity=most,
        launcher_modes=("here",),
        gpu_kinds=_kinds(machine, set(reserved(records, machine))),
        gpu_note=_note(machine),
    )


def _kinds(machine: Machine, held: set[int]) -> tuple[GpuKind, ...]:
    names = dict.fromkeys(gpu.name for gpu in machine.gpus)
    return tuple(
        GpuKind(
            name,
            total=sum(gpu.name == name for gpu in machine.gpus),
            free=sum(gpu.name == name and gpu.index not in held for gpu in machine.gpus),
        )
        for name in names
    )


def _summary(machine: Machine) -> str:
    cores = f"{machine.cores} CPU core{'' if machine.cores == 1 else 's'}"
    words = f"this machine, {cores}, {_gpu_words(machine)}"
    if machine.addressing == "slots":
        words += (
            "; it has no loopback addresses above 127.0.0.1, so all places share one line of the "
            "host file: only the newest can leave, and a crashed rank ends the whole run"
        )
    return words


def _gpu_words(machine: Machine) -> str:
    if machine.gpu_problem:
        return "GPUs not available"
    if not machine.gpus:
        return "no GPU"
    names = dict.fromkeys(gpu.name for gpu in machine.gpus)
    counts = [f"{sum(gpu.name == name for gpu in machine.gpus)} {name}" for name in names]
    return ", ".join(counts)


def _note(machine: Machine) -> str:
    if machine.gpu_problem:
        return machine.gpu_problem
    if len(machine.gpus) == 1:
        return (
            "This machine has one GPU: with it the cluster has size 1. Leave GPUs at 0 for several "
            "CPU places, to rehearse."
        )
    return ""
