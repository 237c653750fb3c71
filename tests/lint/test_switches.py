"""Which options a file leaves off, and which it turns on."""

from __future__ import annotations

import os
from pathlib import Path

import libcst as cst
import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.modules.switches import switches
from asyncguard.lint.run.configured import configuration_files, configured
from asyncguard.lint.run.settings import Settings
from asyncguard.lint.source.switches import NO_SWITCHES, NOT, settled


def left_off(source: str) -> set[str]:
    return {
        name
        for name in settled([switches(cst.parse_module(source))])
        if not name.startswith("not ")
    }


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
        "debug = bool(cfg.get('debug', True))",
        "f(debug=verbose)",
    ],
)
def test_anything_else_turns_it_on(source: str) -> None:
    assert left_off("def f(x, debug=False): ...\n" + source) == set()


def test_a_text_is_no_option() -> None:
    assert left_off("name = ''\ndef f(x=b''): ...") == set()


@pytest.mark.parametrize(
    "source",
    [
        "p.add_argument('--debug', action='store_true')",
        "p.add_argument('--debug', default=False, type=bool)",
        "p.add_argument('--quiet', dest='debug', action='store_true')",
        "@click.option('--debug', default=False)\ndef f(debug): ...",
        "flags.DEFINE_bool('debug', False, 'Say more.')",
        "def f(debug: bool = typer.Option(False)): ...",
    ],
)
def test_the_default_of_a_command_line_leaves_it_off(source: str) -> None:
    assert left_off(source) == {"debug"}


def test_what_is_declared_as_an_array_is_data_and_no_option() -> None:
    assert left_off("def f(x: torch.Tensor | None = None, debug=None): ...") == {"debug"}


@pytest.mark.parametrize(
    ("source", "stays"),
    [
        ("def f(clip=True): ...", True),
        ("p.add_argument('--no-clip', dest='clip', action='store_false')", True),
        ("def f(clip=True): ...\nf(clip=True)", True),
        ("def f(clip=True): ...\nf(clip=False)", False),
        ("def f(clip=True): ...\nf(clip=args.c)", False),
        ("def f(clip=True): ...\nclass C:\n    clip: bool = False", False),
    ],
)
def test_an_option_stays_on_that_is_true_wherever_it_is_given(source: str, stays: bool) -> None:
    assert (f"{NOT}clip" in settled([switches(cst.parse_module(source))])) is stays


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("if quick:\n    s.debug = 1", {"quick", "debug"}),
        ("if not quick:\n    s.debug = 1", {"quick"}),
        ("if quick:\n    pass\nelse:\n    s.debug = 1", {"quick"}),
        ("if quick:\n    s.debug = 1\nf(quick=2)", set()),
        ("s.debug = s.quick", {"quick", "debug"}),
        ("s.debug = s.quick and x > 1", {"quick", "debug"}),
        ("s.debug = s.quick or x > 1", {"quick"}),
        ("s.debug = A() if quick else None", {"quick", "debug"}),
        ("s.debug = None if quick else A()", {"quick"}),
        ("s.debug = s.quick\ns.quick = s.debug", set()),
        ("s.debug = s.quick\ns.quick = 1", set()),
    ],
)
def test_what_hangs_on_an_option_is_as_it_is(source: str, left: set[str]) -> None:
    assert left_off(f"def f(quick=False, debug=False): ...\n{source}") == left


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("C(debug=False)", {"debug"}),
        ("C(debug=False)\nC(debug=0)\nisinstance(x, C)\ny: C = x", {"debug"}),
        ("C(debug=False)\nC()", set()),
        ("C(debug=False)\nclass D(C): ...", set()),
        ("C(debug=False)\nmakers = [C]", set()),
        ("C(**kwargs)", set()),
        ("C(debug=2)", set()),
        ("", set()),
    ],
)
def test_a_default_counts_where_a_class_may_be_made_with_it(source: str, left: set[str]) -> None:
    classes = "class C:\n    def __init__(self, debug=True): ...\ndef f(debug=False): ..."
    assert left_off(f"{classes}\n{source}") == left


@pytest.mark.parametrize(
    ("source", "is_off"),
    [
        ("E = os.environ.get('A') == '1'", True),
        ("E = os.environ.get('A', '1') == '1'", False),
        ("E = os.getenv('A', '0') == '1' or os.getenv('B') == '2'", True),
        ("E = os.getenv('A', '0') == '1' or os.getenv('B') == '2'\nos.environ['B'] = '2'", False),
        ("E = bool(int(os.getenv('A', '0')))", True),
        ("E = bool(int(os.getenv('A', '1')))", False),
        ("E = os.environ.get('A', 'False').lower() in ('1', 'true')", True),
        ("E = os.environ.get('A', 'True').lower() in ('1', 'true')", False),
        ("E = os.environ.get('A')", True),
        ("E = os.environ.get('A', 'x')", False),
        ("E = options.get('A') == '1'", False),
    ],
)
def test_what_the_environment_does_not_set_is_off(source: str, is_off: bool) -> None:
    assert ("E" in left_off(source)) is is_off


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f(kind='a'): ...", {"kind=b"}),
        ("def f(kind=None): ...", {"kind=b"}),
        ("def f(kind=DEFAULT): ...", {"kind=b"}),
        ("def f(kind): ...", set()),
        ("def f(kind='a'): ...\nf(kind='b')", set()),
        ("def f(kind='a'): ...\nNAME = 'b'", set()),
        ("def f(kind: Literal['a', 'b'] = 'a'): ...\nx = {'b': 1}['b']", {"kind=b"}),
        ("p.add_argument('--kind', choices=['a', 'b'], default='a')", {"kind=b"}),
        ("def f(kind='a'): ...\nassert kind in ('a', 'b') and kind != 'b'", {"kind=b"}),
    ],
)
def test_an_option_is_no_word_that_nothing_gives(source: str, left: set[str]) -> None:
    found = settled([switches(cst.parse_module(source))], ["kind=b"])
    assert {each for each in found if "=" in each} == left


