"""Every pair of the gallery: both programs print the same, and the second waits less."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from asyncguard.lint.check import check_paths
from asyncguard.lint.run.settings import Settings
from asyncguard.tune.outputs import compare
from tests import warm
from tests.frameworks import require

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import gallery  # noqa: E402 - it stands beside the package

KEPT = json.loads(gallery.RESULTS.read_text(encoding="utf-8"))
HELD = {"torch": "torch", "mxnet": warm.MXNET, "jax": "jax"}


def test_there_are_ten_pairs_of_three_frameworks_with_their_figures() -> None:
    assert len(gallery.names()) == 10
    assert {gallery.framework(name) for name in gallery.names()} == set(gallery.FRAMEWORKS)
    assert [*KEPT] == gallery.names()


@pytest.mark.parametrize("name", gallery.names())
def test_a_pair_prints_the_same_and_waits_as_often_as_the_page_says(
    name: str, tmp_path: Path
) -> None:
    require(gallery.framework(name))
    python = warm.python(HELD[gallery.framework(name)])
    runs = {side: gallery.run(name, side, tmp_path, python) for side in gallery.SIDES}
    before, after = runs["before"], runs["after"]
    assert compare(before.output, after.output).equal
    assert before.output
    assert after.waits / after.steps < before.waits / before.steps / 4
    for side, run in runs.items():
        told = gallery.figures([run])
        kept = KEPT[name][side]
        assert told["waits_per_step"] == kept["waits_per_step"], side
        if run.basis == "modelled" and KEPT[name]["version"] == run.version:
            assert told["stall_us_per_step"] == kept["stall_us_per_step"], side


def test_the_linter_finds_every_program_before_and_none_after() -> None:
    settings = Settings(root=gallery.PAIRS, assume_device="as-written")
    found = {finding.path for finding in check_paths([gallery.PAIRS], settings).findings}
    assert {Path(path).parent.name for path in found} == set(gallery.names())
    assert {Path(path).name for path in found} == {"before.py"}
