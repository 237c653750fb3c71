"""`asyncguard lsp`, asked by a real client over stdio."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from asyncguard.lint.live import Live
from asyncguard.runtime import store
from tests import warm
from tests.frameworks import require
from tests.records import record, site

require("pygls")

from lsprotocol import types  # noqa: E402
from pygls.exceptions import JsonRpcException  # noqa: E402
from pygls.lsp.client import BaseLanguageClient  # noqa: E402
from pygls.lsp.server import LanguageServer  # noqa: E402
from pygls.protocol import default_converter  # noqa: E402

from asyncguard.lsp import Protocol  # noqa: E402

TRAIN = """\
import torch
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print("ééé", "😀", loss.item())
"""
HELPER = """\
import torch
def report(loss):
    print(loss.item())
"""
CALLER = """\
import torch
from helper import report
def train(model, loader, optimizer):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        report(loss)
"""
WAITING = 60  # seconds that a test waits for an answer at most


class Editor(BaseLanguageClient):
    """A client that keeps what the server publishes."""

    def __init__(self, folder: Path) -> None:
        super().__init__("test", "1")
        self.folder = folder
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.shown: asyncio.Queue[types.ShowMessageParams] = asyncio.Queue()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(partial(self.published.put_nowait))
        self.feature(types.WINDOW_SHOW_MESSAGE)(partial(self.shown.put_nowait))

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> None:
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def type(self, name: str, text: str, version: int) -> None:
        document = types.VersionedTextDocumentIdentifier(version, self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def diagnostics(self) -> list[types.Diagnostic]:
        return list((await asyncio.wait_for(self.published.get(), WAITING)).diagnostics)

    async def hover(self, name: str, line: int) -> str:
        where = types.HoverParams(
            types.TextDocumentIdentifier(self.uri(name)), types.Position(line, 8)
        )
        found = await self.text_document_hover_async(where)
        return found.contents.value if found else ""

    async def actions(self, name: str, line: int) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, 0), types.Position(line, 0))
        return list(
            await self.text_document_code_action_async(
                types.CodeActionParams(
                    types.TextDocumentIdentifier(self.uri(name)), where, types.CodeActionContext([])
                )
            )
            or []
        )


def served(
    folder: Path,
    work: Callable[[Editor], Awaitable[None]],
    can: types.WorkspaceEditClientCapabilities | None = None,
    **options: object,
) -> None:
    """Start the server, let a client do `work`, and end both as an editor does."""

    async def session() -> None:
        editor = Editor(folder)
        python = warm.python("asyncguard.cli", "asyncguard.lsp", "asyncguard.lint.check")
        await editor.start_io(*python, "-m", "asyncguard", "lsp")
        parameters = types.InitializeParams(
            types.ClientCapabilities(types.WorkspaceClientCapabilities(workspace_edit=can)),
            root_uri=folder.as_uri(),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "test")],
            initialization_options=options or None,
        )
        await editor.initialize_async(parameters)
        editor.initialized(types.InitializedParams())
        try:
            await work(editor)
        finally:
            await asyncio.wait_for(editor.shutdown_async(None), WAITING)
            editor.exit(None)
            await editor.stop()

    asyncio.run(session())


def test_diagnostics_come_as_somebody_types_in_the_clients_columns(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", TRAIN)
        (found,) = await editor.diagnostics()
        assert (found.code, found.source) == ("ASG102", "asyncguard")
        assert found.severity == types.DiagnosticSeverity.Warning
        before = TRAIN.splitlines()[6].partition("loss.item()")[0]
        utf16 = len(before.encode("utf-16-le")) // 2
        assert found.range.start == types.Position(6, utf16)
        assert utf16 > len(before)
        editor.type("train.py", TRAIN.replace(", loss.item()", ""), 2)
        assert await editor.diagnostics() == []
        editor.type("train.py", "def broken(:\n", 3)
        (found,) = await editor.diagnostics()
        assert found.code == "ASG000"
        assert found.severity == types.DiagnosticSeverity.Error
        editor.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(editor.uri("train.py")))
        )
        assert await editor.diagnostics() == []

    served(tmp_path, work)


def test_text_that_no_file_can_hold_is_told_and_what_is_closed_is_not_read(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", b"x = '\\ud800'\n".decode("unicode_escape"))
        (found,) = await editor.diagnostics()
        assert found.code == "ASG000"
        editor.type("train.py", "import torch\n", 2)
        document = types.TextDocumentIdentifier(editor.uri("train.py"))
        editor.text_document_did_close(types.DidCloseTextDocumentParams(document))
        assert await editor.diagnostics() == []
        editor.open("other.py", "import torch\n")
        assert await editor.diagnostics() == []

    served(tmp_path, work)


def test_the_other_files_of_the_folder_are_the_context(tmp_path: Path) -> None:
    """That `report` runs in every step is decided in another file, and changes as that is saved."""
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "caller.py").write_text(CALLER)

    async def work(editor: Editor) -> None:
        editor.open("helper.py", HELPER)
        (found,) = await editor.diagnostics()
        assert found.range.start.line == 2
        assert "caller.py:8" in await editor.hover("helper.py", 2)
        (tmp_path / "caller.py").write_text(CALLER.replace("        report(", "    report("))
        saved = types.TextDocumentIdentifier(editor.uri("caller.py"))
        editor.text_document_did_save(types.DidSaveTextDocumentParams(saved))
        assert await editor.diagnostics() == []

    served(tmp_path, work)


def test_hovering_explains_and_says_what_the_last_trace_measured(tmp_path: Path) -> None:
    path = str(tmp_path / "train.py")
    waited = site(
        path=path, line=7, api="torch.Tensor.item", count=80, cpu_stall_ns=160_000_000,
        source=TRAIN.splitlines()[6].strip(), device="cuda:0",
    )  # fmt: skip
    store.save(record(waited, step_count=80, root=str(tmp_path)), tmp_path / "run.json")

    async def work(editor: Editor) -> None:
        editor.open("train.py", TRAIN)
        await editor.diagnostics()
        text = await editor.hover("train.py", 6)
        assert "**ASG102 scalar-conversion**" in text
        assert "`loss.item()`" in text
        assert "- device: " in text
        assert "**Measured** `torch.Tensor.item`: 80 waits" in text
        assert "2.00 ms each (cuda:0)" in text
        assert await editor.hover("train.py", 0) == ""
        editor.type("train.py", TRAIN.replace('"ééé", ', ""), 2)
        await editor.diagnostics()
        assert "Measured" not in await editor.hover("train.py", 6)  # another line by now

    served(tmp_path, work, trace="run.json")


def test_repairs_are_offered_as_actions(tmp_path: Path) -> None:
    text = "x = 1  # asyncguard: ignore[ASG102]\ny = 2  # asyncguard: ignore[ASG101]\n"

    async def work(editor: Editor) -> None:
        editor.open("idle.py", text)
        assert [d.code for d in await editor.diagnostics()] == ["ASG901", "ASG901"]
        one, every = await editor.actions("idle.py", 0)
        assert (one.kind, one.is_preferred) == (types.CodeActionKind.QuickFix, True)
        assert one.edit is not None
        (edit,) = one.edit.changes[editor.uri("idle.py")]
        assert (edit.range.start.line, edit.new_text) == (0, "")
        assert every.kind == "source.fixAll.asyncguard"
        assert every.edit is not None
        assert len(every.edit.changes[editor.uri("idle.py")]) == 2
        (only,) = await editor.actions("idle.py", 5)
        assert only.kind == every.kind
        editor.open("train.py", f"{TRAIN}        bad = loss.item() > 1 or loss.item() < 0\n")
        assert len(await editor.diagnostics()) > 2
        *_, ignored = await editor.actions("train.py", 6)
        assert ignored.title == "ignore here: # asyncguard: ignore[ASG102]"
        assert not ignored.is_preferred
        (edit,) = ignored.edit.changes[editor.uri("train.py")]
        assert edit.new_text == "  # asyncguard: ignore[ASG102]"
        told = await editor.hover("train.py", 7)  # several findings of one rule
        assert told.count("**ASG102 scalar-conversion**") == 2

    served(tmp_path, work)


SUMMED = """\
import torch
def train(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


def test_a_repair_in_doubt_is_shown_before_it_is_made(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", SUMMED)
        await editor.diagnostics()
        repair, ignored = (action.edit for action in await editor.actions("train.py", 7))
        (change,) = repair.document_changes
        assert change.text_document.version == 1
        assert "detach()" in change.edits[0].new_text
        (note,) = repair.change_annotations.values()
        assert note.needs_confirmation
        assert "double precision" in note.description
        assert {edit.annotation_id for edit in change.edits} == set(repair.change_annotations)
        assert ignored.change_annotations is None
        told = await editor.hover("train.py", 7)
        assert "```diff\n-        total += loss.item()\n+        total += loss.detach()" in told

    support = types.ChangeAnnotationsSupportOptions()
    can = types.WorkspaceEditClientCapabilities(
        document_changes=True, change_annotation_support=support
    )
    served(tmp_path, work, can)


def test_a_client_that_cannot_ask_is_told_by_the_title(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", SUMMED)
        await editor.diagnostics()
        repair, _ = await editor.actions("train.py", 7)
        assert repair.title.endswith("(may change the program: read it)")
        assert repair.edit.change_annotations is None
        assert repair.edit.document_changes[0].text_document.version == 1

    served(tmp_path, work, types.WorkspaceEditClientCapabilities(document_changes=True))


def test_actions_are_for_the_text_as_it_is_now(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", SUMMED)
        await editor.diagnostics()
        editor.type("train.py", f"\n\n{SUMMED}", 2)
        repair, _ = await editor.actions("train.py", 9)
        lines = [e.range.start.line for e in repair.edit.changes[editor.uri("train.py")]]
        assert min(lines) == 9
        editor.type("train.py", SUMMED, 3)
        assert "```diff" not in await editor.hover("train.py", 9)

    served(tmp_path, work)


def test_findings_stay_while_the_text_does_not_parse(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        editor.open("train.py", TRAIN)
        before = await editor.diagnostics()
        editor.type("train.py", f"import (\n\n{TRAIN}", 2)
        error, *after = await editor.diagnostics()
        assert error.code == "ASG000"
        assert [d.code for d in after] == [d.code for d in before]
        assert {d.range.start.line for d in after} == {8}

    served(tmp_path, work)


def test_a_malformed_request_is_refused_and_not_left_waiting() -> None:
    sent: list[dict[str, object]] = []
    protocol = Protocol(LanguageServer("test", "1", protocol_cls=Protocol), default_converter())
    protocol._send_response = lambda id, **said: sent.append({"id": id, **said})
    where = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": -1, "character": 0}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": where}
    with pytest.raises(JsonRpcException):
        protocol.structure_message(call)
    assert [answer["id"] for answer in sent] == [7]
    assert sent[0]["error"].code < 0


def test_what_a_configured_baseline_accepts_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "asyncguard.toml").write_text('baseline = "known.json"\n')
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "asyncguard", "gate", "--update", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    async def work(editor: Editor) -> None:
        editor.open("train.py", TRAIN)
        assert await editor.diagnostics() == []
        editor.type("train.py", f"{TRAIN}        x.sum().item()\n", 2)
        assert {d.range.start.line for d in await editor.diagnostics()} <= {7}

    served(tmp_path, work)


def test_a_broken_configuration_is_told_once_in_a_message(tmp_path: Path) -> None:
    (tmp_path / "asyncguard.toml").write_text("selct = []\n")

    async def work(editor: Editor) -> None:
        editor.open("train.py", TRAIN)
        told = await asyncio.wait_for(editor.shown.get(), WAITING)
        assert "unknown key 'selct'" in told.message
        assert str(tmp_path / "asyncguard.toml") in told.message

    served(tmp_path, work)


def test_an_editor_shows_what_a_check_of_the_project_finds(tmp_path: Path) -> None:
    """The context is the nearest project, also where that is larger than the opened folder."""
    (tmp_path / "pyproject.toml").write_text("")
    package, scripts = tmp_path / "pkg", tmp_path / "scripts"
    for folder, name, text in ((package, "helper.py", HELPER), (scripts, "caller.py", CALLER)):
        folder.mkdir()
        (folder / name).write_text(text.replace("from helper", "from pkg.helper"))
    (package / "__init__.py").write_text("")
    for number in range(600):  # as in a project of some size
        (package / f"part{number}.py").write_text("import torch\n")
    command = [sys.executable, "-m", "asyncguard", "check", "--format", "json", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    (expected,) = json.loads(done.stdout)
    assert expected["path"].endswith("helper.py")

    async def work(editor: Editor) -> None:
        editor.open("helper.py", HELPER)
        (found,) = await editor.diagnostics()
        assert (found.range.start.line + 1, found.code) == (expected["line"], expected["code"])
        assert found.message.startswith(expected["message"])

    served(package, work)


def test_a_live_check_finds_what_a_check_of_the_folder_finds(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "caller.py").write_text(CALLER)
    command = [sys.executable, "-m", "asyncguard", "check", "--format", "json", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    expected = {(f["path"], f["line"], f["code"]) for f in json.loads(done.stdout)}
    live = Live()
    found = [
        finding
        for path in (tmp_path / "helper.py", tmp_path / "caller.py")
        for finding in live.check(path, path.read_bytes())
    ]
    assert {(f.path, f.line, f.code) for f in found} == expected != set()


def test_without_the_extra_one_line_names_it(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('no pygls', name='pygls')\n")
    done = subprocess.run(
        [sys.executable, "-m", "asyncguard", "lsp"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == (
        "asyncguard: lsp: pygls is missing; install it with `pip install 'asyncguard[lsp]'`\n"
    )
