"""The memory of a simulated device: who holds how much, as the caching allocator would tell."""

from __future__ import annotations

from collections.abc import Iterator

_STATS = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "allocation",
          "segment", "active", "inactive_split", "inactive_split_bytes")  # fmt: skip
_SCALARS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc",
            "num_device_free", "max_split_size")  # fmt: skip
_PAGE = 512  # bytes that the caching allocator rounds blocks up to


class Memory:
    """Counts the bytes of live blocks. Freed bytes stay reserved until the cache is emptied."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.allocated = self.peak = self.reserved = self.peak_reserved = 0
        self.blocks = self.peak_blocks = self.ever = 0

    def take(self, nbytes: int) -> int:
        """Add a block of `nbytes`; return its size as it is rounded up."""
        size = -(-nbytes // _PAGE) * _PAGE
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

    def free(self, size: int) -> None:
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
        for name in _STATS:
            stats[name] = dict(_pools(*figures.get(name, (0, 0))))
        for name in ("oversize_allocations", "oversize_segments"):
            stats[name] = _stat(0, 0)
        return stats


class Block:
    """The memory of one storage on a device; it is freed with the storage that holds it."""

    __slots__ = ("device", "size")

    def __init__(self, device: Holder, nbytes: int) -> None:
        self.device = device
        self.size = device.memory.take(nbytes)

    def __del__(self) -> None:
        self.device.memory.free(self.size)


class Holder:
    """Whatever has memory; see `machine.Device`."""

    memory: Memory


def _pools(now: int, peak: int) -> Iterator[tuple[str, dict[str, int]]]:
    yield "all", _stat(now, peak)
    yield "large_pool", _stat(now, peak)
    yield "small_pool", _stat(0, 0)


def _stat(now: int, peak: int) -> dict[str, int]:
    return {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}
