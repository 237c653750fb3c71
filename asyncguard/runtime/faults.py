"""What leaves a hook: an exception of the program's, as if no hook were there, or a limit's own."""

from __future__ import annotations

import os

from asyncguard.model import AsyncguardError

UNWATCHED = "unwatched"  # in a record's `extra`: frameworks imported, but not to be watched
_HERE = os.path.dirname(__file__)


class SyncLimitExceeded(AsyncguardError):  # noqa: N818  reads as what happened
    """A wait where a limit allows none; the message names the line and the advice."""


class SyncLimitWarning(UserWarning):
    """The same, where the limit is told to warn."""


def forget_this_frame(error: BaseException) -> None:
    """Take the hook's own entry out of the traceback, so that it reads as without us.

    Where asyncguard itself raised (a limit), all of its entries go. Python 3.10 keeps the entry.
    """
    if isinstance(error, SyncLimitExceeded):
        error.__traceback__ = None
        return
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_HERE):
        traceback = traceback.tb_next
    error.__traceback__ = traceback
