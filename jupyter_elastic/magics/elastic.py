"""The ``%elastic_*`` line magics. No rules here: they ask the server, like the panel."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, magics_class

from .. import __version__, answers, ask
from ..client import Client
from ..errors import ElasticError
from .arguments import (
    CLUSTER,
    CREATE,
    FORCE,
    PLAN,
    QUIET,
    SERVER,
    SIZE,
    STOP_RUNS,
    WAIT,
    magic_with,
)

if TYPE_CHECKING:
    from ..widget import ElasticWidget

T = TypeVar("T")


@magics_class
class ElasticMagics(Magics):
    """Scale training clusters from a notebook."""

    _client: Client | None = None

    @magic_with(*CREATE, WAIT, PLAN, QUIET, SERVER)
    def elastic_create(self, line: str) -> answers.Shown:
        """Create a training cluster: a launcher and its workers."""
        words = self._words(self.elastic_create, line)
        return self._answer(words, lambda client: self._create(client, words))

    def _create(self, client: Client, words: Namespace) -> answers.Shown:
        fields = ask.new_cluster(words)
        wait = ask.seconds(words.wait)
        if "kernelspec" not in fields:
            fields["kernelspec"] = ask.kernel_of(client.options(), os.path.abspath(sys.executable))
        fields = {key: value for key, value in fields.items() if value is not None}
        name = ask.free_name(client.clusters()) if words.name is None else words.name
        if words.plan:
            return answers.show_plan(client.plan_create(name, **fields), done=False, name=name)
        made = client.create(name, **fields)
        if wait is not None:
            made = self._wait(client, made.id, made.name, fields["size"], wait, words.quiet)
        return answers.show_cluster(made)

    @magic_with(SIZE, CLUSTER, WAIT, PLAN, FORCE, QUIET, SERVER)
    def elastic_scale(self, line: str) -> answers.Shown:
        """Make SIZE containers the target of a cluster, launcher included."""
        words = self._words(self.elastic_scale, line)
        return self._answer(words, lambda client: self._scale(client, words))

    def _scale(self, client: Client, words: Namespace) -> answers.Shown:
        wait = ask.seconds(words.wait)
        cluster = client.cluster(words.cluster)
        size = ask.size_for(cluster, words.size)
        if words.plan:
            plan = client.plan(size, cluster=cluster.id)
            return answers.show_plan(plan, done=False, name=cluster.name)
        plan = client.scale(size, cluster=cluster.id, force=words.force)
        if wait is None:
            return answers.show_plan(plan, done=True, name=cluster.name)
        ready = self._wait(client, cluster.id, cluster.name, size, wait, words.quiet)
        return answers.show_cluster(ready)

    @magic_with(CLUSTER, QUIET, SERVER)
    def elastic_status(self, line: str) -> answers.Shown:
        """Show all clusters, or one with its containers and why they are not ready."""
        words = self._words(self.elastic_status, line)

        def status(client: Client) -> answers.Shown:
            if words.cluster is not None:
                return answers.show_cluster(client.cluster(words.cluster))
            return answers.show_state(client.state(), __version__)

        return self._answer(words, status)

    @magic_with(CLUSTER, QUIET, SERVER)
    def elastic_hosts(self, line: str) -> answers.Shown:
        """Show the host file of a cluster."""
        words = self._words(self.elastic_hosts, line)
        return self._answer(
            words, lambda client: answers.show_hosts(client.hosts(cluster=words.cluster))
        )

    @magic_with(CLUSTER, QUIET, SERVER)
    def elastic_command(self, line: str) -> answers.Shown:
        """Show the command that launches the training of a cluster; it is not run."""
        words = self._words(self.elastic_command, line)
        return self._answer(
            words, lambda client: answers.show_command(client.command(cluster=words.cluster))
        )

    @magic_with(CLUSTER, STOP_RUNS, WAIT, QUIET, SERVER)
    def elastic_release(self, line: str) -> answers.Shown:
        """Give all containers of a cluster back."""
        words = self._words(self.elastic_release, line)
        return self._answer(words, lambda client: self._release(client, words))

    def _release(self, client: Client, words: Namespace) -> answers.Shown:
        wait = ask.seconds(words.wait)
        cluster = client.only(words.cluster)
        try:
            client.release(cluster=cluster.id, stop_runs=words.stop_runs, wait=wait)
        except KeyboardInterrupt:
            _say(f"Stopped waiting; the release of {cluster.name} goes on.")
            raise
        return answers.show_release(cluster, gone=wait is not None)

    @magic_with(CLUSTER, SERVER)
    def elastic_widget(self, line: str) -> ElasticWidget:
        """Show a slider and the state of a cluster; needs ipywidgets in this environment."""
        from ..widget import ElasticWidget

        words = self._words(self.elastic_widget, line)
        try:
            return ElasticWidget(words.cluster, client=self._connect(words.server))
        except ElasticError as error:
            raise UsageError(one_line(error)) from None

    def _words(self, magic: Callable[..., Any], line: str) -> Namespace:
        # IPython's own splitting keeps the quotes of a quoted path.
        try:
            argv = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"{error}: a quote is not closed?") from None
        parser: Any = getattr(magic, "parser")  # noqa: B009 - put there by magic_arguments
        words: Namespace = parser.parse_args(argv)
        return words

    def _answer(self, words: Namespace, action: Callable[[Client], answers.Shown]) -> answers.Shown:
        try:
            shown = action(self._connect(words.server))
        except ElasticError as error:
            raise UsageError(one_line(error)) from None
        return answers.quiet(shown) if words.quiet else shown

    def _connect(self, server: str | None) -> Client:
        if self._client is None or server is not None:
            last = self._client.last if self._client else None
            self._client = Client(server)
            self._client.last = last
        return self._client

    def _wait(
        self, client: Client, cluster_id: str, name: str, size: int, wait: float, quiet: bool
    ) -> Any:
        progress = None if quiet else lambda text: print(f"{name}: {text}", flush=True)
        try:
            return client.wait_ready(cluster_id, size, wait, progress)
        except KeyboardInterrupt:
            _say(f"Stopped waiting; {name} goes on to {size}.")
            raise


def one_line(error: ElasticError) -> str:
    """Return message and hint of an error on one line."""
    return " ".join(f"{error.message} {error.hint}".split())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
