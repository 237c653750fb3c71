import torch


class Agent:
    def __init__(self, optimizer, fused: bool):
        self.optimizer = optimizer
        self._update = self.update
        if fused:
            self._update = make_faster(self.update)

    def update(self, batch):
        loss = self.net(batch).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def learn(self, batch):
        loss = self._update(batch)
        return loss.item()  # ASG102


def rope(config):
    return 1.0 / torch.arange(0, config.dim)


class Rotary(torch.nn.Module):
    def __init__(self, config, others):
        self.make = rope
        if config.kind != "default":
            self.make = others[config.kind]

    def forward(self, x: torch.Tensor):
        return x * self.make(self.config).to(x.device)  # ASG106
