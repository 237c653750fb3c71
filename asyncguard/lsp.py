"""`asyncguard lsp`: findings in the editor, by the Language Server Protocol over stdio.

Composes the parts: `lint.live` checks what is typed, `render.hover` explains, a saved trace adds
what the lines cost. Needs pygls (extra `lsp`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from asyncguard.gate.accepted import configured, without_accepted
from asyncguard.lint.checks.asg901 import CODE as UNUSED
from asyncguard.lint.labels import ERRORS, labels
from asyncguard.lint.live import Live
from asyncguard.lint.program.facts import UNREADABLE
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.source import fixes
from asyncguard.lint.source.ignores import with_ignores
from asyncguard.model import (
    Applicability,
    AsyncguardError,
    Edit,
    Finding,
    Fix,
    SiteStats,
    TraceRecord,
)
from asyncguard.render import hover
from asyncguard.runtime import store
from asyncguard.version import __version__

PAUSE = 0.25  # seconds without a key before the text is checked
TRACE = "asyncguard-trace.json"
NAME = "asyncguard"
FIX_ALL = "source.fixAll.asyncguard"
_NOTES = {
    Applicability.SAFE: "",
    Applicability.UNSAFE: " (may change the program: read it)",
    Applicability.SHOWN: " (a sketch to complete)",
}


@dataclass
class Checked:
    """A document's findings, and the version of the text that they are true for."""

    version: int | None = None
    findings: tuple[Finding, ...] = ()


@dataclass
class Traces:
    """Saved traces, read again when they change."""

    _read: dict[Path, tuple[int, TraceRecord | None]] = field(default_factory=dict)

    def load(self, path: Path) -> TraceRecord | None:
        """Return the trace at a path; None if there is none that can be read."""
        try:
            when = path.stat().st_mtime_ns
        except OSError:
            return None
        if path not in self._read or self._read[path][0] != when:
            try:
                self._read[path] = when, store.load(path)
            except AsyncguardError:  # it is being written, or is not a trace: hover does without
                self._read[path] = when, None
        return self._read[path][1]


