"""What is checked and what is reported: `[tool.asyncguard]`, changed by the command line.

`load_settings` reads the nearest `asyncguard.toml` or `pyproject.toml` that has the table, upward
from a directory; `read_settings` reads the file that is named. Everything after them sees frozen
`Settings`.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asyncguard import additions, files
from asyncguard.additions import Addition
from asyncguard.catalogue import load
from asyncguard.lint import names, selectors
from asyncguard.lint.labels import IN_GRAPHS
from asyncguard.lint.selectors import ALL, did_you_mean
from asyncguard.model import AsyncguardError, Confidence, Device, Finding, Loop

CACHE_DIRECTORY = ".asyncguard_cache"
NAMES = ("asyncguard.toml", "pyproject.toml")  # of configuration files; the first wins
MOST = 1 << 22  # bytes of such a file
MOST_JOBS = 1024  # a configuration may be a stranger's
DEFAULT_EXCLUDE = (
    "node_modules",
    "__pycache__",
    "__pypackages__",
    "site-packages",
    "build",
    "dist",
)


class Tests(enum.Enum):
    """What a check reports of files of unit tests, where no program runs its steps."""

    SKIP = "skip"
    CHECK = "check"


@dataclass(frozen=True)
class Settings:
    """The rules, files and contexts of one run.

    `select` empty means the default rules. Selecting "ALL" is an audit: every rule, and findings
    of every loop context and confidence, guarded ones too.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False  # leave out excluded files that are named on the command line too
    respect_gitignore: bool = True
    context: bool = True  # read the rest of the project where files are checked alone
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contexts: tuple[Loop, ...] = (Loop.STEP,)
    guarded: bool = False  # report guarded sites as well
    min_confidence: Confidence = Confidence.MEDIUM
    min_probability: float | None = None  # in place of it: that a place waits, 0 to 1
    tests: Tests = Tests.SKIP  # what is reported of unit tests
    assume_device: Device = Device.WRITTEN
    baseline: Path | None = None  # the file of accepted findings
    catalogue: tuple[Addition, ...] = ()  # a team's own helpers, loaders, steps and names
    host_names: tuple[str, ...] = ()  # of values that are in host memory, whatever makes them
    device_names: tuple[str, ...] = ()  # of values that are on the device
    step_functions: tuple[str, ...] = ()  # that run once in every step, whoever calls them
    allow_contexts: tuple[str, ...] = ()  # of a team's own, in which waits are meant
    allow_comments: tuple[str, ...] = ()  # by which a team says so of a line
    jobs: int | None = None  # processes; None: as many as are fastest
    cache: bool = True
    cache_dir: Path = Path(CACHE_DIRECTORY)
    root: Path = field(default_factory=Path.cwd)  # what patterns and cache_dir are relative to
    source: Path | None = None  # the file that they were read from; None: they are the defaults

    @property
    def listed(self) -> names.Listed:
        """The names that it gives to families of names."""
        each = (
            ("value.host", self.host_names),
            ("value.device", self.device_names),
            ("function.of_engine", self.step_functions),
        )
        return tuple((id, listed) for id, listed in each if listed)

    @property
    def more_names(self) -> names.More:
        """What it adds to families of names, by a team's own catalogue and by lists."""
        return names.own(self.catalogue, self.listed)

    @property
    def audit(self) -> bool:
        """Whether everything is asked for, however cold or doubtful."""
        return ALL in self.select or ALL in self.extend_select

    @property
    def skips_tests(self) -> bool:
        """Whether findings in files of unit tests are left out."""
        return self.tests is Tests.SKIP and not self.audit

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is hot and likely enough to be reported (its rule aside)."""
        if self.audit or finding.code in ANYWHERE:
            return True
        in_graph = finding.code in IN_GRAPHS
        if finding.api in load().inherent and not in_graph:
            return False
        if self.min_probability is not None:
            likely = finding.probability >= self.min_probability
        else:
            likely = _RANK[finding.confidence] >= _RANK[self.min_confidence]
        often = in_graph or finding.loop in self.contexts
        return likely and often and (self.guarded or not finding.guarded)


# What is wrong wherever it stands: hotness is not what these rules are about.
ANYWHERE = frozenset({"ASG000", "ASG402", "ASG404", "ASG405", "ASG901"})
_RANK = {Confidence.LOW: 0, Confidence.MEDIUM: 1, Confidence.HIGH: 2}


def chosen_rules(
    settings: Settings, known: Iterable[str], default: Iterable[str]
) -> frozenset[str]:
    """The codes that run; raises AsyncguardError for a selector that names no rule.

    `known` are all codes, `default` those that run when nothing is selected. The longer selector
    wins, so `ignore = ["ASG1"]` with `extend-select = ["ASG102"]` keeps ASG102.
    """
    codes = tuple(known)
    chosen = set(default) if not settings.select else set()
    steps = [(selector, True) for selector in (*settings.select, *settings.extend_select)]
    steps += [(selector, False) for selector in settings.ignore]
    for selector, on in sorted(steps, key=lambda step: 0 if step[0] == ALL else len(step[0])):
        matching = {code for code in codes if selectors.matches(selector, code)}
        if not matching or not selector:
            raise AsyncguardError(f"unknown rule {selector!r}: `asyncguard rules` lists them")
        chosen = chosen | matching if on else chosen - matching
    return frozenset(chosen)


def load_settings(start: Path) -> Settings:
    """Read the nearest configuration at or above `start`; the defaults where there is none.

    Raises AsyncguardError naming the file, the key and what it must be.
    """
    directory = Path(os.path.abspath(start))
    for folder in (directory, *directory.parents):
        if (found := settings_in(folder)) is not None:
            return found
    return Settings(root=directory)


def settings_in(folder: Path) -> Settings | None:
    """Read the configuration in one folder; None if there is none. Raises AsyncguardError."""
    for name in NAMES:
        try:
            table = _table(folder / name)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except OSError as error:
            raise _unreadable(folder / name, error) from error
        if table is not None:
            return _read(table, folder / name, folder)
    return None


def read_settings(path: Path, root: Path) -> Settings:
    """Read the configuration file of this path, its patterns relative to `root`.

    Raises AsyncguardError, also where a pyproject.toml lacks the table.
    """
    try:
        table = _table(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if table is None:
        raise AsyncguardError(f"{path}: it has no [tool.asyncguard] table")
    return _read(table, path, root)


def override(settings: Settings, **values: Any) -> Settings:
    """Replace what the command line gave (None: not given); what extends adds."""
    given = {name: value for name, value in values.items() if value is not None}
    for name in given.keys() & {"extend_select", "extend_exclude"}:
        given[name] = (*getattr(settings, name), *given[name])
    return replace(settings, **given)


def _unreadable(path: Path, error: OSError) -> AsyncguardError:
    return AsyncguardError(f"{path}: cannot be read: {error.strerror or error}")


def _table(path: Path) -> dict[str, Any] | None:
    """Return the configuration in one file; None if the file has none. Raises OSError."""
    try:
        text = files.read_text(path, MOST)
        if path.name == "pyproject.toml" and "asyncguard" not in text:
            return None
        import tomli  # most folders have no configuration

        data: dict[str, Any] = tomli.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise AsyncguardError(f"{path}: not valid TOML: {reason}") from error
    if path.name != "pyproject.toml":
        return data
    tool = data.get("tool", {})
    table = tool.get("asyncguard") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise AsyncguardError(f"{path}: tool.asyncguard must be a table, not {table!r:.50}")
    return table


def _read(table: dict[str, Any], path: Path, root: Path) -> Settings:
    values: dict[str, Any] = {"root": root, "source": path}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            known = did_you_mean(key, _READERS) or f"; asyncguard knows {', '.join(_READERS)}"
            raise AsyncguardError(f"{path}: unknown key {key!r}{known}")
        try:
            values[key.replace("-", "_")] = reader(value)
            if key == "catalogue":
                values[key] = _catalogue(values[key], path.parent)
        except (TypeError, ValueError) as error:
            raise AsyncguardError(f"{path}: {key}: {error}") from error
    return Settings(**values)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("must be a list of strings")
    return tuple(value)


def _names(value: Any) -> tuple[str, ...]:
    found = _strings(value)
    if not all(name.strip() for name in found):
        raise ValueError("a text is empty")
    return tuple(name.strip() for name in found)


def _codes(value: Any) -> tuple[str, ...]:
    return tuple(map(selectors.parse, _strings(value)))


def _codes_by_pattern(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise TypeError('must be a table such as { "tests/*" = ["ASG102"] }')
    return {pattern: _codes(codes) for pattern, codes in value.items()}


def _contexts(value: Any) -> tuple[Loop, ...]:
    return tuple(_one_of(Loop, item) for item in _strings(value))


def _confidence(value: Any) -> Confidence:
    confidence: Confidence = _one_of(Confidence, value)
    return confidence


def probability(value: Any) -> float:
    """Return a probability; raises TypeError or ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("must be a number from 0 to 1")
    if not 0 <= value <= 1:
        raise ValueError(f"must be from 0 to 1, not {value}")
    return float(value)


