"""Signs that this process runs in a sandbox or a container: what it breaks is not the user's own machine."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralphloop.host.census import read_bounded

MARKERS = {
    ".dockerenv": "/.dockerenv: a Docker container",
    "run/.containerenv": "/run/.containerenv: a Podman container",
    "run/systemd/container": "/run/systemd/container: a container of systemd",
}
VARIABLES = {
    "container": "the variable container is set",
    "KUBERNETES_SERVICE_HOST": "KUBERNETES_SERVICE_HOST is set: a pod",
    "CODESPACES": "CODESPACES is set: a codespace",
    "REMOTE_CONTAINERS": "REMOTE_CONTAINERS is set: a development container",
}
CONTROL_GROUPS = (b"/docker", b"/kubepods", b"/lxc", b"/libpod", b"/containerd")
LOOKED_FOR = "IS_SANDBOX=1, marks of a container, bubblewrap, a user namespace, a seccomp filter"
WHOLE = 4294967295  # so many user ids has a machine


def signs(environ: Mapping[str, str] | None = None, root: str = "/") -> tuple[str, ...]:
    """What speaks for it, in words; nothing when nothing does. One sign is enough."""
    return tuple(_signs(os.environ if environ is None else environ, Path(root)))


def _signs(environ: Mapping[str, str], root: Path) -> Iterator[str]:
    if environ.get("IS_SANDBOX") == "1":
        yield "IS_SANDBOX=1 is set: somebody says so"
    for name, told in MARKERS.items():
        if (root / name).exists():
            yield told
    for name, told in VARIABLES.items():
        if environ.get(name):
            yield told
    if any(name in _content(root, "proc/1/cgroup") for name in CONTROL_GROUPS):
        yield "the first process is in a container's control group"
    if _content(root, "proc/1/comm").strip() == b"bwrap":
        yield "the first process is bubblewrap"
    users = _content(root, "proc/self/uid_map").split()
    if len(users) >= 3 and users[:3] != [b"0", b"0", str(WHOLE).encode()]:
        yield "a user namespace: not every user of the machine is here"
    status = dict(line.split(b":", 1) for line in _content(root, "proc/self/status").splitlines() if b":" in line)
    if status.get(b"Seccomp", b"").strip() == b"2" and status.get(b"NoNewPrivs", b"").strip() == b"1":
        yield "a seccomp filter, and no way to more privileges"


def _content(root: Path, name: str) -> bytes:
    return read_bounded(str(root / name), 64 << 10)
