"""In the notebook and the REPL: a real IPython, and a notebook that is really executed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import asyncguard
from asyncguard.engine import np
from tests import warm

ROOT = Path(__file__).parents[1]
CELL = "from asyncguard.engine import np\nfor _ in range(3):\n    np.ones(1).wait_to_read()"


def recorded() -> asyncguard.Trace:
    with asyncguard.trace() as trace:
        for _ in range(3):
            np.ones(1).wait_to_read()
    return trace


def test_a_trace_shows_itself_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    trace = recorded()
    assert trace.to_text().splitlines()[1].startswith("3 waits at 1 site")
    trace.show()
    assert capsys.readouterr().out == trace.to_text()


def test_a_running_trace_shows_what_there_is_so_far() -> None:
    with asyncguard.trace() as trace:
        np.ones(1).wait_to_read()
        assert trace.to_text().splitlines()[1].startswith("1 wait at 1 site")


def test_a_trace_writes_its_page(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    trace = recorded()
    path = tmp_path / "t.html"
    trace.to_html(path)
    assert "wait_to_read" in path.read_text()
    with pytest.raises(asyncguard.AsyncguardError, match="cannot write the page"):
        trace.to_html(tmp_path / "nowhere" / "t.html")


def test_in_a_notebook_the_page_stands_in_a_frame_of_its_own() -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    html = recorded()._repr_html_()
    assert html.startswith('<iframe title="asyncguard report" ')
    assert 'sandbox="allow-scripts"' in html
    assert "<table" not in html  # escaped: it is the frame's text
    assert "&lt;table" in html


def test_without_jinja2_a_notebook_shows_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    html = recorded()._repr_html_()
    assert html.startswith("<pre>")
    assert "3 waits at 1 site" in html


def ipython(tmp_path: Path, *lines: str, holds: str = "IPython") -> str:
    """What IPython prints for these inputs, in a process of its own that holds a module."""
    pytest.importorskip("IPython", reason="ipython is not installed")
    script = tmp_path / "session.ipy"
    script.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [*warm.python(holds), "-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ip")},
    )  # fmt: skip
    return done.stdout + done.stderr


def test_what_a_cell_raises_is_shown_once(tmp_path: Path) -> None:
    out = ipython(
        tmp_path,
        "%load_ext asyncguard",
        "get_ipython().run_cell_magic('asyncguard', '', '1 / 0')",
        "print('next')",
    )
    assert out.count("Traceback (most recent call last)") == 1
    assert "ZeroDivisionError" in out


def test_the_cell_magic_in_ipython(tmp_path: Path) -> None:
    run = "get_ipython().run_cell_magic('asyncguard', {!r}, {!r})"
    out = ipython(
        tmp_path,
        "%load_ext asyncguard",
        run.format("mine", CELL),
        "print('kept', mine.total_syncs)",
        run.format("--nonsense", CELL),
        run.format("not-a-name", CELL),
    )
    assert "3 waits at 1 site" in out
    assert "kept 3" in out
    assert "unrecognized arguments: --nonsense" in out
    assert "'not-a-name' cannot be the name of a variable" in out
    assert "Traceback" not in out


def test_magics_over_cells_of_a_statement_and_on_a_simulated_device(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    out = ipython(
        tmp_path,
        "%load_ext asyncguard",
        "import torch",
        "%asyncguard start over --timeline",
        "torch.ones(1).item()",
        "%asyncguard start again",
        "torch.ones(1).item()",
        "%asyncguard stop",
        "print('kept', over.total_syncs)",
        "%asyncguard --depth full torch.ones(1).item()",
        "print('statement', trace.total_syncs)",
        "get_ipython().run_cell_magic('asyncguard', '--sim cuda', 'torch.ones(1).cuda().item()')",
        "print('simulated', trace.record.basis, trace.total_syncs)",
        "%asyncguard --sim cuda torch.ones(1).cuda()",
        "get_ipython().run_cell_magic('asyncguard', '--sim tpu', '1')",
        "%asyncguard stop",
        "%asyncguard",
        holds="torch",
    )
    for said in (
        "kept 2", "statement 1", "simulated modelled 2", "cannot simulate 'tpu'",
        "asyncguard: a trace runs already", "asyncguard: no trace runs", "there is nothing to run",
    ):  # fmt: skip
        assert said in out
    assert "Traceback" not in out


def execute(tmp_path: Path, *cells: str, allow_errors: bool = False) -> list[Any]:
    """Run a notebook in a kernel; returns its cells."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    notebook.cells.insert(
        0, nbformat.v4.new_code_cell(f"import sys; sys.path.insert(0, {str(ROOT)!r})")
    )
    client = nbclient.NotebookClient(
        notebook, timeout=120, allow_errors=allow_errors, kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )  # fmt: skip
    return list(client.execute().cells[1:])


def printed(cell: Any) -> str:
    return "".join(output.get("text", str(output)) for output in cell.outputs)


def test_an_executed_notebook_shows_the_trace_below_the_cell(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    limit = "import asyncguard\ntry:\n    with asyncguard.forbid_syncs():\n        step()\n"
    load, _, magic, value, traced, limited = execute(
        tmp_path,
        "%load_ext asyncguard",
        "def step():\n    np.ones(1).wait_to_read()",
        f"%%asyncguard\n{CELL}",
        "trace",
        "with __import__('asyncguard').trace() as more:\n    step()\nprint(more.to_text())",
        f"{limit}except asyncguard.SyncLimitExceeded as error:\n    print(error)",
    )
    assert "cell 4, line 4" in value.outputs[0].data["text/html"]
    assert "cell 3, line 2 in step" in printed(traced)
    assert "called from cell 6, line 2" in printed(traced)
    assert printed(limited).startswith("cell 3, line 2: ")
    assert load.outputs == []
    for cell in (magic, value):
        (output,) = (each for each in cell.outputs if "data" in each)
        assert "np.ones(1).wait_to_read()" in output.data["text/html"]
        assert "<iframe" in output.data["text/html"]
    assert re.search(r"<asyncguard.Trace: 3 syncs", value.outputs[0].data["text/plain"])


def test_a_cell_that_fails_fails_and_leaves_its_trace(tmp_path: Path) -> None:
    _, failing, total = execute(
        tmp_path,
        "%load_ext asyncguard",
        f"%%asyncguard\n{CELL}\n1/0",
        "trace.total_syncs",
        allow_errors=True,
    )
    assert any(each.output_type == "error" for each in failing.outputs)
    assert total.outputs[0].data["text/plain"] == "3"
