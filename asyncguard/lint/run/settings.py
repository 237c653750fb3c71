"""What is checked and what is reported: `[tool.asyncguard]`, changed by the command line.

`load_settings` reads the nearest `asyncguard.toml` or `pyproject.toml` that has the table, upward
from a directory. Everything after it sees one frozen `Settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli

from asyncguard.model import AsyncguardError, Confidence, Device, Finding, Loop

ALL = "ALL"
CACHE_DIRECTORY = ".asyncguard_cache"
_SELECTOR = re.compile(r"ASG\d{0,3}|ALL")
DEFAULT_EXCLUDE = (
    "node_modules",
    "__pycache__",
    "__pypackages__",
    "site-packages",
    "build",
    "dist",
)


@dataclass(frozen=True)
class Settings:
    """The rules, files and contexts of one run.

    `select` empty means the default rules. Selecting "ALL" is an audit: every rule, and findings
    of every loop context and confidence, guarded ones too.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contexts: tuple[Loop, ...] = (Loop.STEP,)
    guarded: bool = False  # report guarded sites as well
    min_confidence: Confidence = Confidence.MEDIUM
    assume_device: Device = Device.WRITTEN
    jobs: int | None = None  # processes; None: one a core
    cache: bool = True
    cache_dir: Path = Path(CACHE_DIRECTORY)
    root: Path = field(default_factory=Path.cwd)  # what patterns and cache_dir are relative to

    @property
    def audit(self) -> bool:
        """Whether everything is asked for, however cold or doubtful."""
        return ALL in self.select or ALL in self.extend_select

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is hot and likely enough to be reported (its rule aside)."""
        if self.audit or finding.code in ANYWHERE:
            return True
        return (
            finding.loop in self.contexts
            and (self.guarded or not finding.guarded)
            and _RANK[finding.confidence] >= _RANK[self.min_confidence]
        )


# What is wrong wherever it stands: hotness is not what these rules are about.
ANYWHERE = frozenset({"ASG000", "ASG402", "ASG901"})
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
        matching = {code for code in codes if selector == ALL or code.startswith(selector)}
        if not matching or not _SELECTOR.fullmatch(selector):
            raise AsyncguardError(f"unknown rule {selector!r}: `asyncguard rules` lists them")
        chosen = chosen | matching if on else chosen - matching
    return frozenset(chosen)


def load_settings(start: Path) -> Settings:
    """Read the nearest configuration at or above `start`; the defaults where there is none.

    Raises AsyncguardError naming the file, the key and what it must be.
    """
    directory = start.resolve()
    for folder in (directory, *directory.parents):
        for name in ("asyncguard.toml", "pyproject.toml"):
            table = _table(folder / name)
            if table is not None:
                return _read(table, folder / name)
    return Settings(root=directory)


def override(settings: Settings, **values: Any) -> Settings:
    """Replace what the command line gave (None: not given); `extend_select` adds."""
    given = {name: value for name, value in values.items() if value is not None}
    if "extend_select" in given:
        given["extend_select"] = (*settings.extend_select, *given["extend_select"])
    return replace(settings, **given)


def _table(path: Path) -> dict[str, Any] | None:
    """The configuration in one file; None if the file has none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise AsyncguardError(f"{path}: cannot be read: {error}") from error
    if path.name == "pyproject.toml" and "asyncguard" not in text:
        return None
    try:
        data: dict[str, Any] = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise AsyncguardError(f"{path}: not valid TOML: {error}") from error
    if path.name == "asyncguard.toml":
        return data
    table: dict[str, Any] | None = data.get("tool", {}).get("asyncguard")
    return table


def _read(table: dict[str, Any], path: Path) -> Settings:
    values: dict[str, Any] = {"root": path.parent}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            known = ", ".join(_READERS)
            raise AsyncguardError(f"{path}: unknown key {key!r}; asyncguard knows {known}")
        try:
            values[key.replace("-", "_")] = reader(value)
        except (TypeError, ValueError) as error:
            raise AsyncguardError(f"{path}: {key}: {error}") from error
    return Settings(**values)


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("must be a list of strings")
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    codes = tuple(code.upper() for code in _strings(value))
    for code in codes:
        if not _SELECTOR.fullmatch(code):
            raise ValueError(f"{code!r} is no rule code; `asyncguard rules` lists them")
    return codes


def _codes_by_pattern(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise TypeError('must be a table such as { "tests/*" = ["ASG102"] }')
    return {pattern: _codes(codes) for pattern, codes in value.items()}


def _contexts(value: Any) -> tuple[Loop, ...]:
    return tuple(_one_of(Loop, item) for item in _strings(value))


def _confidence(value: Any) -> Confidence:
    confidence: Confidence = _one_of(Confidence, value)
    return confidence


def _device(value: Any) -> Device:
    device: Device = _one_of(Device, value)
    return device


def _one_of(kind: Any, value: Any) -> Any:
    words = [member.value for member in kind]
    if value not in words:
        raise ValueError(f"must be one of {', '.join(words)}, not {value!r}")
    return kind(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _jobs(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError("must be a number of processes, at least 1")
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str):
        raise TypeError("must be a path")
    return Path(value)


_READERS = {
    "select": _codes,
    "extend-select": _codes,
    "ignore": _codes,
    "exclude": _strings,
    "per-file-ignores": _codes_by_pattern,
    "contexts": _contexts,
    "guarded": _bool,
    "min-confidence": _confidence,
    "assume-device": _device,
    "jobs": _jobs,
    "cache": _bool,
    "cache-dir": _path,
}
