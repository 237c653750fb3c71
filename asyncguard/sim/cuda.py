"""What stands in for CUDA below torch.cuda and torch.accelerator, whose own code runs on it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import torch
import torch.cuda.nccl
import torch.cuda.nvtx

from asyncguard.runtime import torch_private as private
from asyncguard.runtime.patch import Place
from asyncguard.sim import graphs, refusals
from asyncguard.sim.costs import Costs
from asyncguard.sim.machine import Machine, NotSimulated
from asyncguard.sim.standins import class_like
from asyncguard.sim.streams import Classes

VERSION = "13.0"  # of CUDA, where torch is built without it
_NCCL = 2 << 32 | 27 << 16 | 3  # NCCL 2.27.3, as torch._C tells
_CLOCK_GHZ = 1.7  # of torch.cuda._sleep, which counts cycles
# Settings that builds for CUDA keep themselves.
_SETTINGS = tuple(f"_cuda_{verb}_{name}" for verb in ("get", "set")
                  for name in ("cudnn_benchmark_limit", "conv_benchmark_empty_cache"))  # fmt: skip


def replacements(machine: Machine, costs: Costs) -> Iterator[tuple[Place, Any]]:
    """What takes the place of CUDA's parts of torch._C, and of the names made from them."""
    functions = {**_devices(machine), **_memory(machine), **_accelerator(machine)}
    functions |= graphs.functions(machine)
    functions["_nccl_version"] = lambda: _NCCL
    functions["_nccl_version_suffix"] = lambda: b""
    functions["_cuda_sleep"] = lambda cycles: machine.enqueue(int(cycles / _CLOCK_GHZ), "sleep")
    for name, function in functions.items():
        yield Place(private.C, name), function
    for function in (_scatter, _gather, _broadcast, _broadcast_coalesced):
        yield Place(private.C, function.__name__), function
    # Sums over devices go one after the other, as where NCCL is not.
    yield Place(torch.cuda.nccl, "is_available"), lambda tensors: False
    yield Place(private.C, "_has_cuda"), True
    yield Place(torch.version, "cuda"), _version()
    yield from _state(machine)
    yield from _streams(machine)
    yield from refusals.replacements({*functions, *_SETTINGS})


def _version() -> str:
    """The version that torch is built for: what was built beside it, torchvision, compares it."""
    return torch.version.cuda or VERSION


def _compiled_version() -> int:
    """The same as CUDA writes it: 12.8 is 12080."""
    major, minor = map(int, _version().split(".")[:2])
    return 1000 * major + 10 * minor


def _state(machine: Machine) -> Iterator[tuple[Place, Any]]:
    """The state of torch.cuda: ready, and drawing from the CPU's generator as a CPU run does."""
    count = len(machine.devices)
    exchange = _devices(machine)["_cuda_exchangeDevice"]
    state = {
        "_initialized": True,
        "_queued_calls": [],
        "_cached_device_count": None,
        "_lazy_init": machine.use,
        "_is_in_bad_fork": lambda: machine.is_bad_fork,
        "_cudart": _Runtime(machine),
        "default_generators": (torch.default_generator,) * count,
        "_get_device_properties": lambda index: _properties(machine, index),
        "_exchange_device": exchange,
        "_maybe_exchange_device": exchange,
        "device_count": lambda: count,
        "is_bf16_supported": lambda including_emulation=True: (
            including_emulation or machine.profile.capability[0] >= 8
        ),
    }
    for name, value in state.items():
        yield Place(torch.cuda, name), value
    yield Place(torch.cuda.nvtx, "_nvtx"), _Ranges()


def _devices(machine: Machine) -> dict[str, Callable[..., Any]]:
    current = machine.current

    def set_device(index: int) -> None:
        machine.device_at(torch.device("cuda", index))
        current.device = index

    def exchange(index: int) -> int:
        before = current.device
        if index >= 0:
            set_device(index)
        return before

    def synchronize() -> None:
        machine.wait_device()

    major, minor = machine.profile.capability
    return {
        "_cuda_init": lambda: None,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_getDeviceCount": lambda: len(machine.devices),
        "_cuda_getDevice": lambda: current.device,
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": exchange,
        "_cuda_synchronize": synchronize,
        "_cuda_canDeviceAccessPeer": lambda device, peer: True,
        "_cuda_getArchFlags": lambda: f"sm_{major}{minor}",
        "_cuda_getCurrentRawStream": lambda index: 0,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_isInBadFork": lambda: machine.is_bad_fork,
        "_cuda_get_sync_debug_mode": lambda: machine.debug.mode,
        "_cuda_set_sync_debug_mode": machine.debug.set,
        "_cuda_getCompiledVersion": _compiled_version,
    }


