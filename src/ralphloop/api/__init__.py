"""The one door: start runs, look at them, ask something of them. What is used is imported when it is used."""

TYPE_CHECKING = False  # the name of `typing`, without loading it: a status must not cost more than a glance
if TYPE_CHECKING:
    from ralphloop.api.changing import archive as archive
    from ralphloop.api.changing import ask as ask
    from ralphloop.api.changing import plan_archive as plan_archive
    from ralphloop.api.changing import plan_undo as plan_undo
    from ralphloop.api.changing import undo as undo
    from ralphloop.api.looking import history as history
    from ralphloop.api.looking import runs as runs
    from ralphloop.api.looking import settings as settings
    from ralphloop.api.looking import status as status
    from ralphloop.api.looking import validate as validate
    from ralphloop.api.preparing import Request as Request
    from ralphloop.api.preparing import prepare as prepare
    from ralphloop.api.retelling import follow as follow
    from ralphloop.api.retelling import retell as retell
    from ralphloop.api.running import run as run
    from ralphloop.api.spending import usage as usage
    from ralphloop.api.trusting import trust as trust

ROOMS = {
    "changing": ("ask", "archive", "plan_archive", "plan_undo", "undo"),
    "looking": ("history", "runs", "settings", "status", "validate"),
    "preparing": ("Request", "prepare"),
    "retelling": ("follow", "retell"),
    "running": ("run",),
    "spending": ("usage",),
    "trusting": ("trust",),
}
__all__ = [name for names in ROOMS.values() for name in names]


def __getattr__(name: str) -> object:
    from importlib import import_module

    for room, names in ROOMS.items():
        if name in names:
            return getattr(import_module(f"ralphloop.api.{room}"), name)
    raise AttributeError(f"module 'ralphloop.api' has no attribute {name!r}")
