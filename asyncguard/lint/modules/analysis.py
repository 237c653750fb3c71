"""One file, interpreted: its module body, then each function once, and what they told.

`FileAnalysis` owns the file's scopes: it binds imports, defines functions and classes, and runs
every function exactly once, when a caller first asks for its summary or else at the end. What a
run notes (sites, calls, what it returns and which parameters it reads) stays with the function.
How often a function is entered is not known here; `linking` decides that for all files together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import libcst as cst

from asyncguard.lint.contexts.frame import Frame, evaluate
from asyncguard.lint.contexts.homes import enclosing_frame
from asyncguard.lint.contexts.usage import scan
from asyncguard.lint.domain.definitions import ClassInfo, FunctionInfo, Site, Summary
from asyncguard.lint.domain.loops import Guard
from asyncguard.lint.domain.values import Value
from asyncguard.lint.interpret import blocks
from asyncguard.lint.interpret.machine import MACHINE
from asyncguard.lint.knowledge import Knowledge
from asyncguard.lint.modules.abstract import is_abstract
from asyncguard.lint.modules.attributes import Attributes
from asyncguard.lint.modules.definitions import Definitions
from asyncguard.lint.modules.hooks import entered
from asyncguard.lint.modules.leading import Leading
from asyncguard.lint.modules.outline import Outline
from asyncguard.lint.modules.scope import Modules
from asyncguard.lint.modules.signatures import bind_parameters, declared_result
from asyncguard.lint.modules.summing import summary_of
from asyncguard.lint.syntax.unit import NO_TREE, Unit, function_unit
from asyncguard.model import Loop


class Project(Modules, Protocol):
    """The checked files, as far as the analysis of one asks (`modules.project`)."""

    with_trees: dict[FileAnalysis, None]
    bounds: set[str]
    leading: Leading | None


class FileAnalysis(Definitions):
    """The interpretation of one file."""

    machine = MACHINE
    project: Project

    def __init__(
        self,
        path: str,
        module_name: str,
        text: str,
        unit: Unit,
        outline: Outline,
        knowledge: Knowledge,
        frameworks: tuple[str, ...],
        project: Project,
        *,
        is_package: bool = False,
        is_guest: bool = False,
    ) -> None:
        super().__init__(
            path, module_name, text, unit, outline, knowledge, frameworks, project,
            is_package=is_package,
        )  # fmt: skip
        self.is_guest = is_guest  # of no framework: it is run for those who import it
        self.types: dict[str, Value] | None = None  # what annotations name, once that is settled
        self.reported: list[FunctionInfo] = []  # what the rules look at now
        self.sites: list[Site] = []  # of these
        self.reads: list[Site] = []  # of arguments, which are sites where calls hand device values
        self.facts: object = None  # the facts of the file, once they are told
        self.facts_by_function: dict[FunctionInfo, object] = {}  # of functions looked at early
        self.attributes = Attributes(project.summaries, self.run)
        self.bare: list[FunctionInfo] = []  # whose summaries have no trees any more
        self.running = False

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    @cached_property
    def body(self) -> FunctionInfo:
        """The module's own statements, as a function."""
        unit = self.tree_of_file
        info = FunctionInfo("", "", unit.tree, self, unit=unit)
        scan(info, self.knowledge, self.frameworks)
        return info

    @cached_property
    def frame(self) -> Frame:
        """The module's scope."""
        return Frame(self, self.body)

    @property
    def tree_of_file(self) -> Unit:
        """The file's own tree, which it has until its own statements have been run."""
        assert self.unit is not None
        return self.unit

    def run_module(self) -> None:
        """Execute the module's own statements (once)."""
        if self.running:
            return
        self.running = True
        self._note_trees()
        blocks.run(self.frame, self.tree_of_file.tree.body)
        self.body.summary = summary_of(self.frame)
        self.types = {}

    def run_all(self) -> None:
        """Execute the module and each of its functions that matters."""
        self.run_module()
        for info in self.bare:
            info.summary = None  # whose trees are gone, which the rules ask for
        self.bare = []
        done = 0
        while done < len(self.functions):
            if self._matters(self.functions[done]):
                self.project.summaries.of(self.functions[done])
            done += 1
        for info in self.functions:
            info.compiled |= info.name in self.traced

    def _matters(self, info: FunctionInfo) -> bool:
        """Whether a function may lead to what is reported."""
        leading, where = self.project.leading, info.outlined
        if leading is None or where is None:
            return True
        return leading.leads(self.path, self.lines[where.first - 1 : where.last])

    def report(self, functions: list[FunctionInfo]) -> None:
        """Turn the rules to these functions."""
        self.reported = functions
        looked_at = (info for info in functions if not info.compiled)
        summaries = [info.summary for info in looked_at if info.summary is not None]
        self.sites = [site for known in summaries for site in known.sites]
        self.reads = [
            read
            for known in summaries
            for read in known.reads
            if read.if_handed and (not read.via or read.params.kept)
        ]

    def bounded(self, line: int, text: str, bound: int) -> None:
        """Note that a bound of the analysis was reached, which is not silent."""
        where = f"{self.path}:{line}" if line else self.path
        self.project.bounds.add(f"{where}: {text} (bound: {bound:,})")

    def summary_for(self, info: FunctionInfo) -> Summary:
        """Return the summary of a function that is called here."""
        info.cross_module |= info.module is not self
        return self.project.summaries.of(info)

    def run(self, info: FunctionInfo, given: dict[str, Value] | None = None) -> Summary:
        """Execute a function; for its sites, or silently for what it gives attributes."""
        self.materialise_body(info)
        outer = enclosing_frame(info) or self.frame
        frame = Frame(self, info, parent=outer, speculative=given is not None)
        frame.given = {} if given is None and info.given is None else given
        bind_parameters(frame)
        if info.cached:
            frame.nest.guard(Guard(0, True))
        if type(info.node) is cst.Lambda:
            frame.returns.append(evaluate(frame, info.node.body))
        elif type(info.node) is cst.FunctionDef:
            blocks.suite(frame, info.node.body)
        summary = summary_of(frame)
        if given is None:
            info.noted = frame.given if not frame.differs else None
        result = declared_result(frame, summary.result)
        return summary if result is summary.result else summary._replace(result=result)

    def materialise_body(self, info: FunctionInfo) -> None:
        """Give a function its own tree, if that of the file holds only its name and number."""
        outlined = info.outlined
        if outlined is not None and not info.has_tree:
            info.has_tree = True
            self._note_trees()
            if self.unit is not None and type(info.node) is cst.FunctionDef:
                info.unit = self.unit.of(info.node)
            else:
                info.unit = function_unit(self.lines, outlined.first, outlined.last)
                info.node = info.unit.tree
            scan(info, self.knowledge, self.frameworks)

    def _note_trees(self) -> None:
        """Note that it has trees."""
        self.project.with_trees.setdefault(self)

    def evict_trees(self) -> None:
        """Let go of all trees, which take most of the memory; what is run again grows its own.

        What other files hold of this one stays good: its names, its classes, the summaries that
        they asked for. The rules have looked at its own statements, which are run once.
        """
        self.project.with_trees.pop(self, None)
        self.bare = self.requested_elsewhere()
        kept = {self.body, *self.bare}
        for info in kept:
            if info.summary is not None:
                info.summary = info.summary.without_trees()
        for info in (self.body, *self.functions):
            if info not in kept:
                info.summary = None
            if info is self.body or info.outlined is not None:
                info.has_tree, info.unit, info.node = False, None, NO_TREE
        self.functions = [info for info in self.functions if info.outlined is not None]
        self.frame.release()
        self.by_node.clear()
        self.report([])
        self.unit = None
        self.outlined.clear()
        vars(self).pop("lines", None)

    def requested_elsewhere(self) -> list[FunctionInfo]:
        """Return the functions that other files called, and what these call in this file."""
        found = [info for info in self.functions if info.cross_module and info.summary is not None]
        seen = set(found)
        for info in found:
            for edge in info.final.edges:
                callee = edge.callee
                if callee.module is self and callee not in seen and callee.summary is not None:
                    seen.add(callee)
                    found.append(callee)
        return found

    def infos(self) -> Iterator[FunctionInfo]:
        """Yield the module's body and every function that was run."""
        yield self.body
        yield from self.functions

    def attribute(self, cls: ClassInfo, name: str) -> Value | None:
        """Return what an attribute of a class's instances is, by all that its methods assign."""
        return self.attributes.of(cls, name)

    def entered(self, info: FunctionInfo) -> Loop:
        """Return how often one of its functions is entered."""
        return entered(info, self, self.outline)

    def is_abstract(self, info: FunctionInfo) -> bool:
        """Whether a method only raises or does nothing: some subclass says what."""
        if info.is_abstract is None:
            info.is_abstract = is_abstract(info)
        return info.is_abstract


def analysis_of(info: FunctionInfo) -> FileAnalysis:
    """Return the interpretation of the file that defines a function."""
    assert isinstance(info.module, FileAnalysis)
    return info.module
