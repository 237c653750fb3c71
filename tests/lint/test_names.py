"""The families of names: each example belongs where it should, and code asks for what there is."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from asyncguard.catalogue import FAMILIES, rules_directory
from asyncguard.lint.check import check_paths
from asyncguard.lint.names import Family, FamilyError, family, group, split
from asyncguard.lint.names.families import families, load_file
from asyncguard.lint.run.settings import Settings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "asyncguard"
module = sys.modules["asyncguard.lint.names.families"]
ALL = list(families().values())
ENTRY = """
schema = 1

[[name]]
id = "toy.counter"
of = ["variable"]
says = "counts"
words = ["step"]
hit = ["global_step"]
miss = ["footstep"]
"""


def load(tmp_path: Path, text: str) -> dict[str, Family]:
    path = tmp_path / FAMILIES
    path.write_text(text, encoding="utf-8")
    return load_file(path)


# ---- the families that ship


def test_a_hit_belongs_to_its_family_and_a_miss_does_not() -> None:
    assert [(f.id, name) for f in ALL for name in f.hit if not family(f.id)(name)] == []
    assert [(f.id, name) for f in ALL for name in f.miss if family(f.id)(name)] == []


@pytest.mark.parametrize("known", [f for f in ALL if f.reason], ids=lambda known: known.id)
def test_a_family_that_decides_nothing_measured_decides_a_case(
    known: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = (word for word in known.reason.split() if word.startswith("tests/"))
    settings = Settings(select=("ALL",), cache=False, context=False, jobs=1)
    found = check_paths([ROOT / case], settings).findings
    off = known._replace(words=(), exact=(), pattern="(?!)")
    monkeypatch.setattr(module, "families", lambda: {**{f.id: f for f in ALL}, known.id: off})
    forget()
    try:
        assert check_paths([ROOT / case], settings).findings != found
    finally:
        monkeypatch.undo()
        forget()


def forget() -> None:
    """Forget what each question about a name was answered."""
    for clear in module._answers:
        clear()


def asked() -> tuple[set[str], set[str]]:
    """Return the ids that code asks families by, and the groups that it asks for."""
    ids: set[str] = set()
    groups: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "names" or not ("family(" in text or "group(" in text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in ("family", "group"):
                first = node.args[0]
                assert isinstance(first, ast.Constant), f"{path}:{node.lineno}: write the id out"
                (groups if node.func.id == "group" else ids).add(str(first.value))
    return ids, groups


def test_code_asks_for_the_families_that_there_are_and_for_all_of_them() -> None:
    ids, groups = asked()
    known = set(families())
    assert ids <= known, "code asks for families that names.toml lacks"
    in_groups = {id for id in known if id.partition(".")[0] in groups}
    assert all(any(id.startswith(f"{group}.") for id in known) for group in groups)
    assert known <= ids | in_groups, "nothing asks for these families: delete them"


def test_the_file_is_grouped_by_the_first_part_of_the_ids() -> None:
    first = [id.partition(".")[0] for id in families()]
    assert [g for i, g in enumerate(first) if i == 0 or first[i - 1] != g] == list(
        dict.fromkeys(first)
    )


def test_nothing_is_read_before_the_first_question() -> None:
    ask = family("no.such_family")
    with pytest.raises(KeyError):
        ask("name")


# ---- words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("global_step", ("global", "step")),
        ("maxIter", ("max", "iter")),
        ("HTTPServer2", ("http", "server")),
        ("self.train_state", ("self", "train", "state")),
        ("__len__", ("len",)),
        ("MAX_STEPS", ("max", "steps")),
        ("", ()),
    ],
)
def test_a_name_is_split_into_words(name: str, words: tuple[str, ...]) -> None:
    assert split(name) == words


@pytest.mark.parametrize(
    ("name", "belongs"),
    [("step", True), ("Steps", True), ("numSteps_2", True), ("footstep", False), ("", False)],
)
def test_a_family_of_words_knows_their_plurals(tmp_path: Path, name: str, belongs: bool) -> None:
    assert load(tmp_path, ENTRY)["toy.counter"].holds(name) == belongs


def test_words_may_stand_for_several_in_a_row(tmp_path: Path) -> None:
    known = load(tmp_path, ENTRY.replace('["step"]', '["dry_run"]'))["toy.counter"]
    assert known.holds("is_dry_run")
    assert known.holds("dryRun")
    assert not known.holds("run_dry")


def test_a_family_leaves_out_names_with_other_words(tmp_path: Path) -> None:
    known = load(tmp_path, ENTRY + 'not = ["size"]\n')["toy.counter"]
    assert known.holds("step")
    assert not known.holds("step_sizes")


def test_a_family_may_list_whole_names(tmp_path: Path) -> None:
    known = load(tmp_path, ENTRY.replace('words = ["step"]', 'exact = ["i"]'))["toy.counter"]
    assert known.holds("i")
    assert not known.holds("i_")


def test_a_group_is_asked_by_what_follows_its_name() -> None:
    known = group("file")
    assert known["test"]("tests/test_a.py")


# ---- the format


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("schema = 1", "schema = 2", "schema is 2; expected 1"),
        ("schema = 1", "schema = 1\nrules = 3", "unknown key 'rules'"),
        ("schema = 1", "schema 1", "Expected '='"),
        ('says = "counts"', "", "toy.counter: missing 'says'"),
        ('hit = ["global_step"]', "hit = []", "toy.counter: missing 'hit'"),
        ('id = "toy.counter"', "", r"\[\[name\]\] number 1: missing 'id'"),
        ('words = ["step"]', "", "give exactly one of words, pattern, exact"),
        ('words = ["step"]', 'words = ["step"]\npattern = "s"', "give exactly one of"),
        ('words = ["step"]', 'words = "step"', "'words' is not a list"),
        ('words = ["step"]', 'words = ["Step"]', "'Step' never occurs as a word"),
        ('says = "counts"', "says = 3", "'says' is not a text"),
        ('"variable"', '"star"', "`of` has 'star'; expected some of variable"),
        ('id = "toy.counter"', 'id = "Toy"', "an id is `group.name`"),
        ("miss =", "mis =", "unknown key 'mis'"),
    ],
)
def test_an_error_names_the_file_the_entry_and_the_remedy(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    with pytest.raises(FamilyError, match=rf"names\.toml: .*{complaint}"):
        load(tmp_path, ENTRY.replace(old, new, 1))


def test_a_pattern_that_is_none_is_named_when_it_is_asked(tmp_path: Path) -> None:
    known = load(tmp_path, ENTRY.replace('words = ["step"]', "pattern = '(step'"))["toy.counter"]
    with pytest.raises(FamilyError, match=r"names\.toml: toy\.counter: pattern: missing \)"):
        known.holds("step")


def test_an_id_is_given_once(tmp_path: Path) -> None:
    twice = ENTRY + ENTRY.replace("schema = 1", "")
    with pytest.raises(FamilyError, match=r"toy\.counter: this id is given twice"):
        load(tmp_path, twice)


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FamilyError, match=r"names\.toml"):
        load_file(tmp_path / FAMILIES)


def test_the_shipped_file_stands_beside_the_rules() -> None:
    assert (rules_directory() / FAMILIES).is_file()
