"""The public way in; imports torch when a simulation is made, not before."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from asyncguard.model import AsyncguardError

DEFAULT_PROFILE = "h200"


def profile_of(choice: str) -> str:
    """The profile in `cuda` or `cuda:PROFILE`; raises AsyncguardError for another device."""
    kind, _, profile = choice.partition(":")
    if kind != "cuda":
        raise AsyncguardError(f"cannot simulate {choice!r}; it is cuda or cuda:PROFILE")
    return profile or DEFAULT_PROFILE


def simulate_cuda(
    profile: str = DEFAULT_PROFILE,
    devices: int = 1,
    *,
    host: str = "fixed",
    races: str = "raise",
) -> AbstractContextManager[Any]:
    """Run CUDA programs without a GPU: on the CPU, with real values and modelled times.

        with asyncguard.simulate_cuda(), asyncguard.trace() as trace:
            train(device="cuda")

    Tensors on the device say that they are (`x.device` is `cuda:0`), results equal those of the
    same program on the CPU bit for bit, and every wait that a GPU would have had is counted, on a
    virtual clock. What is not supported raises an error that names it. On leaving, torch is as it
    was, and tensors of the device are the CPU's.

    profile: whose speed is modelled: "h200", "gb200", "b200", "h100", "a100", "mi300x", "rtx5090",
             "rtx4090", "l4", "t4", or the path of a TOML file of your own.
    devices: how many devices there are.
    host:    "fixed": an operator costs the host what the profile says, the same on every run and
             machine; "measured": what this host took, kernels left out.
    races:   what is done where host memory is used while an asynchronous copy may still read or
             write it, because nothing was waited for that comes after the copy: "raise":
             `asyncguard.runtime.races.CopyRace`, with both places; "warn": a RuntimeWarning there;
             "ignore": neither. Traces list races in any case.

    Raises AsyncguardError where torch is missing, for an unknown profile, and within a trace.
    """
    try:
        simulation = import_module("asyncguard.sim.simulation")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise AsyncguardError("simulate_cuda() needs torch: pip install torch") from error
    made: AbstractContextManager[Any] = simulation.Simulation(profile, devices, host, races)
    return made


def simulated(profile: str = "") -> AbstractContextManager[Any]:
    """Be within a simulation: the one that is running, else a new one.

    profile: as for `simulate_cuda`; "": whichever is running, else the default one.

    Raises AsyncguardError where another profile is being simulated, and as `simulate_cuda` does.
    """
    running = getattr(import_module("asyncguard.runtime.simulated").present.model, "machine", None)
    if running is None:
        return simulate_cuda(profile or DEFAULT_PROFILE)
    if profile and import_module("asyncguard.sim.profiles").load(profile) != running.profile:
        raise AsyncguardError(
            f"{running.profile.device_name} (profile {running.profile.name}) is being simulated"
            f" already, for the whole program, so {profile!r} cannot be: name the same profile, or"
            " none"
        )
    return nullcontext()


def begin(profile: Any, devices: int, host: str, races: str) -> None:
    """Begin the simulation of a process that a simulated program has started.

    profile: an `asyncguard.sim.profiles.Profile`.
    """
    simulation = simulate_cuda(profile, devices, host=host, races=races)
    simulation.__enter__()
    simulation.is_inherited = True  # type: ignore[attr-defined]
