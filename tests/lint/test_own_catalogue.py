"""A team's own catalogue: what it adds to the linter, its trial, and files that mean no good."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from asyncguard.cli import main
from asyncguard.lint.check import check_paths
from asyncguard.lint.names import extended, family, own
from asyncguard.lint.run.settings import Settings, load_settings

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "own_catalogue"


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def apis(team: Path, **settings: object) -> list[str]:
    found = load_settings(team)
    changed = Settings(catalogue=found.catalogue, root=team, **settings)  # type: ignore[arg-type]
    return [finding.api for finding in check_paths([team], changed).findings]


def replace(team: Path, old: str, new: str) -> None:
    text = (team / "syncs.toml").read_text()
    assert old in text
    (team / "syncs.toml").write_text(text.replace(old, new))


def test_a_helper_of_ones_own_is_found_where_it_blocks(
    team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--output-format", "text", "."]) == 1
    out = capsys.readouterr().out
    assert "train.py:8:9: ASG103 `acme.fetch(loss)`" in out
    assert "help: Fetch once after the loop." in out
    (team / "pyproject.toml").unlink()
    assert main(["check", "."]) == 0


def test_another_catalogue_means_other_findings_though_there_is_a_cache(team: Path) -> None:
    assert apis(team) == apis(team) == ["acme.fetch"]
    replace(team, 'functions = ["acme.fetch"]', 'functions = ["acme.pull"]')
    assert apis(team) == []


def test_every_process_knows_it(team: Path) -> None:
    for number in range(20):
        shutil.copy(team / "train.py", team / f"train{number}.py")
    assert apis(team, jobs=2, cache=False) == ["acme.fetch"] * 21


def test_names_belong_to_a_family_for_as_long_as_it_is_checked(team: Path) -> None:
    counts = family("counter.step")
    assert not counts("global_tick")
    with extended(own(load_settings(team).catalogue)):
        assert counts("global_tick")
        assert counts("global_step")
    assert not counts("global_tick")


def test_names_decide_how_often_a_function_runs(team: Path) -> None:
    """Families are asked by the analysis of each file, and again when the files are linked."""
    (team / "train.py").write_text(
        "import acme\n"
        "class Trainer:\n"
        "    def harvest(self):\n"
        "        print(acme.contrastive(self.x))\n"
        "    def fit(self, model, batches):\n"
        "        for batch in acme.data.stream(batches):\n"
        "            self.x = acme.contrastive(model(batch))\n"
        "            acme.train.update(self.x)\n"
        "            self.harvest()\n"
    )
    assert len(apis(team, jobs=1, cache=False)) == 1
    entry = 'id = "function.saves"\nwords = ["harvest"]\nhit = ["harvest"]\nmiss = ["harbour"]\n'
    with (team / "syncs.toml").open("a") as file:
        file.write(f"\n[[name]]\n{entry}")
    assert apis(team, jobs=1, cache=False) == []


def test_the_trial_passes_where_each_example_is_as_it_says(
    team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "--test"]) == 0
    assert capsys.readouterr().out == "6 examples, all as they say\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('functions = ["acme.fetch"]', 'functions = ["acme.pull"]', "its hit lacks a wait for"),
        ("    return acme.fetch(loss)", "        acme.fetch(loss)", "its miss has a wait for"),
        ('device = ["acme.contrastive"]', 'host = ["acme.contrastive"]', "its hit lacks a finding"),
        ('miss = ["ticket"]', 'miss = ["a_tick"]', "its miss has 'a_tick'"),
        ('hit = ["global_tick"]', 'hit = ["toc"]', "its hit lacks 'toc'"),
    ],
)
def test_the_trial_names_the_example_that_is_not(
    old: str, new: str, problem: str, team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(team, old, new)
    assert main(["rules", "--test"]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{team / 'syncs.toml'}: ")
    assert problem in first
    assert last == "6 examples, 1 not as it says"


def test_the_trial_needs_a_catalogue(team: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (team / "pyproject.toml").unlink()
    assert main(["rules", "--test"]) == 2
    assert 'catalogue = ["syncs.toml"]' in capsys.readouterr().err
    assert main(["rules", "--config", "x.toml"]) == 2
    assert "add --test" in capsys.readouterr().err


HOSTILE = {
    "cut": 'schema = 1\nextends = "torch"\n[[sync',
    "no table": "schema = 1\nextends = 3",
    "another schema": 'schema = 9\nextends = "torch"',
    "no framework": 'schema = 1\nextends = "tortch"',
    "unknown key": 'schema = 1\nextends = "torch"\n[runtime]\nx = 1',
    "unknown kind": 'schema = 1\nextends = "torch"\n[returns]\ngpu = ["a"]',
    "wrong type": 'schema = 1\nextends = "torch"\n[returns]\ndevice = 3',
    "steps that hook": 'schema = 1\nextends = "torch"\n[steps]\nruntime = ["os.system"]',
    "sync that is none": 'schema = 1\nextends = "torch"\nsync = [1]',
    "sync without all": 'schema = 1\nextends = "torch"\n[[sync]]\nid = "a.b"',
    "sync that hooks": (
        'schema = 1\nextends = "torch"\n[[sync]]\nid = "a"\nruntime = { patch = ["os.system"] }'
    ),
    "unknown rule": (
        'schema = 1\nextends = "torch"\n[[sync]]\nid = "a"\nrule = "ASG999"\nkind = "scalar"\n'
        'advice = "a"\nhit = "a"\nmiss = "a"\nsource = { methods = ["a"] }'
    ),
    "id of another": (
        'schema = 1\nextends = "torch"\n[[sync]]\nid = "torch.Tensor.item"\nrule = "ASG102"\n'
        'kind = "scalar"\nadvice = "a"\nhit = "a"\nmiss = "a"\nsource = { methods = ["a"] }'
    ),
    "a pattern that never ends": (
        'schema = 1\nextends = "torch"\n[[name]]\nid = "counter.step"\npattern = "(a+)+$"\n'
        'hit = ["a"]\nmiss = ["b"]'
    ),
    "unknown family": (
        'schema = 1\nextends = "torch"\n[[name]]\nid = "counter.stp"\nwords = ["a"]\n'
        'hit = ["a"]\nmiss = ["b"]'
    ),
    "a name that is none": 'schema = 1\nextends = "torch"\n[[name]]\nid = 3',
    "snippet that is none": 'schema = 1\nextends = "torch"\n[[snippet]]\nsays = 1',
    "nested": "a = " + "[" * 100_000,
    "escapes": 'schema = 1\n"\\u001b[31m" = 1',
    "huge": "#" * (1 << 20) + "\nschema = 1",
}


@pytest.mark.parametrize("command", [["check", "."], ["rules", "--test"], ["gate", "."]])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_one_line(
    text: str, command: list[str], team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (team / "syncs.toml").write_text(text)
    before = sorted(team.rglob("*"))
    assert main(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"asyncguard: {team / 'syncs.toml'}")
    assert captured.err.count("\n") == 1
    assert len(captured.err) < 1000
    assert captured.err.rstrip("\n").isprintable()
    assert sorted(team.rglob("*")) == before


@pytest.mark.parametrize(
    "name", ["../syncs.toml", "/etc/passwd", ".", "gone.toml", "link.toml", "pipe"]
)
def test_a_file_elsewhere_or_of_another_kind_is_refused(
    name: str, team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (team / "link.toml").symlink_to("/etc/passwd")
    os.mkfifo(team / "pipe")
    (team / "pyproject.toml").write_text(f'[tool.asyncguard]\ncatalogue = ["{name}"]\n')
    assert main(["check", "."]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "root:" not in err
