"""What torch does not promise and asyncguard uses, by the names of `torch_names`.

torch may rename or drop any of these in a release. So the rest of the runtime and the simulation
name none themselves (`tests/runtime/test_torch_private.py` reads the source), and `check` refuses a
torch that lacks one, before anything is counted wrongly. Imports no torch: who uses it has it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from asyncguard.model import AsyncguardError
from asyncguard.runtime import versions
from asyncguard.runtime.torch_names import ATTRIBUTES, NAMES, NEWEST, OLDEST, Name

AROUND_MODES = frozenset({"torch._compile", "torch._dynamo.eval_frame"})  # round dispatch modes
DYNAMO = "torch._dynamo"
_KEPT = ("graph_break_reasons", "_compilation_metrics")  # by torch._dynamo.utils


def check() -> None:
    """Look all names up that this torch is to have, once: later ones may be stand-ins of ours.

    Raises AsyncguardError for a torch that is too old, or that lacks one.
    """
    version = str(import_module("torch").__version__)
    if not versions.matches(version, f">={OLDEST}"):
        raise AsyncguardError(
            f"asyncguard needs torch {OLDEST} or newer, and this is {version}:"
            f" pip install --upgrade 'torch>={OLDEST}'"
        )
    missing = [each.path for each in ATTRIBUTES if _is_missed(each, version)]
    missing += [each.path for each in NAMES.values() if _is_missed(each, version)]
    if missing:
        raise AsyncguardError(
            f"asyncguard does not fit torch {version}, which has no {', '.join(missing)}: take a"
            f" newer asyncguard, or a torch from {OLDEST} to {NEWEST}"
        )
    for name, each in NAMES.items():
        if not each.late:
            globals()[name] = _find(each.path)


def _is_missed(name: Name, version: str) -> bool:
    if name.late or not name.is_in(version):
        return False
    try:
        _find(name.path)
    except (AttributeError, ImportError):
        return True
    return False


def _find(path: str) -> Any:
    """What a dotted path leads to; the module that it lies in is imported."""
    parts = path.split(".")
    depth = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in sys.modules), 0)
    found = sys.modules[".".join(parts[:depth])] if depth else import_module(parts[depth])
    for at, part in enumerate(parts[depth or 1 :], start=depth or 1):
        if not hasattr(found, part):
            import_module(".".join(parts[: at + 1]))
        found = getattr(found, part)
    return found


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"{__name__} names no {name!r}")
    if not NAMES[name].late:
        check()
        return globals()[name]
    return _find(NAMES[name].path)


def address(value: Any) -> int:
    """Which storage or generator of C++ an object stands for."""
    return int(value._cdata)


def use_count(tensor: Any) -> int:
    """How often C++ holds a tensor."""
    return int(tensor._use_count())


def schema(overload: Any) -> Any:
    """An operator's schema; None of one of higher order, which has none."""
    return getattr(overload, "_schema", None)


def name_of(overload: Any) -> tuple[str, str]:
    """An operator's name, and that of its overload."""
    return overload._schema.name, overload._overloadname


def packet(overload: Any) -> Any:
    """All overloads of an operator, where it has some."""
    return getattr(overload, "_overloadpacket", None)


def runner(overload: Any) -> Any:
    """What runs an operator, by the shortest way."""
    return getattr(overload, "_op", overload)


@contextmanager
def tracing_paused() -> Iterator[Callable[[Any], Any]]:
    """Have torch.jit record nothing but the calls of functions that are wrapped by the yielded one.

    Within an operator that it leaves to those below (a convolution), a dispatch mode is called
    where it records none.
    """
    C = sys.modules["torch"]._C  # noqa: N806
    state, tracer = C._get_tracing_state(), C.DispatchKeySet(C._dispatch_key_parse("Tracer"))
    included, excluded = C._dispatch_tls_local_include_set(), C._dispatch_tls_local_exclude_set()

    def recorded(run: Any) -> Any:
        def run_recorded(*args: Any, **kwargs: Any) -> Any:
            C._set_tracing_state(state)
            try:
                return run(*args, **kwargs)
            finally:
                C._set_tracing_state(None)

        return run_recorded

    with C._ForceDispatchKeyGuard(included, excluded - tracer):
        C._set_tracing_state(None)
        try:
            yield recorded
        finally:
            C._set_tracing_state(state)


def dispatch_state() -> Any:
    """What torch's dispatcher includes and excludes in this thread: grad, autocast, modes."""
    C = sys.modules["torch"]._C  # noqa: N806
    return C._dispatch_tls_local_include_set(), C._dispatch_tls_local_exclude_set()


