from dataclasses import dataclass

import torch


@dataclass
class Result:
    features: torch.Tensor
    logprob: float = 0.0


def decode(model: "Net", mel: torch.Tensor, scale: float = 1.0) -> Result:
    return Result(features=model(mel) * scale)


class Net(torch.nn.Module):
    def forward(self, x):
        return x

    run = decode


def transcribe(model: Net, mel: torch.Tensor, count):
    for i in range(count):
        result = model.run(mel[i])
        if result.logprob > 0.5:  # clean
            break
        print(result.features)  # ASG101
