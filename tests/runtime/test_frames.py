from __future__ import annotations

import sys
import threading
from typing import Any

from asyncguard.runtime.frames import Rank, Ranks, charged


def test_a_frameworks_line_says_more_than_the_standard_librarys() -> None:
    """A worker thread of a framework: nobody's own line is on its stack."""
    ranks = Ranks()
    ranks.add_framework("/opt/framework")
    seen: list[Any] = []
    space: dict[str, Any] = {"look": lambda: seen.append(charged(frame(), ranks))}
    source = "def work(): look()"
    exec(compile(source, "/opt/framework/core.py", "exec"), space)
    thread = threading.Thread(target=space["work"])
    thread.start()
    thread.join()
    assert [found.f_code.co_filename for found in seen] == ["/opt/framework/core.py"]
    assert ranks.rank_of("/opt/framework/core.py") is Rank.FRAMEWORK


def frame() -> Any:
    return sys._getframe(2)  # who called `look`
