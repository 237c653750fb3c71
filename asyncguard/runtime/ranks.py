"""Which of many processes this is: read from what launchers put into the environment.

torchrun, Ray Train, Slurm, Horovod and MPI tell each process its rank and how many there are. Each
process writes a trace of its own, and nothing is exchanged: `advise.ranks` puts the traces beside
each other afterwards. A run of one process has no ranks, whatever launched it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from asyncguard.model import TraceRecord

# (rank, how many, rank on this host), the innermost launcher first: torchrun may run under Slurm.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun, Ray Train, DeepSpeed, accelerate
    ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),  # MPICH, Intel MPI
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


@dataclass(frozen=True)
class Seat:
    """One process among `world_size`; ranks count from 0."""

    rank: int
    world_size: int
    local_rank: int | None = None

    def extra(self) -> dict[str, Any]:
        """What the record of this process says of it."""
        seat: dict[str, Any] = {"rank": self.rank, "world_size": self.world_size}
        if self.local_rank is not None:
            seat["local_rank"] = self.local_rank
        return {**seat, "host": socket.gethostname()}


def seat(environment: Mapping[str, str] | None = None) -> Seat | None:
    """This process's seat by its environment; None where it runs alone."""
    environment = os.environ if environment is None else environment
    for names in LAUNCHERS:
        rank, world_size, local_rank = (_number(environment.get(name)) for name in names)
        if rank is not None and world_size is not None:
            return Seat(rank, world_size, local_rank) if world_size > 1 else None
    return None


def own_path(path: Path, seat: Seat | None) -> Path:
    """`trace.json` -> `trace.rank3.json`, so that no rank writes over another's file."""
    return path if seat is None else path.with_name(f"{path.stem}.rank{seat.rank}{path.suffix}")


def seated(record: TraceRecord, seat: Seat | None) -> TraceRecord:
    """The record, saying which rank it is of."""
    return record if seat is None else replace(record, extra={**record.extra, **seat.extra()})


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
