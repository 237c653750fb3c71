"""Two ranks, one of them late: which one, and what the others waited for it.

Rank 1 has more to compute than the others, who wait for it at each all_reduce. Each rank traces
itself; the traces meet in the report only:

    torchrun --nproc-per-node 2 -m asyncguard run -o straggler.json examples/ranks_straggler.py
    asyncguard report straggler.rank*.json
"""

import torch
import torch.distributed as dist

import asyncguard

STEPS = 10
PRODUCTS = {0: 1, 1: 40}  # matrix products a step, by rank

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.set_num_threads(1)
weight = torch.full((400, 400), 1 / 400)
gradient = torch.ones(400, 400)

for _ in range(STEPS):
    for _ in range(PRODUCTS.get(rank, 1)):
        gradient = gradient @ weight
    dist.all_reduce(gradient)
    gradient /= dist.get_world_size()
    asyncguard.step()

dist.barrier()
print(f"rank {rank}: mean {gradient.mean().item():.3f} after {STEPS} steps")
dist.destroy_process_group()
