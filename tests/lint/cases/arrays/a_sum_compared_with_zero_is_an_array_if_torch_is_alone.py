import torch


class Learner:
    def train(self, batch, weights):
        mask = batch["filled"][:, :-1]
        for t in range(mask.size(1)):
            if weights[:, t].sum() == 0:  # ASG104
                continue
            self.optimizer.zero_grad()
            self.critic(batch, t).sum().backward()
            self.optimizer.step()
