import torch


class Sac:
    def draw_action(self, state):
        return torch.tanh(torch.rand(4, device="cuda")).cpu().numpy()  # ASG103