def _memory(machine: Machine) -> dict[str, Callable[..., Any]]:
    def each(act: Callable[[Any], None]) -> Callable[..., None]:
        def on(index: int | None = None) -> None:
            act(machine.device.memory if index is None else machine.devices[index].memory)

        return on

    def set_fraction(fraction: float, index: int) -> None:
        machine.devices[index].memory.fraction = fraction

    def empty_cache() -> None:
        machine.wait_device()
        for device in machine.devices:
            device.memory.empty_cache()

    return {
        "_cuda_memoryStats": lambda index: machine.devices[index].memory.stats(),
        "_cuda_resetPeakMemoryStats": each(lambda memory: memory.reset_peaks()),
        "_cuda_resetAccumulatedMemoryStats": each(lambda memory: None),
        "_cuda_emptyCache": empty_cache,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_setMemoryFraction": set_fraction,
        "_cuda_getMemoryFraction": lambda index: machine.devices[index].memory.fraction,
    }


def _accelerator(machine: Machine) -> dict[str, Callable[..., Any]]:
    low = {**_devices(machine), **_memory(machine)}

    def synchronize(index: int) -> None:
        machine.wait_device(index)

    def capability(index: int) -> dict[str, Any]:
        return {"supported_dtypes": {torch.float32, torch.float16, torch.bfloat16, torch.float64}}

    def memory_info(index: int) -> tuple[int, int]:
        memory = machine.devices[index].memory
        return memory.total - memory.reserved, memory.total

    return {
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_get_accelerator": lambda check=None: torch.device("cuda"),
        "_accelerator_deviceCount": lambda: len(machine.devices),
        "_accelerator_getDeviceIndex": low["_cuda_getDevice"],
        "_accelerator_setDeviceIndex": low["_cuda_setDevice"],
        "_accelerator_exchangeDevice": low["_cuda_exchangeDevice"],
        "_accelerator_maybeExchangeDevice": low["_cuda_exchangeDevice"],
        "_accelerator_synchronizeDevice": synchronize,
        "_accelerator_getDeviceCapability": capability,
        "_accelerator_getStream": lambda index: torch.cuda.current_stream(index),
        "_accelerator_setStream": lambda stream: torch.cuda.set_stream(stream),
        "_accelerator_isAllocatorInitialized": lambda: True,
        "_accelerator_emptyCache": low["_cuda_emptyCache"],
        "_accelerator_getDeviceStats": low["_cuda_memoryStats"],
        "_accelerator_resetPeakStats": low["_cuda_resetPeakMemoryStats"],
        "_accelerator_resetAccumulatedStats": low["_cuda_resetAccumulatedMemoryStats"],
        "_accelerator_getMemoryInfo": memory_info,
    }


