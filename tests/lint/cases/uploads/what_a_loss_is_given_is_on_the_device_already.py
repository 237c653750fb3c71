from typing import Any

import torch


class BoxLoss26:
    def __call__(self, preds, batch: dict[str, Any]):
        masks = batch["masks"].to(self.device)  # clean
        targets = torch.cat((batch["index"].view(-1, 1), batch["boxes"]), 1)
        return self.compare(preds, masks, targets.to(self.device))  # clean

    def forward(self, preds, batch):
        return preds * self.scales[0].to(self.device)  # ASG106


class BoxNet:
    def forward_train(self, batch):
        masks = batch["masks"].to(self.device)  # ASG106
        loss = self.compare(masks)
        loss.backward()
