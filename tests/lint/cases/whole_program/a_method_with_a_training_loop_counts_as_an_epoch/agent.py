# settings: select=ALL

import torch


class Agent:
    def learn_from_rollout(self, batches):
        for batch in batches:
            self.optimizer.zero_grad()
            loss = self.model(batch).sum()
            loss.backward()
            self.optimizer.step()
        self.log.append(loss.item())  # ASG102 epoch
