import torch


class Generator:
    def step(self, model_outputs, batch):
        states = model_outputs.hidden_states[0].to(self.device)  # clean
        weight = batch["weight"].to(self.device)  # ASG106
        loss = (states * weight).sum()
        loss.backward()
        self.optimizer.step()
