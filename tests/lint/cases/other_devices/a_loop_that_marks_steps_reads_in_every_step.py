import torch
import torch_xla.core.xla_model as xm


def solve(state: torch.Tensor, rounds):
    for _ in range(rounds):
        state = torch.tanh(state)
        xm.mark_step()
        print(state.norm().item())  # ASG102
