from collections.abc import Mapping

import torch


class Logger:
    def on_train_batch_end(self, metrics: Mapping[str, float], loss):
        for name, value in metrics.items():
            if isinstance(value, torch.Tensor):
                self.write(name, value.item())  # clean
        if isinstance(loss, torch.Tensor):
            self.write("loss", loss.item())  # ASG102
