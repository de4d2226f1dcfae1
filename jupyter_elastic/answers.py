"""What a magic returns and the command line prints: the same facts as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from .client import Hosts
from .models import Cluster, Container, Launch, Plan, State
from .waiting import laggards, summary

Row = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Shown:
    """An answer that shows itself.

    Attributes
    ----------
    value
        The model behind it, for programs.
    """

    value: Any
    title: str
    lines: tuple[str, ...] = ()
    code: str = ""
    header: Row = ()
    rows: tuple[Row, ...] = ()

    def __repr__(self) -> str:
        parts = [self.title] if self.title else []
        parts.extend(self.lines)
        if self.code:
            parts.append(self.code)
        parts.extend(_columns((self.header, *self.rows)) if self.rows else [])
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        # Every text here may hold names, paths and reasons that others wrote.
        parts = [f"<strong>{escape(self.title)}</strong>"] if self.title else []
        parts += [f"<div>{escape(line)}</div>" for line in self.lines]
        if self.code:
            parts.append(f"<pre>{escape(self.code)}</pre>")
        if self.rows:
            head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
            body = "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                for row in self.rows
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return f'<div class="jp-Elastic-answer">{"".join(parts)}</div>'


@dataclass(frozen=True, repr=False)
class Quiet(Shown):
    """The same, but a notebook shows nothing for it; ``print(it)`` does."""

    def _ipython_display_(self) -> None:
        return


def quiet(shown: Shown) -> Quiet:
    """Return `shown` so that a cell that ends with it stays empty."""
    return Quiet(shown.value, shown.title, shown.lines, shown.code, shown.header, shown.rows)


def show_plan(plan: Plan, *, done: bool, name: str) -> Shown:
    """Show a plan, or what was just asked for (`done`)."""
    title = f"{name}: target {plan.target}" if done else f"{name}: plan for {plan.target}"
    lines = [plan.text, *plan.warnings]
    if plan.confirm and not done:
        lines.append("It ends or restarts a run: it needs --force.")
    if plan.eta_seconds is not None:
        lines.append(f"About {plan.eta_seconds:.0f} s.")
    return Shown(plan, title, tuple(lines))


def show_cluster(cluster: Cluster) -> Shown:
    """Show one cluster with its containers."""
    lines = [f"{cluster.framework_title} on {cluster.engine}, {cluster.hostfile.hostfile}"]
    lines += [f"Running: {run.text}" for run in cluster.runs if run.live]
    if cluster.reason:
        lines.append(cluster.reason.text)
    lines += [offer.text for offer in cluster.offers]
    rows = tuple(_row(item) for item in cluster.containers)
    title = f"{cluster.name}: {cluster.state}, {summary(cluster)}"
    return Shown(cluster, title, tuple(lines), header=_HEADER, rows=rows)


def show_state(state: State, own_version: str) -> Shown:
    """Show all clusters; says so when server and caller have different versions."""
    lines = [
        f"{item.title}: {item.health.state}. {item.health.text}".rstrip()
        for item in state.engines
        if item.health.state != "live"
    ]
    if own_version and state.version and own_version != state.version:
        lines.append(f"The server has version {state.version}, this environment {own_version}.")
    if not state.clusters:
        lines.append("No cluster yet: create one in the panel or with %elastic_create NAME.")
        return Shown(state, "", tuple(lines))
    for cluster in state.clusters:
        lines += [f"{cluster.name}: {line}" for line in laggards(cluster)[:5]]
        lines += [f"{cluster.name}: running {run.text}" for run in cluster.runs if run.live]
        lines += [f"{cluster.name}: {offer.text}" for offer in cluster.offers]
    rows = tuple(
        (item.name, item.state, summary(item), _gpus(item), item.framework_title, item.id)
        for item in state.clusters
    )
    return Shown(state, "", tuple(lines), header=_STATUS_HEADER, rows=rows)


def show_hosts(hosts: Hosts) -> Shown:
    """Show the host file."""
    lines = []
    if not hosts.in_sync:
        why = f": {hosts.reason}" if hosts.reason else ""
        lines.append(f"It does not show the newest list yet{why}")
    return Shown(hosts, hosts.path, tuple(lines), code="\n".join(hosts.lines))


def show_command(launch: Launch) -> Shown:
    """Show the launch command."""
    lines = [f"in {launch.cwd}"]
    if launch.reason:
        lines.append(launch.reason.text)
    return Shown(launch, "", (*lines, *launch.warnings), code=launch.text)


def show_release(cluster: Cluster, *, gone: bool) -> Shown:
    """Say that a cluster was given back, or (not `gone`) that it is on its way."""
    done = "is released" if gone else "is being released"
    number = len(cluster.containers)
    words = f"{number} container{'s' * (number != 1)}"
    return Shown(cluster, f"{cluster.name} {done}: {words}.")


_HEADER: Row = ("role", "name", "host", "GPUs", "state", "why")
_STATUS_HEADER: Row = ("name", "state", "containers", "GPUs", "framework", "id")


def _row(item: Container) -> Row:
    why = item.reason.text if item.reason else ""
    names = ", ".join(gpu.name for gpu in item.gpus) or "-"
    return (item.role, item.name, item.host or "-", names, item.state, why)


def _gpus(cluster: Cluster) -> str:
    return str(sum(len(item.gpus) for item in cluster.containers))


def _columns(rows: tuple[Row, ...]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
