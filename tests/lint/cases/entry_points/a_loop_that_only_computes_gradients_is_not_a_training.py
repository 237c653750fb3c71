import torch


class Agent:
    def hessian(self, p):
        return torch.cat(torch.autograd.grad(self.kl(p), self.actor.parameters()))

    def direction(self, b):
        x = torch.zeros(b.size()).to(device=self.device)  # ASG106
        for _ in range(10):
            x += self.hessian(b)
        return x

    def improve(self, sample):
        self.critic(sample).mean().backward()
        self.optimizer.step()
        return self.direction(self.actor(sample).mean())

    def train(self, buffer):
        for sample in buffer.batches():
            self.improve(sample)
