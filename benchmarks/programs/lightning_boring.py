"""lightning's own demo model, fitted, validated and tested by its Trainer."""

import tempfile

from digest import digest
from lightning.pytorch import Trainer, seed_everything
from lightning.pytorch.demos.boring_classes import BoringModel

seed_everything(0)
model = BoringModel()
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(
        default_root_dir=folder, max_epochs=2, limit_train_batches=6, limit_val_batches=2,
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        gradient_clip_val=0.5,
    )  # fmt: skip
    trainer.fit(model)
    trainer.test(model, verbose=False)
print(trainer.global_step, digest(p.detach().numpy() for p in model.parameters()))
