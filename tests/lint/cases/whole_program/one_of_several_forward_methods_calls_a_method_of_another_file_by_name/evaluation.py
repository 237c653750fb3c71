import torch


class First(torch.nn.Module):
    def forward(self, x):
        self.evaluator.process_scores(x)


class Second(torch.nn.Module):
    def forward(self, x):
        return self.layer(x)


class Third(torch.nn.Module):
    def forward(self, x):
        return x
