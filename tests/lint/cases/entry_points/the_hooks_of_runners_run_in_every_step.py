import torch


class Logging:
    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        self.loss = outputs["loss"].item()  # ASG102

    def after_train_epoch(self, runner, outputs=None):
        self.loss = outputs["loss"].item()  # clean


def patch(model):
    def forward(self, x):
        scores = self.layers(x)
        return torch.nonzero(scores > 0)  # ASG105

    def setup(x):
        return torch.nonzero(x > 0)  # clean

    model.forward = forward.__get__(model)
    return setup
