"""The start scripts of our pods, for any POSIX ``sh``.

They are constant texts: values come by arguments and by files, never as text in a script.
"""

from __future__ import annotations

from .layout import GIVEN, KEEPER, KEYS, PROGRAM, RULES, SOCKET, SSH, SSH_PORT

# What every session gets: the environment of the container, as sshd starts with none of it. While
# it lives its process is named below sessions/, so that a worker that is told to end waits for it.
# When the other end of its connection is gone nobody waits for it any more, so it ends as well.
_SESSION = f"""\
. {SSH}/environment
for file in {SSH}/sessions/*; do
  kill -0 "${{file##*/}}" 2>/dev/null || rm -f "$file"
done
: > "{SSH}/sessions/$$"
(watch() {{
  trap '' HUP TERM
  while kill -0 "$1"; do
    if ! kill -0 "$2"; then
      kill -TERM "-$1"; sleep 8; kill -KILL "-$1"
    fi
    sleep 2
  done
}}
watch $$ "$PPID" </dev/null >/dev/null 2>&1 &)
if [ -n "$SSH_ORIGINAL_COMMAND" ]; then
  exec "${{SHELL:-/bin/sh}}" -c "$SSH_ORIGINAL_COMMAND"
fi
exec "${{SHELL:-/bin/sh}}" -l
"""

_SSHD_CONFIG = f"""\
Port {SSH_PORT}
HostKey {SSH}/host_key
AuthorizedKeysFile {SSH}/authorized_keys
ForceCommand exec sh {SSH}/session
PidFile none
UsePAM no
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
PermitUserEnvironment no
PermitUserRC no
AllowTcpForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
StrictModes no
UseDNS no
PrintMotd no
MaxStartups 200:30:1000
LoginGraceTime 60
ClientAliveInterval 15
ClientAliveCountMax 4
LogLevel ERROR
"""

# Secrets are copied by cat: the copy is ours, mode 0600, as ssh and sshd want it. TCP probes and
# retries would get an address banned by sshd 9.8 and later, which has a switch against that.
_PREPARE = f"""\
mask=$(umask)
umask 077
say() {{ echo "jupyter-elastic: $1" >&2; }}
mkdir -p {SSH}/sessions && rm -f {SSH}/sessions/* || exit 73
(unset HOME USER LOGNAME SHELL MAIL PWD OLDPWD SHLVL TERM mask; export -p) > {SSH}/environment
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
for path in {KEYS}/*; do
  [ -f "$path" ] || continue
  cat "$path" > "{SSH}/${{path##*/}}" || exit 73
done
cat > {SSH}/session <<'END' || exit 73
{_SESSION}END
cat > {SSH}/sshd_config <<'END' || exit 73
{_SSHD_CONFIG}END
sshd=$(command -v sshd)
problem= code=0
if [ -z "$sshd" ]; then
  problem='This image has no sshd. Choose one with an OpenSSH server.' code=127
elif ! id -un >/dev/null 2>&1; then
  problem="This image knows no user $(id -u). Choose one with it in /etc/passwd." code=67
elif "$sshd" -t -f {SSH}/sshd_config -o PerSourcePenalties=no 2>/dev/null; then
  echo 'PerSourcePenalties no' >> {SSH}/sshd_config
fi
"""

WORKER = f"""\
{_PREPARE}
[ -z "$problem" ] || {{ say "$problem"; exit $code; }}
umask "$mask"
exec "$sshd" -D -e -f {SSH}/sshd_config
"""

#: Argument: seconds that it may take. Returns at once when nothing runs through sshd.
WORKER_STOP = f"""\
left=$1
while [ "$left" -gt 0 ]; do
  busy=
  for file in {SSH}/sessions/*; do
    kill -0 "${{file##*/}}" 2>/dev/null && busy=1
  done
  [ -n "$busy" ] || exit 0
  sleep 1
  left=$((left - 1))
done
"""

WORKER_READY = f"""\
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
[ -n "$(ssh-keyscan -T 4 -t ed25519 -p {SSH_PORT} 127.0.0.1 2>/dev/null)" ]
"""

# The first line of the host file is this pod, as the kubelet says it, and never an old copy. With
# one container alone nothing goes through sshd, so a launcher works without it.
#: Argument: slots of this container.
LAUNCHER = f"""\
{_PREPARE}
python=$(command -v python3) || {{
  say 'This image has no python3. Choose one with Python 3.8 or newer.'; exit 127
}}
mkdir -p {KEEPER} && chmod 700 {KEEPER} && rm -f {SOCKET} || exit 73
if [ ! -s {KEEPER}/hosts.json ]; then
  line='{{"uid": "%s", "name": "%s", "host": "%s", "slots": %s}}'
  printf "{{\\"generation\\": 0, \\"hosts\\": [$line]}}\\n" "$POD_UID" "$POD_NAME" "$POD_IP" "$1" \\
    > {KEEPER}/hosts.json || exit 73
fi
[ -e {KEEPER}/{RULES} ] || cat {GIVEN}/{RULES} > {KEEPER}/{RULES} || exit 73
umask "$mask"
if [ -n "$problem" ]; then
  say "$problem Only this one container can train."
else
  (while :; do "$sshd" -D -e -f {SSH}/sshd_config; sleep 1; done) &
fi
exec "$python" -I {GIVEN}/{PROGRAM} serve --foreground {KEEPER}
"""

LAUNCHER_READY = f"[ -S {SOCKET} ]"


def worker_command() -> list[str]:
    """Return the main process of a worker."""
    return ["sh", "-c", WORKER]


def worker_stop_command(seconds: int) -> list[str]:
    """Return what a worker does before it is told to end; `seconds` is how long it may take."""
    return ["sh", "-c", WORKER_STOP, "stop", str(max(0, seconds))]


def launcher_command(slots: int) -> list[str]:
    """Return the main process of a launcher."""
    return ["sh", "-c", LAUNCHER, "launcher", str(slots)]


def ready_command(script: str) -> list[str]:
    """Return the command of a readiness probe."""
    return ["sh", "-c", script]
