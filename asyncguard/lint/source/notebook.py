"""Jupyter notebooks: `.ipynb` JSON -> one Python source, and its lines back to cells.

The code cells are joined into one module, for they share their names. IPython's magics and shell
lines become blank statements, so that every other line keeps its place; cells of other languages
(`%%bash`) are left out. Cells count from 1 over all cells, as ruff counts them.
"""

from __future__ import annotations

import bisect
import json
import re
from dataclasses import replace
from typing import Any, NamedTuple

from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.model import Applicability, Finding, Fix

# Cell magics that run their body as Python; the body of any other is another language.
_PYTHON_CELL_MAGICS = {"time", "timeit", "capture", "prun", "python", "python3", "debug"}
_LINE = re.compile(r"\(line (\d+)\)")  # in the text of a repair
_NAMES = re.compile(r"[\w., ]+")


class Notebook(NamedTuple):
    """The joined source, and for each cell of it the line that it starts on and its number.

    `magics` are the lines that read otherwise in their cell.
    """

    source: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]
    magics: frozenset[int] = frozenset()

    def place(self, finding: Finding) -> Finding:
        """The finding with its cell, and its lines counted within that cell."""
        line, cell = self.cell(finding.line)
        return replace(
            finding,
            line=line,
            end_line=finding.end_line - finding.line + line,
            cell=cell,
            fix=self._in_cell(finding.fix, finding.line - line) if finding.fix else None,
        )

    def _in_cell(self, fix: Fix, before: int) -> Fix:
        """Return a fix with its lines counted within the cell that begins after line `before`.

        If it changes another cell as well, or a line that only IPython understands, it is shown in
        words alone.
        """
        fix = replace(fix, message=_LINE.sub(self._placed, fix.message))
        after = bisect.bisect_right(self.starts, before + 1)
        lines = self.source.split("\n")
        last = self.starts[after] - 1 if after < len(self.starts) else len(lines) - 1
        edits = []
        for edit in fix.edits:
            if edit.end_line == last + 1 and not edit.end_column:  # up to the end of the cell
                edit = replace(edit, end_line=last, end_column=len(lines[last - 1]))
            touched = range(edit.line, edit.end_line + 1)
            if not before < edit.line <= edit.end_line <= last or self.magics & {*touched}:
                return replace(fix, edits=(), applicability=Applicability.SHOWN)
            edits.append(replace(edit, line=edit.line - before, end_line=edit.end_line - before))
        return replace(fix, edits=tuple(edits))

    def _placed(self, place: re.Match[str]) -> str:
        line, cell = self.cell(int(place[1]))
        return f"(cell {cell}, line {line})"

    def cell(self, line: int) -> tuple[int, int]:
        """Return a line as counted within its cell, and the number of that cell."""
        index = bisect.bisect_right(self.starts, line) - 1
        return line - self.starts[index] + 1, self.numbers[index]


def read_notebook(data: bytes) -> Notebook | None:
    """Join the code cells; None where the notebook's language is not Python.

    Raises ValueError if the data is no notebook.
    """
    try:
        content = json.loads(data.decode("utf-8-sig"))
        if not _is_python(content):
            return None
        cells = [_code(cell) for cell in content["cells"]]
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"not a Jupyter notebook: {error}") from error
    except RecursionError:
        raise ValueError("not a Jupyter notebook: it is nested too deeply") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a Jupyter notebook: its parts are not of the right types") from error
    lines: list[str] = []
    starts, numbers = [], []
    magics: set[int] = set()
    for number, text in enumerate(cells, 1):
        if text is not None:
            starts.append(len(lines) + 1)
            numbers.append(number)
            own = _python_lines(text) or [""]
            written = text.split("\n")
            magics |= {len(lines) + n for n, line in enumerate(own, 1) if line != written[n - 1]}
            lines += own
    source = "\n".join(lines) + "\n"
    return Notebook(source, tuple(starts or [1]), tuple(numbers or [1]), frozenset(magics))


def python_in(path: str, data: bytes) -> str:
    """Return the Python source of a file, or of the cells of a notebook.

    Return "" if the file holds none or cannot be read: the check of the file itself reports that.
    """
    try:
        if not path.endswith(".ipynb"):
            return decode(data)
        notebook = read_notebook(data)
    except (SourceError, ValueError):
        return ""
    return notebook.source if notebook is not None else ""


def _is_python(content: dict[str, Any]) -> bool:
    metadata = content.get("metadata", {})
    language = metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get(
        "language", "python"
    )
    return str(language).lower() in {"python", "ipython"}


def _code(cell: dict[str, Any]) -> str | None:
    if cell["cell_type"] != "code":
        return None
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _python_lines(text: str) -> list[str]:
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        name = first[2:].split()[0] if first[2:].split() else ""
        if name not in _PYTHON_CELL_MAGICS:
            return [""] * len(lines)
    return [_python_line(line) for line in lines]


def _python_line(line: str) -> str:
    """Return the line, or one that Python understands in the place of IPython's own."""
    names, assigns, value = line.partition("=")
    given = value.lstrip()
    if assigns and given.startswith(("%", "!")) and _NAMES.fullmatch(names.lstrip()):
        return f"{names}={value[: len(value) - len(given)]}None"
    text = line.strip()
    if text.startswith(("%", "!", "?")) or (text.endswith("?") and not text.startswith("#")):
        return f"{line[: len(line) - len(line.lstrip())]}pass"
    return line
