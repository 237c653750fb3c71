# settings: min_probability=0.33
import torch


class Memory:
    def push(self, state):
        self.states.append(state.to("cpu"))  # ASG103

    def sample(self, n):
        return self._batch(n)

    def _batch(self, n):
        return torch.tensor(self.states[:n], device=self.device)  # ASG106


class Env:
    def reset(self):
        return torch.tensor(self.state, device=self.device)  # clean

    def step(self, action):
        self.state = self.simulator.move(action.cpu())  # ASG103
        return torch.tensor(self.state, device=self.device)  # ASG106
