"""Which options a file leaves off, and which it turns on."""

from __future__ import annotations

import ast

import pytest

from asyncguard.lint.source.switches import switches


def left_off(source: str) -> set[str]:
    found = switches(ast.parse(source))
    return set(found.off - found.on)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, debug=False): ...",
        "def f(x, *, debug: float = 0.0): ...",
        "class C:\n    debug: bool = False",
        "class C:\n    debug: bool = field(default=False)",
        "debug = None",
        "def f(debug=False):\n    self.debug = debug\n    g(debug=self.debug)",
        "def f(debug=False):\n    g(debug=debug or False)",
        "debug = 0\nf(debug=0)\nd = {'debug': False}",
        "def f(debug=False):\n    debug = cfg.get('debug', False)",
        "def f(debug=False):\n    debug = bool(getattr(cfg, 'debug', None))",
        "def f(debug=False): ...\np.add_argument('--debug', action='store_true')",
        "def f(debug=False): ...\np.add_argument('--debug', default=0)",
    ],
)
def test_an_option_stays_off_that_is_handed_on_under_its_own_name(source: str) -> None:
    assert left_off(source) == {"debug"}


@pytest.mark.parametrize(
    "source",
    [
        "f(debug=True)",
        "f(debug=level > 1)",
        "self.debug = os.environ['D']",
        "debug += 1",
        "d = {'debug': 2}",
        "def g(debug=True): ...",
        "class C:\n    debug: int = 3",
        "p.add_argument('-d', '--debug', default=1)",
        "debug = cfg.get('debug', True)",
        "f(debug=verbose)",
    ],
)
def test_anything_else_turns_it_on(source: str) -> None:
    assert left_off("def f(x, debug=False): ...\n" + source) == set()


def test_a_text_is_no_option() -> None:
    assert left_off("name = ''\ndef f(x=b''): ...") == set()
