"""Where things are in a pod of ours, and how its parts are named."""

from __future__ import annotations

CONTAINER = "main"
SSH_PORT = 2222

OWN = "/run/jupyter-elastic"  # emptyDir
KEEPER = f"{OWN}/keeper"  # the keeper's own folder
SOCKET = f"{KEEPER}/keeper.sock"
SSH = f"{OWN}/ssh"  # what sshd and ssh use, copied and mode 0600
GIVEN = "/opt/jupyter-elastic"  # ConfigMap, launcher only: program and configuration
KEYS = "/etc/jupyter-elastic/ssh"  # Secret
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount point, not a temporary file

PROGRAM = "keeper.pyz"
CONFIG = "config.json"
RULES = "rules.json"

CLIENT_KEY = "id_ed25519"
HOST_KEY = "host_key"
AUTHORIZED = "authorized_keys"
KNOWN_HOSTS = "known_hosts"
WORKER_KEYS = (HOST_KEY, AUTHORIZED)
LAUNCHER_KEYS = (*WORKER_KEYS, CLIENT_KEY, KNOWN_HOSTS)


def keeper_map(cluster: str) -> str:
    """Return the name of the ConfigMap with the keeper."""
    return f"{cluster}-keeper"


def secret(cluster: str) -> str:
    """Return the name of the Secret with the ssh keys."""
    return f"{cluster}-ssh"


def ssh_config(cluster: str, folder: str = SSH) -> str:
    """Return the configuration of the launcher's ssh.

    Every container of a cluster is known by the cluster's name: addresses are given to other pods
    later, and the command line carries the environment.

    Parameters
    ----------
    cluster
        Its id.
    folder
        Where the key and the file of known hosts are. No blanks, no quotes.
    """
    return f"""\
Host *
Port {SSH_PORT}
IdentityFile {folder}/{CLIENT_KEY}
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking yes
HostKeyAlias {cluster}
UserKnownHostsFile {folder}/{KNOWN_HOSTS}
GlobalKnownHostsFile /dev/null
HostKeyAlgorithms ssh-ed25519
UpdateHostKeys no
CheckHostIP no
ConnectTimeout 10
ServerAliveInterval 15
ServerAliveCountMax 4
ForwardAgent no
ForwardX11 no
LogLevel ERROR
"""
