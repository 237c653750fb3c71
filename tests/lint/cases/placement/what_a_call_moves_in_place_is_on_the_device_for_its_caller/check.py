# settings: min_confidence=low min_probability=0.15
from typing import Any

import torch


class Validator:
    def preprocess(self, batch: dict[str, Any]) -> dict[str, Any]:
        for k, v in batch.items():
            if isinstance(v, torch.Tensor):
                batch[k] = v.to(self.device, non_blocking=self.device.type != "cpu")
        batch["image"] = (batch["image"].half() if self.half else batch["image"].float()) / 255
        return batch

    def run(self, loader: torch.utils.data.DataLoader):
        for batch in loader:
            batch = self.preprocess(batch)
            self.update(self.model(batch["image"]), batch)


class MaskValidator(Validator):
    def preprocess(self, batch):
        batch = super().preprocess(batch)
        batch["mask"] = batch["mask"].to(self.device, dtype=torch.int32)  # clean
        return batch

    def update(self, outputs, batch):
        print(batch["mask"].max())  # ASG101