CODE = "def f(debug=False, rate=0, clip=True): ..."  # leaves all three as they are


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("a.yaml", "model:\n  debug: true\n", {"rate", "not clip"}),
        ("a.yaml", "- debug: false  # true\n", {"debug", "rate", "not clip"}),
        ("a.json", '{"debug": 3,\n "rate": 0.0}', {"rate", "not clip"}),
        ("a.toml", "debug = true\n", {"rate", "not clip"}),
        ("a.sh", "run --debug --rate 0.1 \\\n  m.clip=false\n", set()),
        ("a.md", "debug: true\n", {"debug", "rate", "not clip"}),
        ("a.yaml", "ema: false\nema_rate: 0.1\n", {"debug", "rate", "not clip", "ema"}),
        ("a.yaml", "mpc: true\n", {"debug", "rate", "not clip", "not mpc"}),
        ("a.sh", "export FAST=0\n", {"debug", "rate", "not clip", "FAST"}),
        ("a.yaml", "mpc: true\n---\nmpc: false\n", {"debug", "rate", "not clip"}),
    ],
)  # fmt: skip
def test_configuration_files_leave_options_on_or_off(
    name: str, text: str, left: set[str], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    found = configured(configuration_files([str(tmp_path / "pkg" / "a.py")]))
    assert settled([switches(cst.parse_module(CODE)), found]) == left


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("a.yaml", "debug: false  # debug: true\n", {"debug"}),
        ("debug.yaml", "debug: true\n", {"debug"}),
        ("tests/a.yaml", "debug: true\n", {"debug"}),
        ("latest.yaml", "debug: true\n", set()),
    ],
)
def test_a_comment_and_the_configuration_of_a_trial_turn_nothing_on(
    name: str, text: str, left: set[str], tmp_path: Path
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / name).write_text(text)
    code = switches(cst.parse_module("def f(debug=False): ..."))
    found = configured(configuration_files([str(tmp_path / "a.py")]))
    assert {each for each in settled([code], (), found) if "not" not in each} == left


@pytest.mark.parametrize(
    ("use", "left"),
    [
        ("class C:\n    def __init__(self, cfg):\n        self.check = cfg.debug", {"check"}),
        ("class C:\n    def __init__(self, on): ...\nC(args.debug)", {"on"}),
        ("class C:\n    def __init__(self, on): ...\nC(args['debug'])\nC(True)", set()),
        ("class C:\n    def __init__(self, cfg):\n        self.check = other.debug", set()),
        ("self.check = cfg.debug\nself.check = True", set()),
        ("check = cfg.check", set()),
    ],
)
def test_what_is_an_option_by_another_name_is_as_it_is(use: str, left: set[str]) -> None:
    assert left_off("debug = False\n" + use) - {"debug"} == left


def test_what_a_configuration_leaves_off_is_not_turned_on_where_it_is_on(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("sisdr: false\n")
    code = switches(cst.parse_module('if cfg["sisdr"]:\n    out["sisdr"] = f(x)'))
    assert "sisdr" in settled([code], (), configured([str(tmp_path / "a.yaml")]))
    assert "sisdr" not in settled([code])


def test_a_configuration_file_may_say_a_word(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("kind: b\n")
    code = switches(cst.parse_module("def f(kind='a'): ..."))
    found = configured([str(tmp_path / "run.yaml")])
    assert settled([code, found], ["kind=b", "kind=c"]) == {"kind=c"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_turns_nothing_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "gone.yaml").symlink_to("nothing")
    paths = configuration_files([str(tmp_path / "a.py")])
    assert len(paths) == 2  # a folder is looked into
    assert configured(paths) == NO_SWITCHES


def test_a_branch_is_told_as_soon_as_a_configuration_file_opens_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\n"
        "def train(model, loader, optimizer, aux=False):\n"
        "    for x in loader:\n"
        "        loss = model(x).sum()\n        loss.backward()\n        optimizer.step()\n"
        "        if aux:\n            print(loss.item())\n"
    )
    settings = Settings(root=tmp_path, cache=False)
    assert check_paths([program], settings).findings == ()
    (tmp_path / "run.yaml").write_text("aux: true\n")
    assert [f.code for f in check_paths([program], settings).findings] == ["ASG102"]
