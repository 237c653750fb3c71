import numpy as np
import torch


class Trainer:
    def train_step(self):
        s, parts = self.buffer.get(3)
        s = s.cuda()  # ASG106
        a = self.queue.next().unsqueeze(0).to(self.device)  # ASG106
        b = torch.cat(parts).to(self.device)  # ASG106
        c = torch.tanh(self.queue.next()).to(self.device)
        self.model(s, a, b, c).backward()
        self.optimizer.step()