@contextmanager
def dispatching_as(state: Any) -> Iterator[None]:
    """Have the dispatcher do as where `state` was read (None: here), without modes and autograd."""
    C = sys.modules["torch"]._C  # noqa: N806
    keys = state or dispatch_state()
    with (
        C._ForceDispatchKeyGuard(*keys),
        C._DisableTorchDispatch(),
        C._AutoDispatchBelowAutograd(),
    ):
        yield


def queue_callback(callback: Any) -> None:
    """Have the engine call back at the end of the backward pass, in which this is called."""
    sys.modules["torch.autograd"].Variable._execution_engine.queue_callback(callback)


def registration(overload: Any, key: str) -> str:
    """Where the kernel of an operator for a dispatch key was registered; "" where there is none."""
    if not isinstance(overload, sys.modules["torch"]._ops.OpOverload):
        return ""
    C, name = sys.modules["torch"]._C, overload.name()  # noqa: N806
    if not C._dispatch_has_kernel_for_dispatch_key(name, key):
        return ""
    lines = C._dispatch_dump(name).splitlines()
    return next((line for line in lines if line.startswith(f"{key}: ")), "")


def redispatch(overload: Any, key: str) -> Any:
    """Return a function that runs an operator's kernel for a dispatch key."""
    C = sys.modules["torch"]._C  # noqa: N806
    keys = C.DispatchKeySet(getattr(C.DispatchKey, key))
    return lambda *args, **kwargs: overload.redispatch(keys, *args, **kwargs)


def parts(overload: Any) -> Any:
    """Return a function that runs a composite operator by its parts; None where it has none."""
    C = sys.modules["torch"]._C  # noqa: N806
    is_composite = C._dispatch_has_kernel_for_dispatch_key(
        overload.name(), "CompositeImplicitAutograd"
    )
    return overload.decompose if is_composite else None


def default_device() -> Any:
    """What `torch.set_default_device` or `with torch.device(...)` says in this thread, or None."""
    return sys.modules["torch.utils._device"].CURRENT_DEVICE


def checks_arguments(distribution: Any) -> bool:
    """Whether a distribution, or all of a class, checks what it is given."""
    return bool(distribution._validate_args)


def scales_itself(optimizer: Any) -> bool:
    """Whether an optimizer decides on the device whether a scaled step is taken."""
    return bool(getattr(optimizer, "_step_supports_amp_scaling", False))


def duration(work: Any) -> Any:
    """How long a collective took on its device; raises RuntimeError where none tells."""
    return work._get_duration()


def name_backend(group: Any, backend: str) -> None:
    """Let a process group say that it has this backend."""
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    c10d._world.pg_map[group] = c10d.Backend(backend), c10d._world.pg_map[group][1]


def is_barrier(work: Any) -> bool:
    """Whether a collective is a barrier; NCCL's holds the host."""
    return hasattr(work, "_get_op_type") and work._get_op_type() == int(
        _find(NAMES["BARRIER"].path)
    )


def activate_gpu_trace(torch: Any) -> Any:
    """Have torch call back at CUDA's waits; returns the module that keeps the callbacks."""
    torch._C._activate_gpu_trace()
    return import_module(NAMES["gpu_trace"].path)


def is_profiling(torch: Any) -> bool:
    """Whether the user profiles, in any thread: `_profiler_enabled` tells of the calling one."""
    here = torch.autograd._profiler_enabled()
    return bool(here or getattr(torch.autograd.profiler, "_is_profiler_enabled", False))


def kept_breaks() -> tuple[Any, ...]:
    """The reasons of graph breaks that dynamo keeps, and the figures of its compilations.

    Nothing where it is not imported: importing it takes seconds, and changes what torch does. Both
    grow at their end; `torch._dynamo.reset` empties the first, the second is bounded.
    """
    dynamo = sys.modules.get("torch._dynamo.utils")
    return tuple(getattr(dynamo, name) for name in _KEPT if hasattr(dynamo, name))


def keeps_breaks() -> bool:
    """Whether dynamo tells of graph breaks, or is not imported."""
    return "torch._dynamo.utils" not in sys.modules or len(kept_breaks()) == len(_KEPT)


def keeps_compiled() -> bool:
    """Whether dispatch modes may look on without that compiled functions run uncompiled.

    In torch 2.6 they do not, though modes of infrastructure are there by name; in 2.11 they do.
    """
    return hasattr(_find(NAMES["TorchDispatchMode"].path), "_should_skip_dynamo")