def _tests(value: Any) -> Tests:
    found: Tests = _one_of(Tests, value)
    return found


def _device(value: Any) -> Device:
    device: Device = _one_of(Device, value)
    return device


def _catalogue(paths: tuple[str, ...], folder: Path) -> tuple[Addition, ...]:
    """Read a team's own catalogue: files in the configuration's folder or below."""
    found = tuple(additions.read(folder / _path(path), folder) for path in paths)
    additions.load(found)
    names.own(found)
    return found


def _one_of(kind: Any, value: Any) -> Any:
    words = [member.value for member in kind]
    if value not in words:
        raise ValueError(f"must be one of {', '.join(words)}, not {value!r:.50}")
    return kind(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _jobs(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_JOBS:
        raise TypeError(f"must be a number of processes, 1 to {MOST_JOBS}")
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str):
        raise TypeError("must be a path")
    if "\0" in value:
        raise ValueError("a path cannot hold a null character")
    return Path(value)


_READERS = {
    "select": _codes,
    "extend-select": _codes,
    "ignore": _codes,
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _bool,
    "respect-gitignore": _bool,
    "context": _bool,
    "per-file-ignores": _codes_by_pattern,
    "contexts": _contexts,
    "guarded": _bool,
    "min-confidence": _confidence,
    "min-probability": probability,
    "tests": _tests,
    "assume-device": _device,
    "baseline": _path,
    "catalogue": _strings,
    "host-names": _names,
    "device-names": _names,
    "step-functions": _names,
    "allow-contexts": _names,
    "allow-comments": _names,
    "jobs": _jobs,
    "cache": _bool,
    "cache-dir": _path,
}

# What each key means, for the documentation.
DOCUMENTED = {
    "select": "Run only these rules: codes, starts of codes (`ASG1`), names, or `ALL`. With `ALL`, "
    "findings outside of steps, guarded ones and those of low confidence are shown too. Empty: the "
    "default rules.",
    "extend-select": "Run these rules as well.",
    "ignore": 'Do not run these rules. The longer selector wins: `ignore = ["ASG1"]` with '
    '`extend-select = ["ASG102"]` keeps ASG102.',
    "exclude": "Leave out files and folders by these patterns, in place of the default ones.",
    "extend-exclude": "Leave out these as well.",
    "force-exclude": "Leave out excluded files even where they are named on the command line, as "
    "pre-commit names them.",
    "respect-gitignore": "Leave out what git ignores.",
    "per-file-ignores": 'Rules that do not run for some files: `{ "tests/*" = ["ALL"] }`.',
    "contexts": "How often a place must run to be reported: `step`, `epoch`, `none` (anywhere).",
    "guarded": "Report places behind a periodic or rare condition, such as `if step % 100 == 0`.",
    "min-confidence": "Report what is believed at least so much: `low`, `medium` or `high`.",
    "min-probability": "In place of `min-confidence`: report what waits with at least this "
    "probability, 0 to 1. Each finding states its own; the default is medium confidence, from "
    "where precision and recall are in balance in programs that the weights were not fitted on.",
    "tests": "What to report of files of unit tests: `skip` (nothing; the summary says how many "
    "findings there are) or `check`.",
    "assume-device": "Where values are: `as-written` (models on an accelerator, tensors where "
    "their factories say), `accelerator` (tensors made without a device too), `cpu` (nothing of "
    "PyTorch, Chainer and CuPy waits).",
    "baseline": "The file of accepted findings, which every check, hook and editor leaves out. "
    "`asyncguard gate --update` writes it. See [Baselines](baseline.md).",
    "catalogue": "Files in this folder or below that say what your own library does: helpers that "
    "block, loaders, steps, names. See [Your own rules](../guides/own-rules.md).",
    "host-names": "Variables, parameters and attributes that hold values in host memory, by their "
    'whole names: `["seq_lens", "block_table"]`. Names such as `x_cpu` and `host_table` are known.',
    "device-names": "Those that hold values on the device, likewise.",
    "step-functions": "Functions and methods of your own that run in every step, whoever calls "
    'them: `["decode", "build_metadata"]`.',
    "allow-contexts": "Contexts and decorators of your own that say that a wait is meant, by the "
    'last part of their names: `["gpu_sync_allowed"]`. `asyncguard.allow_syncs` always does.',
    "allow-comments": 'Comments that say so of their line: `["gpu-sync-ok"]`.',
    "context": "Where single files are checked, read the rest of their project as well, which may "
    "decide how often they run.",
    "jobs": "How many processes check; else as many as save time, one a core at most.",
    "cache": "Keep what was learned of files that do not change.",
    "cache-dir": "Where: a folder, in which asyncguard makes `.asyncguard_cache`.",
}
