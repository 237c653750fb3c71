"""One file, from bytes to `FileFacts`: the work of a worker process.

Reads, screens, parses, interprets, runs the checks and finds the places of what they report.
Whatever goes wrong in here becomes an ASG000 finding of this file alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import libcst as cst

from asyncguard.lint.domain.definitions import FunctionInfo
from asyncguard.lint.domain.regions import Region
from asyncguard.lint.domain.work import Work
from asyncguard.lint.modules.analysis import FileAnalysis, analysis_of
from asyncguard.lint.modules.fallbacks import is_fallback
from asyncguard.lint.modules.hooks import entered_by, tells_by_names
from asyncguard.lint.modules.mentions import mentions
from asyncguard.lint.modules.project import Project
from asyncguard.lint.modules.switches import switches
from asyncguard.lint.program.definitions import is_distinctive
from asyncguard.lint.program.facts import (
    Call,
    Decorated,
    Defined,
    FileFacts,
    FunctionId,
    Hook,
    NamedCall,
    Passed,
    unreadable,
)
from asyncguard.lint.report.candidates import candidates
from asyncguard.lint.report.plain import of_plain
from asyncguard.lint.source.decode import SourceError, decode
from asyncguard.lint.source.notebook import read_notebook
from asyncguard.lint.source.suppress import suppressions
from asyncguard.lint.syntax.unit import TooDeepError, keep_ahead, read
from asyncguard.model import Loop


def of_source(data: bytes, path: str, project: Project) -> FileFacts:
    """Check one file's bytes; never raises for what the file holds."""
    try:
        if path.endswith(".ipynb"):
            return _of_notebook(data, path, project)
        return _of_text(decode(data), path, project)
    except SourceError as error:
        return unreadable(path, error.reason, error.line, error.column)
    except (RecursionError, TooDeepError, MemoryError):
        return unreadable(path, "nested too deeply to be analysed")
    except Exception as error:  # noqa: BLE001 - a fault of ours must not hide other files
        return unreadable(path, f"could not be analysed: {type(error).__name__}: {error}")


