# settings: min_confidence=low
# path: comm.py

import torch.distributed as dist


class Strategy:
    def barrier(self):
        dist.barrier()  # ASG202

    def reduce(self, x):
        dist.barrier()  # ASG202
        return x


# import Strategy
def train(model, loader, optimizer):
    strategy = Strategy()
    for batch in loader:
        strategy.reduce(model(batch)).backward()
        optimizer.step()
        strategy.barrier()
