import torch


class Averaging:
    def on_train_epoch_start(self, trainer, module):
        self.update_parameters(self.average, module, self.count)

    @staticmethod
    def update_parameters(average, model, count: torch.Tensor):
        if count == 0:  # clean
            average.copy_(model)


class Shadowing:
    def on_train_batch_end(self, trainer, module):
        self.update_parameters(self.average, module, self.count)

    @staticmethod
    def update_parameters(average, model, count: torch.Tensor):
        if count == 0:  # ASG104
            average.copy_(model)
