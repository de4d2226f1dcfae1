"""Finds the pod that this very server runs in, and says whether it can be a launcher. Blocks."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ...keeper import identity
from ...keeper.kube.calls import PODS, Api
from ...keeper.kube.errors import ApiError, Forbidden, Missing
from ...keeper.places import is_own_address
from . import notebook as notebooks
from .config import KubernetesConfig
from .notebook import Notebook
from .site import Site

AGAIN_SECONDS = 30.0  # between tries while the answer may change


class OwnPod:
    """Jupyter's own pod; asked for once, and again only while it could not be had.

    Parameters
    ----------
    api
        The calls.
    environ
        This process's environment.
    clock
        Monotonic seconds.
    """

    def __init__(
        self,
        api: Api,
        config: KubernetesConfig,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._config = config
        self._environ = environ
        self._clock = clock
        self._known: Site | None = None
        self._again = float("inf")

    def site(self) -> Site:
        """Return what is known, after asking where that has not been done."""
        if self._known is None or self._clock() >= self._again:
            self._again = float("inf")
            found, why = self._look()
            self._known = Site(found, identity.boot_id(), why)
        return self._known

    def _look(self) -> tuple[Notebook | None, str]:
        name = self._name()
        if not name:
            return None, ""  # not in a pod, so there is nothing to explain
        if not self._config.here:
            return None, "The administrator does not allow Jupyter's own pod as a launcher."
        try:
            found = notebooks.read(self._api.get(PODS, name))
        except Missing:
            where = self._api.namespace
            return None, f"Jupyter's own pod {name} is not in the namespace {where}."
        except Forbidden:
            return None, "Jupyter may not look at its own pod: its Role lacks `get` on pods."
        except ApiError as error:
            self._again = self._clock() + AGAIN_SECONDS
            return None, f"Jupyter's own pod cannot be read: {error}"[:300]
        if not found.host or not is_own_address(found.host):
            return (
                None,
                f"The pod {name} is not the one that runs Jupyter: its address is not here.",
            )
        why = _unfit()
        if why:
            return None, why
        # What this process is, is what the image says where the pod does not.
        return replace(found, run_as_user=os.geteuid(), run_as_group=os.getegid()), ""

    def _name(self) -> str:
        if self._config.pod_name:
            return self._config.pod_name
        if not self._environ.get("KUBERNETES_SERVICE_HOST"):
            return ""
        return self._environ.get("POD_NAME") or socket.gethostname().partition(".")[0]


def _unfit() -> str:
    """Return why this pod cannot be a launcher, empty if it can."""
    if os.geteuid() == 0:
        return "Jupyter runs as root here, and containers for training never do."
    if shutil.which("ssh") is None:
        return "Jupyter's own image has no ssh client."
    return ""