def _streams(machine: Machine) -> Iterator[tuple[Place, Any]]:
    classes = Classes(machine)

    def at(device: Any) -> int:
        return private.device_index(device, optional=True)  # type: ignore[no-any-return]

    def current_stream(device: Any = None) -> Any:
        return classes.wrap(machine.stream(at(device)))

    def default_stream(device: Any = None) -> Any:
        return classes.wrap(machine.timeline.default_stream(at(device)))

    def set_stream(stream: Any) -> None:
        if stream is not None:
            machine.current.device = stream.device_index
            machine.current.streams[stream.device_index] = stream._queue

    class StreamContext:
        """Work in the block goes to a stream; None changes nothing."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> None:
            if self.stream is not None:
                self.stream.__enter__()

        def __exit__(self, *raised: object) -> None:
            if self.stream is not None:
                self.stream.__exit__(*raised)

    made = {
        "Stream": classes.Stream, "Event": classes.Event, "StreamContext": StreamContext,
        "stream": StreamContext, "current_stream": current_stream,
        "default_stream": default_stream, "set_stream": set_stream,
    }  # fmt: skip
    for name, value in made.items():
        yield Place(torch.cuda, name), value
    for name in ("Stream", "Event"):
        yield Place(torch.cuda.streams, name), made[name]
        yield Place(torch, name), _of_any_device(getattr(torch, name), made[name])
    yield Place(private.parallel, "_streams"), None  # of no machine yet


def _of_any_device(own: type, ours: type) -> type:
    """What stands in for torch.Stream and torch.Event: those of CUDA unless told otherwise."""

    def make(device: Any = None, **kwargs: Any) -> Any:
        if device is None or torch.device(device).type == "cuda":
            return ours(device=device, **kwargs)
        return own(device, **kwargs)

    return class_like(own, make, ours)


class _Runtime:
    """What torch.cuda.cudart() returns."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.cudaError = types.SimpleNamespace(success=0)

    def cudaMemGetInfo(self, index: int) -> tuple[int, int]:  # noqa: N802  CUDA's name
        """Free and total bytes."""
        memory = self._machine.devices[index].memory
        return memory.total - memory.reserved, memory.total

    def cudaGetErrorString(self, error: int) -> str:  # noqa: N802  CUDA's name
        """What an error code means."""
        return "no error" if error == 0 else f"error {error}"

    def cudaProfilerStart(self) -> int:  # noqa: N802  CUDA's name
        """There is nothing to start."""
        return 0

    cudaProfilerStop = cudaProfilerStart  # noqa: N815  CUDA's name

    def __getattr__(self, name: str) -> Any:
        raise NotSimulated(f"torch.cuda.cudart().{name}")


class _Ranges:
    """NVTX ranges, which nobody looks at."""

    def __init__(self) -> None:
        self._depth = 0

    def rangePushA(self, message: str) -> int:  # noqa: N802  NVTX's name
        """Open a range; return how deep it lies."""
        self._depth += 1
        return self._depth - 1

    def rangePop(self) -> int:  # noqa: N802  NVTX's name
        """Close the innermost range."""
        self._depth -= 1
        return self._depth

    def rangeStartA(self, message: str) -> int:  # noqa: N802  NVTX's name
        """Open a range that need not be nested."""
        return 0

    def rangeEnd(self, handle: int) -> None:  # noqa: N802  NVTX's name
        """Close it."""

    def markA(self, message: str) -> None:  # noqa: N802  NVTX's name
        """Mark a moment."""


def _properties(machine: Machine, index: int) -> Any:
    profile = machine.profile
    major, minor = profile.capability
    return types.SimpleNamespace(
        name=f"{profile.device_name} (simulated)",
        major=major,
        minor=minor,
        total_memory=profile.memory_bytes,
        multi_processor_count=profile.multi_processor_count,
        L2_cache_size=profile.l2_cache_bytes,
        is_integrated=False,
        is_multi_gpu_board=False,
        warp_size=32,
        max_threads_per_multi_processor=1536 if (major, minor) == (8, 9) else 2048,
        max_threads_per_block=1024,
        shared_memory_per_block=49_152,
        regs_per_multiprocessor=65_536,
        pci_bus_id=index,
        pci_device_id=0,
        pci_domain_id=0,
        uuid=f"00000000-0000-0000-0000-{index:012d}",
        gcnArchName="",
    )


def _scatter(
    tensor: Any, devices: Any, sizes: Any = None, dim: int = 0, streams: Any = None
) -> list[Any]:
    """Parts of a tensor, one on each device."""
    parts = tensor.split(sizes, dim) if sizes else tensor.chunk(len(devices), dim)
    made = []
    for part, device, stream in zip(parts, devices, streams or repeat(None), strict=False):
        with torch.cuda.stream(stream):
            made.append(part.to(torch.device("cuda", device)))
    return made


def _gather(tensors: Any, dim: int, device: int | None = None) -> Any:
    """The tensors in one, on a device; -1: on the host."""
    place = torch.device("cpu") if device == -1 else torch.device("cuda", device or 0)
    return torch.cat([tensor.to(place) for tensor in tensors], dim)


def _broadcast(tensor: Any, devices: Any) -> list[Any]:
    """The tensor on each device."""
    return [tensor.to(torch.device("cuda", device)) for device in devices]


def _broadcast_coalesced(tensors: Any, devices: Any, buffer_size: int) -> list[list[Any]]:
    """The tensors on each device."""
    return [[tensor.to(torch.device("cuda", each)) for tensor in tensors] for each in devices]
