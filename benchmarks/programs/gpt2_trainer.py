"""transformers' Trainer on its GPT-2, with evaluation and gradient accumulation."""

import tempfile

import torch
from digest import digest
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)

set_seed(0)
config = GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2)
model = GPT2LMHeadModel(config)
rows = [{"input_ids": r, "labels": r} for r in torch.randint(0, 64, (32, 16))]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, max_steps=6, per_device_train_batch_size=4, gradient_accumulation_steps=2,
        report_to=[], logging_steps=2, eval_strategy="steps", eval_steps=3, disable_tqdm=True,
        use_cpu=True, seed=0,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows[:8])
    trainer.remove_callback(PrinterCallback)
    trainer.train()
for entry in trainer.state.log_history:
    print({key: value for key, value in entry.items() if "loss" in key or "norm" in key})
print(digest(p.detach().numpy() for p in model.parameters()))
