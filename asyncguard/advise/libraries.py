"""Advice for waits inside libraries: `rules/libraries.toml` has what settings avoid which.

The catalogue's advice is for who wrote the line that waits. Inside a library that is somebody else:
what a user can do is to set it up differently, to call it less often, or to tell its authors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from asyncguard import catalogue, prepared
from asyncguard.model import AsyncguardError, SiteStats, TraceRecord
from asyncguard.plain import made

_INSTALLED = re.compile(r"(?:.*[\\/])?(?:site|dist)-packages[\\/](?P<inner>(?P<package>[^\\/]+).*)")


@dataclass(frozen=True)
class Wait:
    """Waits in one file or folder, and what a user of the library can do about them."""

    place: str
    advice: str
    apis: tuple[str, ...] = ()  # none: all

    def fits(self, path: str, api: str) -> bool:
        """Whether it speaks of this wait."""
        inside = path == self.place or f"/{path}".endswith(f"/{self.place}")
        return (inside or f"/{self.place}/" in f"/{path}") and (not self.apis or api in self.apis)


def advice(record: TraceRecord) -> dict[tuple[str, str], str]:
    """Return advice for each wait inside a library, by its innermost frame and the API.

    Where no setting is known, waits of the set-up or the end are left alone.
    """
    sites = {(site.library[0], site.api): site for site in record.sites if site.library}
    asked = {
        key: _setting(s) or (_general(s) if _is_repeated(record, s) else "")
        for key, s in sites.items()
    }
    return {key: text for key, text in asked.items() if text}


def of_site(site: SiteStats) -> str:
    """What to do about a wait inside a library, at the first of the site's `library` frames."""
    return _setting(site) or _general(site)


def _is_repeated(record: TraceRecord, site: SiteStats) -> bool:
    """Whether it waits in steps; in a run without steps, every wait counts as such."""
    return bool(site.steady_count) or not record.steady_steps


def _setting(site: SiteStats) -> str:
    """The setting of the library that avoids a wait, if one is known."""
    path = site.library[0].rpartition(" ")[0].rpartition(":")[0].replace("\\", "/")
    return next((wait.advice for wait in _known() if wait.fits(path, site.api)), "")


def _general(site: SiteStats) -> str:
    return (
        f"{package(site)} waits here, not this line: look for a setting that avoids it, "
        "call it less often, or tell its authors."
    )


def short(path: str) -> str:
    """The path of an installed file as its package calls it."""
    found = _INSTALLED.fullmatch(path)
    return found["inner"] if found else path


def package(site: SiteStats) -> str:
    """The name of the library that waits."""
    path = site.library[0].rpartition(" ")[0]
    found = _INSTALLED.fullmatch(path)
    return found["package"].removesuffix(".py") if found else "A library"


@lru_cache(maxsize=1)
def _known() -> tuple[Wait, ...]:
    path = catalogue.rules_directory() / catalogue.LIBRARIES
    try:
        data = prepared.toml(path)
        return tuple(made(Wait, each) for each in data["wait"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AsyncguardError(f"{path}: cannot be read ({error}); reinstall asyncguard") from error
