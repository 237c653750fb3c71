import torch


class Early(torch.nn.Module):
    def on_train_batch_end(self, fabric, loss: torch.Tensor):
        fabric.strategy.broadcast(True)
        fabric.strategy.agree_on_value(True)
        loss.item()  # ASG102
