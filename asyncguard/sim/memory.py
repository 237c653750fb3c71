"""The memory of a simulated device: who holds how much, as the caching allocator would tell."""

from __future__ import annotations

from collections.abc import Iterator

_STATS = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "allocation",
          "segment", "active", "inactive_split", "inactive_split_bytes")  # fmt: skip
_SCALARS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
            "num_device_free", "max_split_size")  # fmt: skip
_PAGE = 512  # bytes that the caching allocator rounds blocks up to


class OutOfMemory(MemoryError):  # noqa: N818  reads as what is the case
    """A block does not fit; `wanted` bytes were asked for, and `free` are left."""

    def __init__(self, wanted: int, free: int) -> None:
        super().__init__(f"{wanted} bytes wanted, {free} free")
        self.wanted = wanted
        self.free = free


class Memory:
    """Counts the bytes of live blocks. Freed bytes stay reserved until the cache is emptied.

    total:    bytes that the device has.
    fraction: of them, how many this process may hold.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.fraction = 1.0
        self.failures = 0
        self.allocated = self.peak = self.reserved = self.peak_reserved = 0
        self.blocks = self.peak_blocks = self.ever = 0

    def begin(self, total: int) -> None:
        """Start anew with so many bytes, of which blocks that are alive hold some."""
        self.total, self.fraction, self.failures = total, 1.0, 0
        self.empty_cache()
        self.reset_peaks()

    def take(self, nbytes: int) -> int:
        """Add a block of `nbytes`; return its size as it is rounded up.

        Raises OutOfMemory where that is more than is free.
        """
        size = -(-nbytes // _PAGE) * _PAGE
        if size > self.free_bytes:
            self.failures += 1
            raise OutOfMemory(nbytes, self.free_bytes)
        self.allocated += size
        self.blocks += 1
        self.ever += size
        if self.allocated > self.peak:
            self.peak = self.allocated
            if self.allocated > self.reserved:
                self.reserved = self.allocated
                self.peak_reserved = max(self.peak_reserved, self.reserved)
        self.peak_blocks = max(self.peak_blocks, self.blocks)
        return size

    @property
    def free_bytes(self) -> int:
        """What this process may still take."""
        return max(int(self.total * self.fraction) - self.allocated, 0)

    def release(self, size: int) -> None:
        """A block of `size`, as `take` returned it, has gone."""
        self.allocated -= size
        self.blocks -= 1

    def empty_cache(self) -> None:
        """Give back what nobody holds."""
        self.reserved = self.allocated

    def reset_peaks(self) -> None:
        """Let the present be the peak."""
        self.peak, self.peak_reserved = self.allocated, self.reserved
        self.peak_blocks = self.blocks

    def stats(self) -> dict[str, object]:
        """What torch._C._cuda_memoryStats returns."""
        figures = {
            "allocated_bytes": (self.allocated, self.peak),
            "active_bytes": (self.allocated, self.peak),
            "requested_bytes": (self.allocated, self.peak),
            "reserved_bytes": (self.reserved, self.peak_reserved),
            "allocation": (self.blocks, self.peak_blocks),
            "active": (self.blocks, self.peak_blocks),
        }
        stats: dict[str, object] = dict.fromkeys(_SCALARS, 0)
        stats["num_ooms"] = self.failures
        for name in _STATS:
            stats[name] = dict(_pools(*figures.get(name, (0, 0))))
        for name in ("oversize_allocations", "oversize_segments"):
            stats[name] = _stat(0, 0)
        return stats


class Block:
    """The memory of one storage on a device; it is freed with the storage that holds it.

    Raises OutOfMemory where the device has not so much left.
    """

    __slots__ = ("_size", "device")

    def __init__(self, device: Holder, nbytes: int) -> None:
        self.device = device
        self._size: int | None = None
        self._size = device.memory.take(nbytes)

    def __del__(self) -> None:
        if self._size is not None:
            self.device.memory.release(self._size)


class Holder:
    """Whatever has memory; see `machine.Device`."""

    memory: Memory


def _pools(now: int, peak: int) -> Iterator[tuple[str, dict[str, int]]]:
    yield "all", _stat(now, peak)
    yield "large_pool", _stat(now, peak)
    yield "small_pool", _stat(0, 0)


def _stat(now: int, peak: int) -> dict[str, int]:
    return {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
