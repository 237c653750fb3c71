"""What pages say of benchmarks: tables and sentences made from results, kept up to date in place.

    python tools/site/figures.py      # writes what has changed into README.md and docs/

A page holds the place of each between two comments, so that it is whole where it is read without
the site:

    <!-- figures: NAME -->
    ...
    <!-- end of figures -->

Pages of the site are filled in again when it is built.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from asyncguard.render.words import duration  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PAIRS = ROOT / "examples" / "gallery"
PLACE = re.compile(
    r"(<!-- figures: (\S+) -->\n)(.*?)(^<!-- end of figures -->)", re.MULTILINE | re.DOTALL
)
CALLED = {"torch": "PyTorch", "mxnet": "MXNet", "jax": "JAX"}
Rounds = Mapping[str, Mapping[str, Any]]


def pages() -> list[Path]:
    """Return the README, and the pages of the documentation that are files."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """Return a page with its figures as the results have them; raises KeyError for others."""
    made = figures() if PLACE.search(text) else {}
    return PLACE.sub(lambda found: f"{found[1]}{made[found[2]]}\n{found[4]}", text)


def figures() -> dict[str, str]:
    """Return everything that pages may show, by name."""
    rounds = _results("first_contact.json")
    pairs = _results("gallery.json")
    return {
        "first-contact": first_contact(rounds),
        "first-contact-rounds": rounds_table(rounds),
        "first-contact-repositories": repositories_table(rounds),
        "gallery": gallery_table(pairs),
        **{f"gallery-{name}": pair_shown(name, pair) for name, pair in pairs.items()},
    }


def first_contact(rounds: Rounds) -> str:
    """Say in a sentence what the last two rounds found."""
    names = [name for name in rounds if name.isdigit()][-2:]
    rows = [row for name in names for row in rounds[name]["repositories"]]
    judged, verdicts, waits, found = _totals(rows)
    colder = verdicts["cold"] + verdicts["again"]
    return (
        f"Of {judged} default findings on {len(rows)} repositories that it met for the first time, "
        f"{verdicts['step'] / judged:.0%} wait in every step, {colder / judged:.0%} wait, though "
        f"not in every step or not again, and {verdicts['none'] / judged:.0%} do not wait; it "
        f"found {found / waits:.0%} of {waits} waits in steps."
    )


def rounds_table(rounds: Rounds) -> str:
    """Return a row for each round."""
    rows = []
    for name, judged in rounds.items():
        told = [f"{name}", judged["date"], f"{len(judged['repositories'])}"]
        rows.append([*told, *_shares(judged["repositories"])])
    head = ["round", "date", "repositories", "findings", "in every step", "again", "not in every"]
    return _table([*head, "do not wait", "waits in steps", "found"], rows)


def repositories_table(rounds: Rounds) -> str:
    """Return a row for each repository of the last four numbered rounds."""
    rows = [
        [name, row["repository"], f"`{row['revision'][:7]}`", *_shares([row])]
        for name in [name for name in rounds if name.isdigit()][-4:]
        for row in rounds[name]["repositories"]
    ]
    head = ["round", "repository", "revision", "findings", "in every step", "again"]
    return _table([*head, "not in every", "do not wait", "waits in steps", "found"], rows)


def _shares(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    judged, verdicts, waits, found = _totals(rows)
    shares = [f"{verdicts[v] / judged:.0%}" if judged else "" for v in VERDICTS]
    return [str(judged), *shares, str(waits or ""), f"{found / waits:.0%}" if waits else ""]


VERDICTS = ("step", "again", "cold", "none")


def _totals(rows: Iterable[Mapping[str, Any]]) -> tuple[int, Counter[str], int, int]:
    """Return how many findings were judged, their verdicts, the waits, and how many were found."""
    verdicts = Counter[str]()
    waits = found = 0
    for row in rows:
        verdicts.update({verdict: row["verdicts"][verdict] for verdict in VERDICTS})
        waits, found = waits + row["waits"], found + row["found"]
    return verdicts.total(), verdicts, waits, found


def gallery_table(pairs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a row for each pair: waits and stall a step, before and after."""
    rows = [
        [
            f"[{_heading(name)}](gallery/{pair['framework']}.md#{name.replace('_', '-')})",
            CALLED[pair["framework"]],
            _waits(pair),
            _stall(pair),
            f"{pair['basis']}",
        ]
        for name, pair in pairs.items()
    ]
    return _table(["pair", "framework", "waits a step", "stall a step", "times"], rows)


def pair_shown(name: str, pair: Mapping[str, Any]) -> str:
    """Return the figures of one pair, and the difference of its programs."""
    sides = [(PAIRS / name / f"{side}.py").read_text(encoding="utf-8") for side in SIDES]
    before, after = (text.splitlines() for text in sides)
    difference = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    places = [at for at, line in enumerate(difference) if line.startswith("@@")][1:]
    shown = difference[places[0] :] if places else difference[1:]  # the docstrings differ too
    body = "\n".join("" if line.startswith("@@") else line.rstrip() for line in shown).strip("\n")
    says = (
        f"{_waits(pair)} waits a step, {_stall(pair)} of stall ({pair['basis']}, "
        f"{pair['device']}, {CALLED[pair['framework']]} {pair['version']}, {pair['date']}); "
        f"outputs equal."
    )
    return f"```diff\n{body}\n```\n\n{says}"


SIDES = ("before", "after")


def _waits(pair: Mapping[str, Any]) -> str:
    return " → ".join(f"{pair[side]['waits_per_step']:.2f}" for side in SIDES)


def _stall(pair: Mapping[str, Any]) -> str:
    return " → ".join(duration(pair[side]["stall_us_per_step"] * 1000) for side in SIDES)


def _heading(name: str) -> str:
    """Return what a pair does: the first words of its docstring."""
    tree = ast.parse((PAIRS / name / "before.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or name).partition(":")[0]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _results(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def main() -> int:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: figures brought up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