def is_python(data: bytes, path: str) -> bool:
    """Whether a file's bytes can be read and parsed; whether they can be analysed is not asked."""
    try:
        notebook = read_notebook(data) if path.endswith(".ipynb") else None
        read(notebook.source if notebook else "" if path.endswith(".ipynb") else decode(data))
    except (SourceError, TooDeepError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _of_notebook(data: bytes, path: str, project: Project) -> FileFacts:
    try:
        notebook = read_notebook(data)
    except ValueError as error:
        return unreadable(path, str(error))
    if notebook is None:
        return FileFacts(path)
    try:
        facts = _of_text(notebook.source, path, project)
    except SourceError as error:
        facts = unreadable(path, error.reason, error.line, error.column)
    return facts._replace(notebook=notebook)


def _of_text(text: str, path: str, project: Project) -> FileFacts:
    comments = suppressions(text, project.allowed)
    frameworks = project.screen.frameworks(path, text)
    if not frameworks:
        unit = project.unit(path, text)
        known = project.classes(path, unit)
        return of_plain(path, comments, known, switches(unit.tree), mentions(unit.tree))
    if source := project.source_of(path, text):
        return FileFacts(path, source=source)
    _make_room(project)
    analysis = project.file(path)
    if analysis is None:
        unit = project.unit(path, text)
        keep_ahead(text, unit.tree)  # advice and repairs come next
        analysis = project.add(path, text, unit, frameworks)
    if analysis.outline.unbound is not None and project.is_packaged(path):
        name, line = analysis.outline.unbound
        reason = f"nothing binds `{name}`, so that importing it raises NameError"
        return FileFacts(path, skipped=f"{path}:{line}: not checked: {reason}")
    facts = _facts(analysis)
    for info in _reached(analysis):
        facts = facts.with_guest(_apart(info))
    bounds = tuple(sorted(project.bounds))
    project.bounds.clear()
    return facts._replace(
        suppressions=comments, bounds=bounds, options=analysis.options, mentions=analysis.mentions
    )


def _facts(analysis: FileAnalysis) -> FileFacts:
    """Return what a file's own functions tell, all of them run."""
    if analysis.facts is None:
        analysis.run_all()
        known = [info for info in analysis.infos() if info.summary is not None]
        apart = analysis.facts_by_function
        told = _tell(analysis, [info for info in known if info not in apart])
        for info in apart:
            told = told.with_guest(_apart(info))
        analysis.facts = told._replace(
            defined=tuple(_defined(info) for info in known if info.name and not _runs(info)),
            bases={name: own.bases for name, own in analysis.outline.classes.items() if own.bases},
        )
    return cast(FileFacts, analysis.facts)


def _runs(info: FunctionInfo) -> bool:
    """Whether the call of an object loops over steps: by its name it is no part of one.

    Or the call that it overrides does.
    """
    if info.name != "__call__":
        return False
    inherited = (edge.callee for edge in info.final.edges if edge.callee.name == info.name)
    return any(
        known.summary is not None and known.summary.work & Work.CONTAINS_STEPS
        for known in (info, *inherited)
    )


def _defined(info: FunctionInfo) -> Defined:
    return Defined(info.name, info.qualname, info.signature)


def _reached(analysis: FileAnalysis) -> Iterator[FunctionInfo]:
    """Yield the functions that the file leads to in files of no framework, which tell nothing."""
    seen: set[int] = set()
    pending = [info for info in analysis.infos() if info.summary is not None]
    while pending:
        info = pending.pop()
        for edge in info.final.edges:
            callee = edge.callee
            if id(callee) not in seen and callee.module.is_guest and callee.summary is not None:
                seen.add(id(callee))
                pending.append(callee)
                if callee.module is not analysis:
                    yield callee


def _make_room(project: Project) -> None:
    """Let go of trees that seem done with; the rules first look at what is to be reported.

    That is all of a file that is to be checked, and what others asked for of one of no framework.
    A file that another process checks may come after all: its own statements are run once.
    """
    for analysis in project.over_budget():
        if analysis.is_guest:
            for info in (analysis.body, *analysis.requested_elsewhere()):
                _apart(info)
        elif project.is_wanted(analysis.path, analysis.text):
            _facts(analysis)
        elif analysis.facts is None:
            _apart(analysis.body)
        analysis.evict_trees()


def _apart(info: FunctionInfo) -> FileFacts:
    """Return the facts of one function, found once."""
    analysis = analysis_of(info)
    if info not in analysis.facts_by_function:
        analysis.facts_by_function[info] = _tell(analysis, [info])
    return cast(FileFacts, analysis.facts_by_function[info])


def _tell(analysis: FileAnalysis, functions: list[FunctionInfo]) -> FileFacts:
    """Return what functions of one file tell."""
    analysis.report(functions)
    return FileFacts(
        analysis.path,
        tuple(candidates(analysis)),
        tuple(_calls(analysis)),
        tuple(_hooks(analysis)),
        named=tuple(_named(analysis)),
        rounds=_with(Work.CONTAINS_TRAINING, analysis),
        runs=_with(Work.CONTAINS_RUNS, analysis),
        draws=frozenset(_draws(analysis)),
        compiled=_compiled(analysis),
        regions=frozenset(_regions(analysis)),
        decorated=frozenset(_decorated(analysis)),
        passed=frozenset(_passed(analysis)),
        fallbacks=frozenset(_fallbacks(analysis)),
    )


def _calls(analysis: FileAnalysis) -> Iterator[Call]:
    seen: set[Call] = set()  # each is told once, with its first line
    for info in analysis.reported:
        if info.compiled or info.summary is None:
            continue
        for edge in info.summary.edges:
            callee = edge.callee
            call = Call(
                analysis.path,
                info.qualname,
                callee.module.path,
                callee.qualname,
                edge.context,
                edge.handed,
                when=edge.when,
                handed_on=edge.handed_on,
                gives=edge.gives,
            )
            if call not in seen:
                seen.add(call)
                yield call._replace(line=edge.line, hot=edge.hot, conditions=edge.conditions)


def _named(analysis: FileAnalysis) -> Iterator[NamedCall]:
    for info in analysis.reported:
        if not info.compiled and info.summary is not None:
            for (name, context, handed), line in info.summary.named:
                if is_distinctive(name):
                    yield NamedCall(analysis.path, info.qualname, name, context, handed, line)


def _hooks(analysis: FileAnalysis) -> Iterator[Hook]:
    for info in analysis.reported:
        often = analysis.entered(info)
        if often != Loop.NONE:
            why, named = _why_entered(info, often), tells_by_names(info, often)
            by = entered_by(info, often, analysis, analysis.outline)
            yield Hook(analysis.path, info.qualname, often, why, named, by)


def _why_entered(info: FunctionInfo, often: Loop) -> str:
    """Say why a function is entered so often."""
    if often == info.hook:
        once = "step" if info.hook == Loop.STEP else "epoch"
        return f"a framework enters functions like `{info.name}` once a {once}"
    if often == Loop.EPOCH:
        return f"`{info.name}` loops over training steps"
    work = info.final.work
    acts = work & Work.STEPS_ENVIRONMENT and not work & Work.TRAINS
    if tells_by_names(info, often):
        return f"`{info.name}` is part of one step, by its name or what it takes"
    return f"`{info.name}` {'steps an environment' if acts else 'runs a training step'}"


def _with(work: Work, analysis: FileAnalysis) -> frozenset[FunctionId]:
    """Return the functions that have such loops, and are no step themselves."""
    return frozenset(
        (analysis.path, info.qualname)
        for info in analysis.reported
        if info.summary is not None
        and info.summary.work & work
        and analysis.entered(info) != Loop.STEP
    )


def _draws(analysis: FileAnalysis) -> Iterator[FunctionId]:
    """Yield the functions that draw a figure whenever they are called."""
    known = (info for info in analysis.reported if info.summary is not None)
    return ((analysis.path, i.qualname) for i in known if i.final.work & Work.DRAWS)


def _decorated(analysis: FileAnalysis) -> Iterator[Decorated]:
    for info in analysis.reported:
        for decorator in info.decorators:
            key = decorator.module.path, decorator.qualname
            yield Decorated((analysis.path, info.qualname), key, info.place[2])


def _passed(analysis: FileAnalysis) -> Iterator[Passed]:
    for info in analysis.reported:
        caller = analysis.path, info.qualname
        for name, given, context, line in info.summary.passed if info.summary is not None else ():
            if isinstance(given, str):
                yield Passed(name, caller, caller, context, line, given)
            else:
                function = given.module.path, given.qualname
                yield Passed(name, function, caller, context, line)


def _fallbacks(analysis: FileAnalysis) -> Iterator[FunctionId]:
    return ((analysis.path, info.qualname) for info in analysis.reported if is_fallback(info))


def _regions(analysis: FileAnalysis) -> Iterator[tuple[FunctionId, Region]]:
    """Yield the functions that become part of a graph, or are kept out of one, and how."""
    for info in analysis.reported:
        handed = info.summary.enters if info.summary is not None else ()
        for function, region in (*((info, region) for region in info.regions), *handed):
            yield (function.module.path, function.qualname), region


def _compiled(analysis: FileAnalysis) -> frozenset[FunctionId]:
    """Return the functions that are compiled, or handed to a compiler: nothing in them waits."""
    own = (info for info in analysis.reported if info.compiled)
    others = (
        info for known in analysis.reported if known.summary for info in known.summary.compiles
    )
    named = (info for info in (*own, *others) if type(info.node) is not cst.Lambda)
    return frozenset((info.module.path, info.qualname) for info in named)