class Service:
    """What the server knows: documents, their findings, traces. Its features are coroutines."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.checked: dict[str, Checked] = {}
        self.traces = Traces()
        self.trace: str = TRACE
        self._can = types.WorkspaceEditClientCapabilities()  # with edits
        self._live: dict[Path, Live] = {}
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="asyncguard")
        self._told = ""
        for method, feature in (
            (types.INITIALIZE, self.initialize),
            (types.TEXT_DOCUMENT_DID_OPEN, self.opened),
            (types.TEXT_DOCUMENT_DID_CHANGE, self.changed),
            (types.TEXT_DOCUMENT_DID_SAVE, self.saved),
            (types.TEXT_DOCUMENT_DID_CLOSE, self.closed),
            (types.TEXT_DOCUMENT_HOVER, self.hover),
        ):
            server.feature(method)(partial(feature))  # pygls marks what it is given
        kinds = [types.CodeActionKind.QuickFix, FIX_ALL]
        options = types.CodeActionOptions(code_action_kinds=kinds)
        server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(partial(self.actions))

    def initialize(self, params: types.InitializeParams) -> None:
        """Take what the client can do, and the option `trace`: the name of the trace on hover."""
        workspace = params.capabilities.workspace
        if workspace is not None and workspace.workspace_edit is not None:
            self._can = workspace.workspace_edit
        given = params.initialization_options
        if isinstance(given, dict) and isinstance(given.get("trace"), str):
            self.trace = given["trace"]

    async def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """Check at once."""
        await self._check(params.text_document.uri)

    async def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """Check once nobody types for a moment."""
        uri = params.text_document.uri
        if waiting := self._pending.pop(uri, None):
            waiting.cancel()
        self._pending[uri] = asyncio.ensure_future(self._check_later(uri))

    async def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """Check all open documents: what is saved may make functions of others hot, or not."""
        for uri in tuple(self.checked):
            await self._check(uri)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget the document, and take its diagnostics away."""
        uri = params.text_document.uri
        if waiting := self._pending.pop(uri, None):
            waiting.cancel()
        self.checked.pop(uri, None)
        self._publish(uri, None, [])

    def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Explain the findings of a line, and say what the last trace saw there."""
        uri, line = params.text_document.uri, params.position.line
        rules = {label.code: label for label in labels()}
        source = self.server.workspace.get_text_document(uri).source if self._is_new(uri) else ""
        blocks = [
            *(hover.measured(site, record) for site, record in self._sites(uri, line)),
            *hover.texts(((f, rules[f.code]) for f in self._at(uri, line, line)), source),
        ]
        if not blocks:
            return None
        value = "\n\n".join(blocks)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, value))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Offer the repairs of what is selected, and all safe ones of the document."""
        uri = params.text_document.uri
        if not self._is_new(uri):  # somebody types: the places of edits are those of before
            await self._check(uri)
        if not self._is_new(uri):
            return []
        found = [*self._at(uri, params.range.start.line, params.range.end.line)]
        wanted = params.context.only or [types.CodeActionKind.QuickFix]
        actions: list[types.CodeAction] = []
        if any("quickfix".startswith(str(getattr(kind, "value", kind))) for kind in wanted):
            actions += [self._repair(uri, f, f.fix) for f in found if f.fix and f.fix.edits]
            actions += [self._ignore(uri, f, f.fix) for f in self._silenced(uri, found) if f.fix]
        every = self.checked.get(uri, Checked()).findings
        safe = fixes.choose(every, unsafe=False)
        if safe and (not params.context.only or any(FIX_ALL.startswith(str(k)) for k in wanted)):
            every_edit = dict.fromkeys(e for fix in safe.values() for e in fix.edits)
            change = self._change(uri, every_edit)
            title = "asyncguard: apply all safe fixes"
            actions.append(types.CodeAction(title=title, kind=FIX_ALL, edit=change))
        return actions

    async def _check_later(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        self._pending.pop(uri, None)
        await self._check(uri)

    async def _check(self, uri: str) -> None:
        path, document = to_fs_path(uri), self.server.workspace.text_documents.get(uri)
        if path is None or document is None:  # of one that is not open, the file would be read
            return
        version, data = document.version, document.source.encode("utf-8", "surrogatepass")
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._thread, self._find, Path(path), data)
        except AsyncguardError as error:
            self._tell(str(error))
            return
        if uri in self.server.workspace.text_documents and version == document.version:
            if any(f.code == UNREADABLE for f in found):
                found = [*found, *self._still_there(uri)]
            self.checked[uri] = Checked(version, tuple(found))
            self._publish(uri, version, [self._diagnostic(uri, f) for f in found])

    def _still_there(self, uri: str) -> list[Finding]:
        """Return the last findings whose lines still stand, while the text is no Python."""
        places: dict[str, list[int]] = {}
        lines = self.server.workspace.get_text_document(uri).source.splitlines()
        for number, text in enumerate(lines, 1):
            places.setdefault(text.strip(), []).append(number)
        kept = []
        for found in self.checked.get(uri, Checked()).findings:
            numbers = places.get(found.source.strip(), [])
            if found.code != UNREADABLE and numbers:
                near = min(numbers, key=lambda number: abs(number - found.line))
                end = min(near + found.end_line - found.line, len(lines))
                kept.append(replace(found, line=near, end_line=end, fix=None))
        return kept

    def _find(self, path: Path, data: bytes) -> list[Finding]:
        folder = self._folder(path)
        live = self._live.setdefault(folder, Live())
        found = live.check(path, data)
        return [*without_accepted(found, [str(path)], configured(Configuration())).findings]

    def _folder(self, path: Path) -> Path:
        """Return the outermost workspace folder that holds a file, else the file's own."""
        folders = [to_fs_path(uri) for uri in self.server.workspace.folders]
        roots = [Path(f) for f in (*folders, self.server.workspace.root_path) if f]
        holding = [root for root in roots if path.is_relative_to(root)]
        return min(holding, key=lambda root: len(root.parts), default=path.parent)

    def _tell(self, text: str) -> None:
        """Say once why nothing is checked: a broken configuration, mostly."""
        if text != self._told:
            self._told = text
            shown = types.ShowMessageParams(types.MessageType.Error, f"{NAME}: {text}")
            self.server.window_show_message(shown)

    def _publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=diagnostics)
        )

    def _diagnostic(self, uri: str, found: Finding) -> types.Diagnostic:
        severity = types.DiagnosticSeverity.Warning
        if found.code in ERRORS:
            severity = types.DiagnosticSeverity.Error
        return types.Diagnostic(
            range=self._range(uri, _place(found)),
            message=found.message,
            severity=severity,
            code=found.code,
            source=NAME,
        )

    def _range(self, uri: str, place: Edit) -> types.Range:
        """Return a place as the client counts: lines from 0, columns in its own code units."""
        document = self.server.workspace.get_text_document(uri)
        lines = document.lines
        start = types.Position(place.line - 1, place.column)
        end = types.Position(place.end_line - 1, place.end_column)
        codec = document.position_codec
        return types.Range(
            codec.position_to_client_units(lines, start), codec.position_to_client_units(lines, end)
        )

    def _at(self, uri: str, first: int, last: int) -> Iterator[Finding]:
        for found in self.checked.get(uri, Checked()).findings:
            if found.line - 1 <= last and first <= found.end_line - 1:
                yield found

    def _sites(self, uri: str, line: int) -> Iterator[tuple[SiteStats, TraceRecord]]:
        """Yield the sites of the saved trace at a line, where the line reads as it did then."""
        path = to_fs_path(uri)
        if path is None:
            return
        folder = self._folder(Path(path))
        record = self.traces.load(folder / self.trace)
        lines = self.server.workspace.get_text_document(uri).lines
        if record is None or line >= len(lines):
            return
        root = Path(record.root or folder)
        for site in record.sites:
            same = site.line == line + 1 and root / site.path == Path(path)
            if same and site.source in ("", lines[line].strip()):
                yield site, record

    def _silenced(self, uri: str, found: Sequence[Finding]) -> list[Finding]:
        """Return the findings with the comments that silence them, where a comment can stand."""
        own = [finding for finding in found if finding.code != UNUSED]
        text = self.server.workspace.get_text_document(uri).source.encode("utf-8", "surrogatepass")
        try:
            return with_ignores(own, "", dict.fromkeys((f.path for f in own), text))
        except AsyncguardError:  # it does not parse at the moment
            return []

    def _repair(self, uri: str, found: Finding, fix: Fix) -> types.CodeAction:
        return types.CodeAction(
            title=f"{fix.message}{_NOTES[fix.applicability]}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(uri, found)],
            is_preferred=fix.safe,
            edit=self._change(uri, fix.edits, "" if fix.safe else fix.message),
        )

    def _ignore(self, uri: str, found: Finding, fix: Fix) -> types.CodeAction:
        """Offer the comment that silences a line: never what an editor should prefer."""
        (comment,) = fix.edits
        return types.CodeAction(
            title=f"ignore here: {comment.text.strip()}",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(uri, found)],
            edit=self._change(uri, fix.edits),
        )

    def _change(self, uri: str, edits: Iterable[Edit], doubt: str = "") -> types.WorkspaceEdit:
        """Return a change of a document; in doubt, one that the client shows before it is made."""
        placed = [(self._range(uri, edit), edit.text) for edit in edits]
        if not self._can.document_changes:
            return types.WorkspaceEdit(changes={uri: [types.TextEdit(*each) for each in placed]})
        document = types.OptionalVersionedTextDocumentIdentifier(uri, self.checked[uri].version)
        if not doubt or self._can.change_annotation_support is None:
            plain = types.TextDocumentEdit(document, [types.TextEdit(*each) for each in placed])
            return types.WorkspaceEdit(document_changes=[plain])
        asked = [types.AnnotatedTextEdit(NAME, *each) for each in placed]
        note = types.ChangeAnnotation("asyncguard: read it first", True, doubt)
        return types.WorkspaceEdit(
            document_changes=[types.TextDocumentEdit(document, asked)],
            change_annotations={NAME: note},
        )

    def _is_new(self, uri: str) -> bool:
        """Whether the findings of a document are those of its text as it is now."""
        document = self.server.workspace.text_documents.get(uri)
        checked = self.checked.get(uri)
        return document is not None and checked is not None and checked.version == document.version


def _place(found: Finding) -> Edit:
    return Edit(found.line, found.column - 1, found.end_line, found.end_column - 1, "")


class Protocol(LanguageServerProtocol):  # type: ignore[misc]
    """The protocol, which answers requests that are malformed: an editor waits for each."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message; what cannot be read, such as a line before the first, is refused."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


def main() -> int:
    """Serve one editor over stdin and stdout until it goes; returns the exit status."""
    server = LanguageServer(NAME, __version__, protocol_cls=Protocol)
    Service(server)
    server.start_io()
    return 0
