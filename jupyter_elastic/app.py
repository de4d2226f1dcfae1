"""The server extension: wires traits, manager, routes, events and the local socket."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from jupyter_server.extension.application import ExtensionApp

from . import __version__, events, telemetry
from .engine_choice import make_engines
from .errors import ElasticError
from .local_socket import LocalSocket
from .manager import ElasticService
from .routes import routes
from .traits import ElasticTraits


class ElasticExtensionApp(ElasticTraits, ExtensionApp):
    """Elastic training clusters."""

    name = "jupyter_elastic"
    extension_url = "/jupyter-elastic"
    load_other_extensions = True

    service: ElasticService
    local_socket: LocalSocket | None = None

    def initialize_settings(self) -> None:
        """Make the service and register the event while the extension loads."""
        server = self.serverapp
        assert server is not None  # noqa: S101 - set by jupyter_server before this hook
        events.register(server.event_logger)
        root = getattr(server.contents_manager, "root_dir", server.root_dir)
        config = self.manager_config(str(root), __version__)
        self.service = ElasticService(
            make_engines(config),
            config,
            emit=self._changed,
            alive=self._alive,
            kernels=server.kernel_spec_manager,
            terminals=server.web_app.settings.get("terminal_manager"),
        )
        self.settings["jupyter_elastic_service"] = self.service
        # Our modules log below this name; without a parent their audit lines would go nowhere.
        logging.getLogger("jupyter_elastic").parent = server.log

    def initialize_handlers(self) -> None:
        """Add the routes; jupyter_server puts its base URL before them."""
        self.handlers.extend(routes("/"))

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Start to watch, and to listen for callers of this machine."""
        terminals = serverapp.web_app.settings.get("terminal_manager")
        self.service.launching.use_terminals(terminals)
        try:
            socket = LocalSocket(serverapp.web_app.settings, serverapp.connection_url, __version__)
            socket.start()
            self.local_socket = socket
        except (ElasticError, OSError) as error:
            self.log.warning("Magics and the command line cannot reach this server: %s", error)
        await self.service.start()
        if self.local_socket is not None:
            await self.service.introduce(self.local_socket.address)

    async def stop_extension(self) -> None:
        """Let go within 5 s; clusters stay, their keepers have the release rules."""
        try:
            await self.service.stop()
        finally:
            if self.local_socket is not None:
                self.local_socket.stop()

    def current_activity(self) -> bool:
        """Whether a run lives: then the server does not shut itself down for being idle."""
        state = self.service.manager.state()
        keep = self.service.config.keep_alive_while_training
        return keep and any(run.live for cluster in state.clusters for run in cluster.runs)

    def _changed(self, cluster: str, revision: str) -> None:
        telemetry.observe(self.service.manager.state())
        server = self.serverapp
        if server is not None:
            events.emit(server.event_logger, cluster, revision)

    def _alive(self, instant: datetime) -> None:
        server = self.serverapp
        if server is not None:
            server.web_app.settings["jupyter_elastic_last_activity"] = instant
