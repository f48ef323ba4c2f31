"""How the run of a folder stands, without loading the rest of the library."""

from ralphloop.host.glance import home, latest_run, row, runner_lives, values, worktree_of

__all__ = ["home", "latest_run", "row", "runner_lives", "values", "worktree_of"]
