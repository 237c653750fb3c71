"""Profiles: the peaks of real devices, from which durations are modelled; data with sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

import tomli

from asyncguard.model import AsyncguardError

SUFFIX = ".toml"
_WHOLE = frozenset({"memory_bytes", "multi_processor_count", "l2_cache_bytes"})


@dataclass(frozen=True)
class Profile:
    """One kind of device. Peaks are what the data sheet says; `efficiency` is what is reached.

    `flops` gives peak FLOP/s by dtype ("float32", "float16", ...), dense; `other` is for the rest.
    Bandwidths are in bytes/s, times in nanoseconds.
    """

    name: str
    device_name: str
    capability: tuple[int, int]
    multi_processor_count: int
    memory_bytes: int
    l2_cache_bytes: int
    memory_bandwidth: float
    flops: Mapping[str, float]
    pinned_bandwidth: float
    pageable_bandwidth: float
    link_bandwidth: float  # to another device
    flops_efficiency: float = 0.6
    bandwidth_efficiency: float = 0.8
    kernel_floor_ns: int = 2_000  # no kernel takes less
    launch_latency_ns: int = 5_000  # from the enqueue to the start on an idle device
    copy_latency_ns: int = 8_000
    operator_host_ns: int = 10_000  # Python, dispatch and launch of one operator
    view_host_ns: int = 2_000  # Python and dispatch of one that launches nothing
    wait_return_ns: int = 3_000  # from the end of the work to the host's going on
    sources: tuple[str, ...] = field(default=())


def load(profile: str | Path | Profile) -> Profile:
    """The profile of this name, or of this TOML file; one that is loaded, as it is.

    Raises AsyncguardError where there is none, or where the file is not one.
    """
    if isinstance(profile, Profile):
        return profile
    text = str(profile)
    path = Path(text)
    if text.endswith(SUFFIX):
        try:
            return _parse(path.read_text(encoding="utf-8"), text)
        except OSError as error:
            raise AsyncguardError(f"{text}: cannot read the profile: {error.strerror}") from error
    here = resources.files(__package__) / "profiles"
    known = sorted(item.name.removesuffix(SUFFIX) for item in here.iterdir())
    if text not in known:
        raise AsyncguardError(
            f"unknown profile {text!r}; one of {', '.join(known)}, or a TOML file of your own"
        )
    return _parse((here / f"{text}{SUFFIX}").read_text(encoding="utf-8"), f"{text}{SUFFIX}")


def _parse(text: str, where: str) -> Profile:
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise AsyncguardError(f"{where}: not TOML: {error}") from error
    names = {each.name for each in fields(Profile)}
    if unknown := sorted(set(data) - names):
        raise AsyncguardError(f"{where}: unknown key {unknown[0]!r}; one of {', '.join(names)}")
    try:
        return Profile(**{name: _value(name, value) for name, value in data.items()})
    except (TypeError, ValueError) as error:
        raise AsyncguardError(f"{where}: not a profile: {error}") from error


def _value(name: str, value: Any) -> Any:
    """Check a value: figures are positive numbers."""
    if name == "capability":
        major, minor = value
        return int(major), int(minor)
    if name == "sources":
        return tuple(value)
    if isinstance(value, dict):
        return {dtype: _number(f"{name}.{dtype}", peak) for dtype, peak in value.items()}
    if isinstance(value, str):
        return value
    number = _number(name, value)
    return int(number) if name in _WHOLE or name.endswith("_ns") else number


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"{name} must be a number from 0 up, not {value!r}")
    return float(value)
