"""Where findings are, as other programs name it: paths from the root, URIs, fingerprints."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from urllib.parse import quote

from asyncguard.gate.baseline import finding_key, portable
from asyncguard.model import Finding

__all__ = ["fingerprints", "portable", "uri"]


def uri(path: str) -> tuple[str, bool]:
    """Return a path as a URI, and whether that is relative to the working directory."""
    name = portable(path)
    relative = not os.path.isabs(name) and not name.startswith("../")
    text = name if relative else Path(os.path.abspath(path)).as_posix()
    quoted = quote(text.encode("utf-8", "surrogateescape"), safe="/~+@=$&'()*!,;-._")
    if relative:
        return quoted, True
    return f"file://{'' if quoted.startswith('/') else '/'}{quoted}", False


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """Return what each finding is recognised by, however its lines move.

    It is made of the file, function, rule, API and the text of the line, and the findings that have
    all of these in common are counted.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    made = []
    for finding in findings:
        key = astuple(finding_key(finding))
        text = "\0".join((*key, str(seen[key])))
        seen[key] += 1
        data = text.encode("utf-8", "surrogatepass")
        made.append(hashlib.blake2b(data, digest_size=16).hexdigest())
    return made
