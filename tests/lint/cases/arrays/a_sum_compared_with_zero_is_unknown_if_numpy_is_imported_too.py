# clean

import torch
import numpy as np


class Learner:
    def train(self, batch, weights):
        mask = batch["filled"][:, :-1]
        for t in range(mask.size(1)):
            if weights[:, t].sum() == 0:
                continue
            self.optimizer.zero_grad()
            self.critic(batch, t).sum().backward()
            self.optimizer.step()
