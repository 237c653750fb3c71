"""Small programs, each analysed once, whatever tests and settings ask for its findings."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard.lint.check import analysed, options, select
from asyncguard.lint.program.facts import FileResult
from asyncguard.lint.run import pool
from asyncguard.lint.run.configuration import Configuration
from asyncguard.lint.run.discover import choose
from asyncguard.lint.run.settings import Settings
from asyncguard.model import Finding

DIRECTORY = Path("checked")  # a relative path: findings name their files
Files = Mapping[str, str]  # texts by their paths


class Programs:
    """Finds what is in programs; settings that differ in what they show share an analysis."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[object, ...], Mapping[str, FileResult]] = {}

    def findings(self, files: Files, settings: Settings) -> list[Finding]:
        """Return the findings in a program as if it lay in `checked`."""
        key = (options(settings), *sorted(files.items()))
        if key not in self._known:
            self._known[key] = self._analysed(files, settings)
        return select(self._known[key], settings)

    def in_source(self, source: str, settings: Settings, name: str = "a.py") -> list[Finding]:
        """Return those in a program of one file."""
        return self.findings({name: source}, settings)

    def _analysed(self, files: Files, settings: Settings) -> Mapping[str, FileResult]:
        settings = replace(settings, cache=False, jobs=1)
        with pytest.MonkeyPatch.context() as patch, pool.collecting_seldom():
            patch.chdir(self._folder)
            shutil.rmtree(DIRECTORY, ignore_errors=True)
            for name, text in files.items():
                path = DIRECTORY / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            chosen = choose([DIRECTORY], Configuration.fixed(settings))
            return analysed([*chosen.files], settings)
