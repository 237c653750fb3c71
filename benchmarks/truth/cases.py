"""One case of a driver: run on the CPU and on the simulated device, and held against each other."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

import asyncguard
from benchmarks.truth.collector import Collector

Run = Callable[[str], Any]  # a device's name -> results
Ran = Mapping[str, Iterable[tuple[int, int]]]  # path -> lines, and how often each ran
FOLDERS = (f"{os.sep}site-packages{os.sep}", os.path.join(sysconfig.get_path("stdlib"), ""),
           os.path.join(str(Path(__file__).resolve().parents[2]), ""))  # fmt: skip
MOST = 1_000  # results of a case that are compared
SEED = 20_261_128


class OutOfTime(BaseException):
    """A case takes longer than it may."""


def examine(
    run: Run, collector: Collector, seconds: int, *, needs_cpu: bool, simulated: bool = True
) -> dict[str, Any]:
    """Run a case on both devices; return how it ended, and what the collector saw.

    `outcome` is "same", "differs", "random" (the CPU differs from itself), "branches" (the package
    or torch computes nearly the same in other lines on a device), "stopped" (the device alone
    raised), "late" (out of time), or "unfit" (it does not run on the CPU either). Without
    `needs_cpu` a case that does not is run on the device all the same: "alone" where that works.
    An asynchronous backend for the CPU needs no simulation: the CPU is the device.
    """
    host = _attempt(run, "cpu", seconds)
    if host.error and needs_cpu:
        return {"outcome": "unfit", "reason": host.error}
    present = asyncguard.simulate_cuda if simulated else contextlib.nullcontext
    name = "cuda" if simulated else "cpu"
    with present(), collector:
        device = _attempt(run, name, seconds)
        found = collector.seen()
    if device.is_late:
        return {"outcome": "late", "reason": device.error, **found}
    if device.error:
        outcome = "unfit" if host.error else "stopped"
        return {"outcome": outcome, "reason": device.error, **found}
    if host.error:
        return {"outcome": "alone", "reason": host.error, **found}
    outcome = "same"
    if host.values != device.values:
        with collector.all_lines as lines:
            again = _attempt(run, "cpu", seconds)
            on_host = lines.seen()
        outcome = "random" if again.values != host.values else "differs"
        if outcome == "differs" and all(map(_is_near, host.values, device.values)):
            with present(), collector.all_lines as lines:
                _attempt(run, name, seconds)
                outcome = "branches" if _branches(lines.seen(), on_host) else "differs"
    return {"outcome": outcome, "reason": "", **found}


def _branches(device: Ran, host: Ran) -> bool:
    """Whether lines ran on the device that do not run on the host."""
    return any(
        {line for line, _ in ran}.difference(line for line, _ in host.get(path, ()))
        for path, ran in device.items()
    )


def _is_near(one: Any, other: Any) -> bool:
    """Whether two results are the same but for rounding; pixels may be a step apart."""
    if one == other or not isinstance(one, tuple) or one[:2] != other[:2]:
        return bool(one == other)
    dtype = getattr(torch, one[0].removeprefix("torch."), None)
    if dtype is None or not (dtype.is_floating_point or dtype is torch.uint8):
        return False
    step = 1 if dtype is torch.uint8 else 1e-4
    values = (torch.frombuffer(bytearray(each[2]), dtype=dtype).float() for each in (one, other))
    return torch.allclose(*values, rtol=1e-3, atol=step)


@dataclasses.dataclass(frozen=True)
class _Ended:
    """How a run ended: its results as bytes, or the error."""

    values: list[object]
    error: str = ""
    is_late: bool = False


def _attempt(run: Run, device: str, seconds: int) -> _Ended:
    seed()
    try:
        with limited(seconds):
            return _Ended(list(_values(run(device))))
    except OutOfTime:
        return _Ended([], f"more than {seconds} s", is_late=True)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a foreign program raises
        return _Ended([], described(error))


def described(error: BaseException) -> str:
    """Return an error on one line, with the innermost place."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return "".join(f"{text} [{_short(at.filename)}:{at.lineno}]" for at in last) or text


def _short(filename: str) -> str:
    """A file's path from where its kind lies: of a machine's folders nothing is told."""
    for folder in FOLDERS:
        _, found, rest = filename.rpartition(folder)
        if found:
            return rest
    return Path(filename).name


def seed() -> None:
    """Let all generators begin anew."""
    random.seed(SEED)
    np.random.seed(SEED % 2**32)
    torch.manual_seed(SEED)


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread after so many seconds of this process's CPU time."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _values(result: Any) -> Iterator[object]:
    """What a result holds that can be compared: the bytes of arrays, numbers and texts."""
    left = [result]
    for _ in range(MOST):
        if not left:
            return
        value = left.pop()
        if isinstance(value, torch.Tensor):
            yield _bytes(value)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            left += value.ravel().tolist()
        elif isinstance(value, np.ndarray):
            yield value.dtype.str, value.shape, value.tobytes()
        elif isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            yield repr(value)
        elif isinstance(value, Mapping):
            left += [value[key] for key in reversed(list(value.keys()))]
        elif isinstance(value, list | tuple):
            left += reversed(value)
        elif hasattr(value, "__array__"):
            left.append(np.asarray(value))
        elif dataclasses.is_dataclass(value):
            left += [getattr(value, field.name) for field in dataclasses.fields(value)]


def _bytes(value: torch.Tensor) -> object:
    plain = value.detach()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_quantized:
        plain = plain.dequantize()
    plain = plain.resolve_conj().resolve_neg().cpu().contiguous()
    raw = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
    return str(plain.dtype), tuple(plain.shape), raw
