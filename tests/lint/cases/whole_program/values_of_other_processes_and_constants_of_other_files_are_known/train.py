import ray
import torch
from keys import COORDINATES
from torch import nn


class Net(nn.Module):
    def forward(self, batch: torch.Tensor):
        if COORDINATES in batch:  # clean
            batch = batch[COORDINATES]
        return batch * 2


@ray.remote(num_gpus=1)
class Worker:
    def step(self, batch):
        loss = Net().cuda()(batch.cuda()).mean()  # ASG106
        loss.backward()
        return {"loss": loss, "reward": loss * 2}


def main(loader):
    worker = Worker.remote()
    for batch in loader:
        results = ray.get(worker.step.remote(batch))
        loss = results["loss"].item()  # clean
        print(loss, results["reward"].max().item())  # clean


main(torch.load("loader"))
