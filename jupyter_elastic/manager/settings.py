"""Checks what a person may change on a living cluster."""

from __future__ import annotations

import dataclasses
import os
import shlex
import unicodedata
from typing import Any

from ..errors import BadInput, TooLarge
from ..frameworks import get_framework
from ..models import Settings
from ..planning.limits import whole_number
from .config import ManagerConfig
from .environment import Environments, check_names

MAX_ARGUMENTS = 200
MAX_ARGUMENTS_BYTES = 1024
MAX_PATH_BYTES = 1024


def no_control(text: str, field: str) -> str:
    """Return `text` when every character can be typed at a prompt without acting.

    Raises
    ------
    BadInput
        For newlines, other control characters, lone surrogates and direction overrides.
    """
    for character in text:
        # Cc: control, Cs: lone surrogate, Zl/Zp: line separators; U+202A-E and U+2066-9 would show
        # a command falsely.
        bad = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        if bad or "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069":
            raise BadInput(
                f"{field} holds U+{ord(character):04X}, which cannot be typed safely.",
                hint="Remove newlines and other control characters.",
                detail={"field": field},
            )
    return text


def check_arguments(value: Any) -> tuple[str, ...]:
    """Check the script's arguments: a list of words, or one line that is split as a shell would."""
    if isinstance(value, str):
        try:
            words = shlex.split(no_control(value, "arguments"))
        except ValueError as error:
            raise BadInput(
                f"arguments cannot be split into words: {error}.",
                hint="Close every quote.",
                detail={"field": "arguments"},
            ) from None
    else:
        words = [no_control(word, "arguments") for word in value]
    if len(words) > MAX_ARGUMENTS or len(shlex.join(words).encode()) > MAX_ARGUMENTS_BYTES:
        raise TooLarge(
            f"The arguments are longer than {MAX_ARGUMENTS_BYTES} bytes or {MAX_ARGUMENTS} words.",
            hint="Put them into a file that the script reads.",
            detail={"field": "arguments", "limit": MAX_ARGUMENTS_BYTES},
        )
    return tuple(words)


def resolve_script(value: str, root: str) -> str:
    """Return the absolute path of a script given absolute or relative to the server's root folder.

    Raises
    ------
    BadInput
        When it is not there, is a folder, cannot be read, or its name cannot be typed.
    """
    field = {"field": "script"}
    no_control(value, "script")
    if not value.strip():
        raise BadInput("The script is empty.", hint="Give the path of a Python file.", detail=field)
    if len(value.encode()) > MAX_PATH_BYTES:
        raise TooLarge(
            f"The path of the script is longer than {MAX_PATH_BYTES} bytes.",
            hint="Move the script to a folder with a shorter path.",
            detail={**field, "limit": MAX_PATH_BYTES},
        )
    path = os.path.expanduser(value) if value.startswith("~/") else value
    path = os.path.normpath(os.path.join(os.path.expanduser(root), path))
    problem = script_problem(path)
    if problem is not None:
        raise BadInput(problem, hint="Choose a Python file of this server.", detail=field)
    return path


def script_problem(path: str) -> str | None:
    """Say why a script cannot be started, or None."""
    if os.path.isdir(path):
        return f"{path} is a folder, not a script."
    if not os.path.exists(path):
        return f"There is no file {path}."
    if not os.path.isfile(path):
        return f"{path} is not a regular file."
    if not os.access(path, os.R_OK):
        return f"{path} cannot be read by this server's user."
    return None


class SettingsChecker:
    """Turns a request's fields into :class:`~jupyter_elastic.models.Settings`."""

    def __init__(self, config: ManagerConfig, environments: Environments) -> None:
        self._config = config
        self._environments = environments

    async def merged(
        self, settings: Settings, fields: dict[str, Any], current_framework: str
    ) -> Settings:
        """Return `settings` with the given fields changed, each of them checked."""
        changes: dict[str, Any] = {}
        for key, value in fields.items():
            if key == "script":
                changes[key] = (
                    None if value is None else resolve_script(value, self._config.root_folder)
                )
            elif key == "arguments":
                changes[key] = check_arguments(value)
            elif key == "kernelspec":
                await self._environments.folder(value)
                changes[key] = value
            elif key == "pass_env":
                changes[key] = check_names(value)
            elif key == "framework":
                changes[key] = self._switch(value, current_framework)
            else:
                changes[key] = value
        result = dataclasses.replace(settings, **changes)
        self._check_range(result)
        return result

    def _switch(self, value: str, current: str) -> str:
        wanted = get_framework(value, self._config.allowed_frameworks)
        present = get_framework(current)
        if wanted.program != present.program:
            raise BadInput(
                f"A living cluster cannot be switched from {present.title} to {wanted.title}.",
                hint="Create a cluster for the other framework.",
                detail={"field": "framework"},
            )
        return wanted.name

    @staticmethod
    def _check_range(settings: Settings) -> None:
        whole_number(settings.min_size, "min_size")
        if settings.min_size < 1:
            raise BadInput(
                f"min_size must be at least 1, not {settings.min_size}.",
                hint="The launcher counts as a container.",
                detail={"field": "min_size", "limit": 1},
            )
        if settings.max_size is None:
            return
        whole_number(settings.max_size, "max_size")
        if settings.max_size < settings.min_size:
            raise BadInput(
                f"max_size, {settings.max_size}, is below min_size, {settings.min_size}.",
                hint="Give a range from small to large.",
                detail={"field": "max_size", "limit": settings.min_size},
            )
