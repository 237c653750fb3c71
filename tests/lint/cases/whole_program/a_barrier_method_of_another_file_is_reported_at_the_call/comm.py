import torch.distributed as dist


class Strategy:
    def barrier(self):
        dist.barrier()  # clean

    def reduce(self, x):
        dist.barrier()  # ASG202
        return x
