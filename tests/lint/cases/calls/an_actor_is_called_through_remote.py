import ray
import torch


@ray.remote
class Runner:
    def __init__(self):
        self.model = torch.nn.Linear(8, 8)

    def run(self, x):
        return self.model(x).argmax(-1).tolist()  # ASG102

    def report(self, x):
        return self.model(x).argmax(-1).tolist()  # clean


@ray.remote
def score(x):
    return torch.nn.Linear(8, 8)(x).sum().item()  # ASG102


def main(batches):
    runners = [Runner.options(num_gpus=1).remote() for _ in range(4)]
    for step in range(100):
        for runner in runners:
            ray.get(runner.run.remote(step))
        ray.get(score.remote(step))
    runners[0].report.remote(0)
