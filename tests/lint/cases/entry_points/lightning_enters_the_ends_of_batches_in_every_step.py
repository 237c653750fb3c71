import torch
from lightning.pytorch.callbacks import BasePredictionWriter


class Writer(BasePredictionWriter):
    def write_on_batch_end(self, trainer, module, prediction, indices, batch, index, loader):
        return prediction["scores"].argmax(-1).cpu()  # ASG103

    def write_on_epoch_end(self, trainer, module, predictions, indices):
        return torch.cat(predictions).argmax(-1).cpu()  # clean


class Kept(torch.nn.Module):
    def validation_step_end(self, outputs):
        return outputs.argmax(-1).cpu()  # ASG103
