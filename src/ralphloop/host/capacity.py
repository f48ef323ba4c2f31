"""How much of an account's limits is used, if something on this machine has written it down."""

import os
from contextlib import suppress

import msgspec
from msgspec import Struct

from ralphloop.host import glance

LARGEST = 64 << 10


class Capacity(Struct, frozen=True):
    """Percentages, and when they begin anew in the writer's own words."""

    session_pct: float
    session_reset: str | None = None
    weekly_pct: float | None = None
    weekly_reset: str | None = None


def capacity() -> Capacity | None:
    """From `usage.json` in the folder of wt-tools; None when nobody tells. Nothing is asked on the network."""
    folder = os.environ.get("WT_CONFIG_DIR") or f"{_config_home()}/wt-tools"
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        descriptor = os.open(f"{folder}/usage.json", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return msgspec.json.decode(os.read(descriptor, LARGEST), type=Capacity)
        finally:
            os.close(descriptor)
    return None


def _config_home() -> str:
    return os.environ.get("XDG_CONFIG_HOME") or f"{glance.user_home()}/.config"
