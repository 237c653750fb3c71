"""What calls into other files lead to, as outlines tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from asyncguard.lint import knowledge
from asyncguard.lint.modules.project import Project, index

READS = "import torch\ndef helper(x):\n    return x.item()\n"
CLEAN = "import torch\ndef helper(x):\n    return x * 2\n"
CALLER = "import torch\n{how}\ndef forward(self, x):\n    return {call}(x)\n"


def roots(tmp_path: Path, **files: str) -> set[str]:
    """Return the functions of main.py that are worth a look."""
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    project = Project(index(map(str, tmp_path.glob("*.py"))), knowledge.load())
    outline = project._outlined("main", "")
    assert outline is not None
    return {outline.functions[i].name for i in outline.roots}


@pytest.mark.parametrize(
    ("how", "call"),
    [
        ("from helpers import helper", "helper"),
        ("from helpers import helper as h", "h"),
        ("import helpers", "helpers.helper"),
        ("import helpers as h", "h.helper"),
        ("from helpers import *", "helper"),
    ],
)
def test_a_call_leads_where_the_import_does(tmp_path: Path, how: str, call: str) -> None:
    main = CALLER.format(how=how, call=call)
    assert roots(tmp_path, main=main, helpers=READS) == {"forward"}
    assert roots(tmp_path, main=main, helpers=CLEAN) == set()


def test_names_that_are_imported_to_be_imported_are_followed(tmp_path: Path) -> None:
    main = CALLER.format(how="from api import helper", call="helper")
    api = "from helpers import helper\n"
    assert roots(tmp_path, main=main, api=api, helpers=READS) == {"forward"}
    assert roots(tmp_path, main=main, api=api, helpers=CLEAN) == set()


def test_functions_that_call_each_other_across_files(tmp_path: Path) -> None:
    main = CALLER.format(how="from a import f", call="f")
    a = "import torch\nfrom b import g\ndef f(x):\n    return g(x)\n"
    b = "import torch\nfrom a import f\ndef g(x):\n    return f(x){}\n"
    assert roots(tmp_path, main=main, a=a, b=b.format("")) == set()
    assert roots(tmp_path, main=main, a=a, b=b.format(".item()")) == {"forward"}


def test_what_is_out_of_sight_may_lead_anywhere(tmp_path: Path) -> None:
    main = CALLER.format(how="from helpers import made", call="made")
    assert roots(tmp_path, main=main, helpers=CLEAN + "made = globals()['helper']\n") == {"forward"}
