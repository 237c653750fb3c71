import logging
import warnings

import torch

logger = logging.getLogger(__name__)


class Trainer:
    def training_step(self, batch):
        loss = self.net(batch).sum()

        if bad:
            warnings.warn(f"odd: {loss}")  # clean


class Model(torch.nn.Module):
    def forward(self, ids: torch.Tensor, features: torch.Tensor):
        if ids.shape[1] < self.expected:
            logger.warning_once("Expand the ids in the processor.")
            ids = self.expand(ids)
        elif self.counts_features:
            size = features.sum().item()  # ASG102
            logger.warning_once("odd shape: %s", size)
        return ids

    def expand(self, ids: torch.Tensor):
        return ids[: ids.sum().item()]  # clean
