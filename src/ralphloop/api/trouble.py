"""What the system refuses that is no bug of ours: a full disk, a folder that is gone."""

import errno
import os
from pathlib import Path

from ralphloop.core.errors import Problem

EXPECTED = (
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ENOTDIR,
    errno.ELOOP, errno.EIO, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN,
)  # fmt: skip


def expected(error: OSError) -> Problem | None:
    """The Problem it is; None for what should not have happened."""
    from ralphloop.host.files import complaint

    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return Problem("the folder this was started in is gone", "change into one that exists")
    if error.errno not in EXPECTED:
        return None
    return complaint(error, "do this:" if error.filename else "do this")


def crash_folder() -> Path:
    """Where the logs of bugs lie; it is there."""
    from ralphloop.host import glance
    from ralphloop.host.files import make_folder, make_private

    root = Path(glance.home())
    make_private(root)
    make_folder(root / "crashes")
    return root / "crashes"
