"""Which settings hold for which file: those of the configuration file nearest to it.

A monorepo may have several. Each is read once, and the command line changes each in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from asyncguard.lint.run.settings import NAMES, Settings, read_settings, settings_in

Change = Callable[[Settings], Settings]


class Configuration:
    """The settings by folder: nearest configuration file first, then the command line's changes.

    Where there is no configuration file, the defaults hold, relative to the working directory.
    """

    def __init__(self, change: Change = lambda settings: settings) -> None:
        self._change = change
        self._by_folder: dict[Path, Settings] = {}
        self._everywhere: Settings | None = None

    @classmethod
    def fixed(cls, settings: Settings) -> Configuration:
        """Return the configuration that is the same everywhere."""
        configuration = cls()
        configuration._everywhere = settings
        return configuration

    @classmethod
    def from_file(cls, path: Path, change: Change) -> Configuration:
        """Read one file for all, relative to the working directory; raises AsyncguardError."""
        return cls.fixed(change(read_settings(path, Path.cwd())))

    def of(self, folder: Path) -> Settings:
        """Return the settings for the files of a folder; raises AsyncguardError."""
        if self._everywhere is not None:
            return self._everywhere
        folder = Path(os.path.abspath(folder))
        missing: list[Path] = []
        found: Settings | None = None
        for above in (folder, *folder.parents):
            found = self._by_folder.get(above)
            if found is None and (read := settings_in(above)) is not None:
                found = self._change(read)
                missing.append(above)
            if found is not None:
                break
            missing.append(above)
        if found is None:
            found = self._change(Settings())
        self._by_folder.update((above, found) for above in missing)
        return found

    def below(self, settings: Settings, folder: Path, names: Iterable[str]) -> Settings:
        """Return the settings for a folder within one that has `settings`, by the names in it."""
        return self.of(folder) if not set(NAMES).isdisjoint(names) else settings
