"""Start files of launch shells: the user's own first, then our folder in front of PATH.

Each behaves as a login shell does: the system's profile, the user's profile, the user's rc. Only
then come the chosen Python's folder and, before it, our ``bin``: an rc that prepends another
horovodrun does not hide the starter. What changes PATH later (``conda activate``) is followed at
the next prompt.
"""

from __future__ import annotations

import os
import shlex
from typing import Iterable

from . import environment, files

_FRONT = r"""
__elastic_bin=@BIN@
__elastic_first() {
  case "$PATH" in "$__elastic_bin" | "$__elastic_bin":*) return 0 ;; esac
  __elastic_rest=":$PATH:"
  while :; do
    case "$__elastic_rest" in
      *":$__elastic_bin:"*)
        __elastic_left="${__elastic_rest%%":$__elastic_bin:"*}"
        __elastic_rest="$__elastic_left:${__elastic_rest#*":$__elastic_bin:"}" ;;
      *) break ;;
    esac
  done
  __elastic_rest="${__elastic_rest#:}"
  PATH="$__elastic_bin:${__elastic_rest%:}"
  export PATH
  unset __elastic_rest __elastic_left
}
__elastic_start() {
  # What the container's image had in PATH and the profile dropped comes back, at the end.
  __elastic_base="${JUPYTER_ELASTIC_BASE_PATH-}:"
  while [ -n "$__elastic_base" ]; do
    __elastic_one="${__elastic_base%%:*}"
    __elastic_base="${__elastic_base#*:}"
    case ":$PATH:" in *":$__elastic_one:"*) continue ;; esac
    [ -z "$__elastic_one" ] || PATH="$PATH:$__elastic_one"
  done
  [ -z "${JUPYTER_ELASTIC_PYTHON_FOLDER-}" ] || PATH="$JUPYTER_ELASTIC_PYTHON_FOLDER:$PATH"
  __elastic_first
  unset JUPYTER_ELASTIC_BASE_PATH JUPYTER_ELASTIC_PYTHON_FOLDER __elastic_base __elastic_one
  unalias @PROGRAMS@ 2>/dev/null || :
  unset -f @PROGRAMS@ 2>/dev/null || :
}
__elastic_start
unset -f __elastic_start
"""

_BASH = r"""# Written by jupyter_elastic.
[ ! -r /etc/profile ] || . /etc/profile
__elastic_profile=
for __elastic_one in ~/.bash_profile ~/.bash_login ~/.profile; do
  [ -r "$__elastic_one" ] && __elastic_profile="$__elastic_one" && break
done
[ -z "$__elastic_profile" ] || . "$__elastic_profile"
# Most profiles read the rc themselves; reading it twice would run slow start files twice.
if [ -r ~/.bashrc ]; then
  [ -n "$__elastic_profile" ] && grep -q bashrc "$__elastic_profile" || . ~/.bashrc
fi
unset __elastic_profile __elastic_one
@FRONT@
PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND
}__elastic_first"
"""

_SH = r"""# Written by jupyter_elastic.
__elastic_env="$ENV"
[ ! -r /etc/profile ] || . /etc/profile
[ ! -r ~/.profile ] || . ~/.profile
if [ "$ENV" != "$__elastic_env" ] && [ -r "$ENV" ]; then . "$ENV"; else unset ENV; fi
unset __elastic_env
@FRONT@
"""

# A user's .zshenv may move ZDOTDIR; ours must stay until the last start file was read.
_ZSH_ANY = r"""# Written by jupyter_elastic.
__elastic_own="$ZDOTDIR"
if [ -n "${__elastic_user_dot-}" ]; then ZDOTDIR="$__elastic_user_dot"; else unset ZDOTDIR; fi
case "${HISTFILE-}" in "$__elastic_own"/*) HISTFILE="${ZDOTDIR:-$HOME}/.zsh_history" ;; esac
[ ! -r "${ZDOTDIR:-$HOME}/@NAME@" ] || . "${ZDOTDIR:-$HOME}/@NAME@"
__elastic_user_dot="${ZDOTDIR-}"
"""
_ZSH_MORE = r"""ZDOTDIR="$__elastic_own"
"""
_ZSH_LAST = r"""[ -n "$__elastic_user_dot" ] || unset ZDOTDIR
unset __elastic_own __elastic_user_dot
@FRONT@
typeset -ga precmd_functions
precmd_functions+=(__elastic_first)
"""


def write(folder: str, programs: Iterable[str]) -> None:
    """Write the start files below ``folder/rc``."""
    rc = os.path.join(folder, "rc")
    zsh = os.path.join(rc, "zsh")
    files.make_private(rc)
    files.make_private(zsh)
    front = _FRONT.replace("@BIN@", shlex.quote(os.path.join(folder, "bin")))
    front = front.replace("@PROGRAMS@", " ".join([*(shlex.quote(one) for one in programs), "ssh"]))
    for path, text in (
        (os.path.join(rc, "bashrc"), _BASH),
        (os.path.join(rc, "shrc"), _SH),
        *(
            (os.path.join(zsh, name), _ZSH_ANY.replace("@NAME@", name) + tail)
            for name, tail in (
                (".zshenv", _ZSH_MORE),
                (".zprofile", _ZSH_MORE),
                (".zshrc", _ZSH_MORE),
                (".zlogin", _ZSH_LAST),
            )
        ),
    ):
        _put(path, text.replace("@FRONT@", front))


def _put(path: str, text: str) -> None:
    data = text.encode()
    try:
        with open(path, "rb") as handle:
            if handle.read() == data:
                return
    except OSError:
        pass
    files.write_atomic(path, data, sync=False)


def choose(wanted: str | None) -> str:
    """Return the shell to start: the wanted one, else the user's own if known, else bash or sh.

    Raises
    ------
    FileNotFoundError
        The wanted one cannot be started.
    """
    if wanted:
        if not os.path.isabs(wanted) or not os.access(wanted, os.X_OK):
            raise FileNotFoundError(
                f"The shell {wanted} cannot be started: give the full path of one that can."
            )
        return wanted
    for path in (
        os.environ.get("SHELL"),
        environment.account_of_user()[1],
        "/bin/bash",
        "/usr/bin/bash",
    ):
        if path and os.access(path, os.X_OK) and kind(path):
            return path
    return "/bin/sh"


def kind(path: str) -> str:
    """Return whose start files a shell reads: bash, zsh, sh, or nothing for an unknown one."""
    name = os.path.basename(path)
    if name in ("bash", "zsh"):
        return name
    return "sh" if name in ("sh", "dash", "ash", "ksh", "mksh", "busybox") else ""


def command(folder: str, shell: str, text: str | None = None) -> tuple[list[str], dict[str, str]]:
    """Return the words that start a shell with our start files, and the variables for that.

    Parameters
    ----------
    text
        What it is to run instead of reading from its terminal.
    """
    rc = os.path.join(folder, "rc")
    run = [] if text is None else ["-c", text]
    which = kind(shell) or "sh"
    if which == "bash":
        return [shell, "--rcfile", os.path.join(rc, "bashrc"), "-i", *run], {}
    if which == "zsh":
        return [shell, "-l", "-i", *run], {"ZDOTDIR": os.path.join(rc, "zsh")}
    first = [shell, "sh"] if os.path.basename(shell) == "busybox" else [shell]
    return [*first, "-i", *run], {"ENV": os.path.join(rc, "shrc")}
