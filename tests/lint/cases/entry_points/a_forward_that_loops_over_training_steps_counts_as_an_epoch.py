import torch


class Policy(torch.nn.Module):
    def forward(self, data):
        for part in data.split(64):
            loss = self.net(part).sum()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()  # clean


class Policy2(torch.nn.Module):
    def forward(self, data):
        for part in data.split(64):
            loss = self.net(part).sum()
            pass
        return loss.item()  # ASG102
