import torch

from .strategy import Strategy


class Early(torch.nn.Module):
    def on_train_batch_end(self, strategy: Strategy, loss: torch.Tensor):
        strategy.agree(True)
