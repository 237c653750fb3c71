"""Trainers on a tiny language model and made-up words."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import datasets
import torch
import transformers
import trl

from benchmarks.truth.programs import rows  # noqa: F401

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]


def _tokenizer(folder: str) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = ["<pad>", "<eos>", "<unk>", *WORDS]
    made = Tokenizer(
        models.WordLevel({name: at for at, name in enumerate(names)}, unk_token="<unk>")
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    path = str(Path(folder) / "tokenizer.json")
    made.save(path)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=path, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",
        padding_side="left",
    )  # fmt: skip


def _model(kind: str = "LlamaForCausalLM", **given: Any) -> Any:
    torch.manual_seed(0)
    return getattr(transformers, kind)(transformers.LlamaConfig(
        vocab_size=11, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64, pad_token_id=0, eos_token_id=1,
        bos_token_id=1, **given,
    ))  # fmt: skip


def _texts(at: int) -> str:
    return " ".join(WORDS[(at + each) % 8] for each in range(3))


DATA: dict[str, Any] = {
    "text": lambda: {"text": [_texts(at) for at in range(4)]},
    "pairs": lambda: {
        "prompt": [_texts(at) for at in range(4)], "chosen": [" a b"] * 4,
        "rejected": [" c d e"] * 4
    },
    "completions": lambda: {
        "prompt": [_texts(at) for at in range(4)], "completion": [" a b c"] * 4
    },
    "prompts": lambda: {"prompt": [_texts(at) for at in range(4)]},
    "labels": lambda: {
        "prompt": [_texts(at) for at in range(4)], "completion": [" a b"] * 4,
        "label": [True, False, True, False],
    },
}  # fmt: skip


def _rewards(completions: list[str], **_: Any) -> list[float]:
    return [float(len(set(each.split()))) for each in completions]


KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "sft": ("SFT", "text", {"max_length": 16}),
    "sft completions": ("SFT", "completions", {"completion_only_loss": True}),
    "sft packed": ("SFT", "text", {"packing": True, "max_length": 8,
        "packing_strategy": "wrapped"}),
    "sft nll": ("SFT", "text", {"loss_type": "dft"}),
    "dpo": ("DPO", "pairs", {}),
    "dpo ipo": ("DPO", "pairs", {"loss_type": ["ipo"]}),
    "dpo hinge": ("DPO", "pairs", {"loss_type": ["hinge"]}),
    "dpo robust": ("DPO", "pairs", {"loss_type": ["robust"], "label_smoothing": 0.1}),
    "dpo apo": ("DPO", "pairs", {"loss_type": ["apo_zero"]}),
    "dpo several": ("DPO", "pairs", {"loss_type": ["sigmoid", "sft"], "loss_weights": [0.8, 0.2]}),
    "dpo weighted": ("DPO", "pairs", {"use_weighting": True}),
    "grpo": ("GRPO", "prompts", {"num_generations": 2, "max_completion_length": 4}),
    "grpo dr": ("GRPO", "prompts", {"num_generations": 2, "max_completion_length": 4, "beta": 0.1,
                                     "loss_type": "dr_grpo", "scale_rewards": False}),
    "grpo bnpo": ("GRPO", "prompts", {"num_generations": 2, "max_completion_length": 4,
                                       "loss_type": "bnpo", "top_entropy_quantile": 0.5,
                                       "mask_truncated_completions": True}),
    "rloo": ("RLOO", "prompts", {"num_generations": 2, "max_completion_length": 4}),
    "kto": ("KTO", "labels", {}),
    "reward": ("Reward", "pairs", {}),
}  # fmt: skip


def _train(name: str, device: str) -> list[Any]:
    kind, data, given = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        config = getattr(trl, f"{kind}Config")(
            folder, max_steps=2, per_device_train_batch_size=2, report_to=[], seed=1,
            logging_steps=1,
            use_cpu=device == "cpu", save_strategy="no", bf16=False, disable_tqdm=True, **given,
        )  # fmt: skip
        more = {"reward_funcs": _rewards} if kind in ("GRPO", "RLOO") else {}
        reward = kind == "Reward"
        model = _model("LlamaForSequenceClassification", num_labels=1) if reward else _model()
        model.save_pretrained(folder)
        model.config._name_or_path = folder  # what it is compared with is loaded from there
        trainer = getattr(trl, f"{kind}Trainer")(
            model=model, args=config, train_dataset=datasets.Dataset.from_dict(DATA[data]()),
            processing_class=_tokenizer(folder), **more,
        )  # fmt: skip
        trainer.train()
        times = ("time", "runtime", "per_second", "flos")
        told = [
            {key: value for key, value in each.items() if not any(word in key for word in times)}
            for each in trainer.state.log_history
        ]
        return [told, *trainer.model.parameters()]


CASES = {name: functools.partial(_train, name) for name in KINDS}
