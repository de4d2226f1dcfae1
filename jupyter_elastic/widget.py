"""An ipywidgets view of one cluster, where ipywidgets is installed.

Its buttons wait for the kernel: while a cell runs they do nothing. The panel works then, too.
"""

from __future__ import annotations

from typing import Any

from . import answers
from .client import Client
from .errors import ElasticError, NotFound
from .waiting import laggards, summary

_NOTE = "While a cell runs these controls wait for the kernel; the Elastic panel goes on working."


class ElasticWidget:
    """Slider with draft, target and ready, the plan in words, Apply, command and status.

    Parameters
    ----------
    cluster
        Name or id; None: the only one, or the one named last.
    client
        An open client; None: a new one.

    Raises
    ------
    NotFound
        When ipywidgets is not installed in this environment, or there is no such cluster.
    """

    def __init__(self, cluster: str | None = None, *, client: Client | None = None) -> None:
        try:
            import ipywidgets
        except ImportError:
            raise NotFound(
                "ipywidgets is not installed in this kernel's environment.",
                hint="%pip install ipywidgets, or use the Elastic panel and %elastic_scale.",
                code="no_ipywidgets",
            ) from None
        self._client = client or Client()
        self._cluster = self._client.cluster(cluster)
        self._build(ipywidgets)
        self.refresh()
        self.slider.observe(self._draft, names="value")

    def _build(self, widgets: Any) -> None:
        limit = max(self._cluster.limit.size, self._cluster.target)
        self.slider = widgets.IntSlider(
            value=self._cluster.target,
            min=1,
            max=limit,
            description="containers",
            continuous_update=False,
        )
        self.apply = widgets.Button(description="Apply", disabled=True)
        self.update = widgets.Button(description="Refresh")
        self.plan = widgets.Label()
        self.status = widgets.HTML()
        self.command = widgets.HTML()
        self.output = widgets.Output()
        note = widgets.Label(_NOTE)
        self.apply.on_click(lambda _button: self._guarded(self._apply))
        self.update.on_click(lambda _button: self._guarded(self.refresh))
        row = widgets.HBox([self.slider, self.apply, self.update])
        parts = [row, self.plan, self.status, self.command, note, self.output]
        self.box = widgets.VBox(parts)

    def refresh(self) -> None:
        """Read the cluster again; the draft stays where it is."""
        cluster = self._client.cluster(self._cluster.id)
        self._cluster = cluster
        self.slider.max = max(cluster.limit.size, cluster.target, self.slider.value)
        self.status.value = answers.show_cluster(cluster)._repr_html_()
        launch = self._client.command(cluster=cluster.id)
        self.command.value = answers.show_command(launch)._repr_html_()
        self._show_draft()

    def _draft(self, _change: Any) -> None:
        self._guarded(self._show_draft)

    def _show_draft(self) -> None:
        cluster = self._cluster
        draft = int(self.slider.value)
        self.apply.disabled = draft == cluster.target
        words = [f"target {cluster.target}, {summary(cluster)}", *laggards(cluster)[:3]]
        if draft != cluster.target:
            plan = self._client.plan(draft, cluster=cluster.id)
            words = [f"draft {draft}", *words, plan.text, *plan.warnings]
            if plan.confirm:
                words.append(f"Use %elastic_scale {draft} --force for this.")
                self.apply.disabled = True
        self.plan.value = " · ".join(words)

    def _apply(self) -> None:
        self._client.scale(int(self.slider.value), cluster=self._cluster.id)
        self.refresh()

    def _guarded(self, action: Any) -> None:
        """Show what goes wrong: a callback's exception would be lost otherwise."""
        self.output.clear_output()
        with self.output:
            try:
                action()
            except ElasticError as error:
                self.output.append_stderr(f"{error.message} {error.hint}".strip() + "\n")

    def _ipython_display_(self) -> None:
        from IPython import display

        library: Any = display  # it has no types
        library.display(self.box)
