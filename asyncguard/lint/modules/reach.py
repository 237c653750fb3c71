"""What do calls into other files lead to? Answered from outlines, before any tree is made.

A function leads to a sync point if something in it is suspicious, or in what it calls, by name,
here or in another checked file. What cannot be looked up may lead anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from asyncguard.lint.domain.outlined import Outlined
from asyncguard.lint.modules.screen import Outline

HOPS = 6  # of names that are only imported to be imported again
Place = tuple[Outline, str]  # a file, and a name in it


class Reach:
    """The answers so far. `outlined` gives the outline of a module, for the path that asks."""

    def __init__(self, outlined: Callable[[str, str], Outline | None]) -> None:
        self.outlined = outlined
        self.known: dict[tuple[str, str], bool] = {}

    def leads(self, asker: str, name: str) -> bool:
        """Whether the function of this full name may lead to a sync point."""
        start = self._place(asker, name)
        if start is None:
            return True
        key = (start[0].path, start[1])
        if key not in self.known:
            self._explore(start)
        return self.known[key]

    def _explore(self, start: Place) -> None:
        """Look at all that a function leads to, until something is suspicious."""
        first = (start[0].path, start[1])
        seen = {first}
        pending = [start]
        while pending:
            outline, name = pending.pop()
            for function in outline.by_name[name]:
                reached = [] if function.suspicious else self._called(outline, function)
                if reached is None or function.suspicious:
                    self.known[first] = True
                    return
                for place in reached:
                    key = (place[0].path, place[1])
                    if self.known.get(key):
                        self.known[first] = True
                        return
                    if key not in seen and key not in self.known:
                        seen.add(key)
                        pending.append(place)
        self.known.update(dict.fromkeys(seen, False))

    def _called(self, outline: Outline, function: Outlined) -> list[Place] | None:
        """Return what a function calls in checked files; None if that cannot be told."""
        found: list[Place] = []
        for called in function.calls:
            if called in outline.by_name:
                found.append((outline, called))
            if full := outline.full_name(called):
                place = self._place(outline.path, full)
                if place is None:
                    return None
                found.append(place)
            elif outline.stars and called not in outline.by_name:
                places = (self._place(outline.path, f"{star}.{called}") for star in outline.stars)
                found += [place for place in places if place is not None]
        return found

    def _place(self, asker: str, name: str) -> Place | None:
        """Return where a function of this full name is defined; None if out of sight."""
        for _ in range(HOPS):
            module, _, last = name.rpartition(".")
            outline = self.outlined(module, asker) if module else None
            if outline is None:
                return None
            if last in outline.by_name:
                return outline, last
            asker, name = outline.path, outline.imports.get(last, "")
        return None
