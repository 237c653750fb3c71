from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from asyncguard.runtime.frames import Rank, Ranks, charged, line_of


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


@pytest.mark.parametrize("lines", [3, 3000])
def test_the_line_of_a_frame_is_the_one_that_python_tells(lines: int) -> None:
    """Of a long function it comes from a table: Python would count from the first line on."""
    ranks = Ranks()
    seen: list[tuple[int, int]] = []

    def look() -> None:
        caller = sys._getframe(1)
        seen.append((line_of(caller, ranks), caller.f_lineno))

    body = "".join("    look(\n    )\n" if at % 7 else "    look()\n\n" for at in range(lines))
    space: dict[str, Any] = {"look": look}
    exec(compile(f"def run():\n{body}", "long.py", "exec"), space)
    space["run"]()
    assert len(seen) == lines
    assert [told for told, _ in seen] == [line for _, line in seen]


def test_the_lines_of_a_function_are_known_as_long_as_its_code_is_kept() -> None:
    """What keeps the code alive has its lines: the next code at that address has others."""
    ranks, other = Ranks(), Ranks()
    space: dict[str, Any] = {"look": lambda: line_of(sys._getframe(1), ranks)}
    exec(compile("def run():\n" + "    look()\n" * 3000, "long.py", "exec"), space)
    space["run"]()
    assert list(ranks.line_tables) == [id(space["run"].__code__)]
    assert not other.line_tables


def frame() -> Any:
    return sys._getframe(2)  # who called `look`
