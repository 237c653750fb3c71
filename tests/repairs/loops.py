"""Training loops drawn at random, as hostile to a rewrite as programs may be.

Aliases and views, writes in place by other names, closures that bind anew or write, globals, lists
that grow, generators whose caller writes to what it is given, classes with a `to`, `item` or `sum`
of their own, comprehensions whose calls change what they read, dtypes, numbers that fit no type,
early ways out, exceptions and exit statuses: `loops.toml` has the templates. A program defines
`run(device)`, which returns, or yields and then returns, what it computed; `same.py` runs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomli
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

TEMPLATES = Path(__file__).with_suffix(".toml")
FRAMEWORKS = ("torch", "mxnet", "jax")
_HOLE = re.compile(r"\{([a-z]+)\}")
_DEEPEST = 2
Draw = Callable[..., Any]


@cache
def templates() -> Mapping[str, Any]:
    """Return what `loops.toml` says."""
    return tomli.loads(TEMPLATES.read_text(encoding="utf-8"))


@st.composite
def programs(draw: Draw, framework: str) -> str:
    """Draw the source of a program of a framework."""
    known = templates()[framework]
    closures = [closure for closure in known["closures"] if draw(st.integers(0, 3)) == 0]
    writes = [*known["parts"]["w"], *(call for _, call in closures for _ in range(6))]
    if draw(st.integers(0, 4)) == 0:
        writes += ["yield n", "yield t", "yield row"]
    loop = _Loop(draw, framework, writes)
    body = [
        *loop.filled(known["start"]),
        *(line for text, _ in closures for line in text.splitlines()),
        "for step in range(4):",
        *_indented(loop.block(draw(st.integers(3, 7)), 0)),
        *known["end"].splitlines(),
    ]
    lines = [known["head"], templates()["odd"], "def run(device):", *_indented(body), ""]
    return "\n".join(lines)


def drawn(framework: str, number: int, start: int | None = None) -> list[str]:
    """Return so many programs of a framework: those of a seed, or always the same."""
    found: list[str] = []

    @settings(
        max_examples=number,
        derandomize=start is None,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(framework))
    def draw(source: str) -> None:
        found.append(source)

    (draw if start is None else seed(start)(draw))()
    return found


class _Loop:
    """The statements that are drawn for one program."""

    def __init__(self, draw: Draw, framework: str, writes: Sequence[str]) -> None:
        every, own = templates(), templates()[framework]
        self.draw = draw
        self.parts = {**own["parts"], "w": writes, "k": every["numbers"], "counts": every["counts"]}
        self.statements = [*every["statements"], *own["statements"]]
        self.blocks = [*every["blocks"], *own["blocks"]]

    def block(self, number: int, depth: int) -> list[str]:
        """Draw so many statements, ways out and statements with a body of their own."""
        lines: list[str] = []
        for _ in range(number):
            kind = self.draw(st.integers(0, 9))
            if kind == 0:
                lines += self.filled(self._one_of(templates()["ways_out"]))
            elif kind <= 2 and depth < _DEEPEST:
                inner = self.block(self.draw(st.integers(1, 3)), depth + 1)
                head, _, rest = self._one_of(self.blocks).partition("{body}")
                lines += [*self.filled(head), *_indented(inner), *self.filled(rest)]
            else:
                lines += self.filled(self._one_of(self.statements))
        return lines

    def filled(self, template: str) -> list[str]:
        """Fill each hole; a scalar and a mask are the same throughout, so that they are reread."""
        same = {name: self._one_of(self.parts[name]) for name in ("s", "m") if name in self.parts}

        def fill(hole: re.Match[str]) -> str:
            name = hole[1]
            return same.get(name) or (
                self._one_of(self.parts[name]) if name in self.parts else hole[0]
            )

        text = _HOLE.sub(fill, template).replace("{{", "{").replace("}}", "}")
        return [line for line in text.splitlines() if line.strip()]

    def _one_of(self, texts: Sequence[str]) -> str:
        return str(self.draw(st.sampled_from(texts)))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
