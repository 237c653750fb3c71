"""Each kind of adapter on a tiny language model: trained, merged, stored and loaded."""

from __future__ import annotations

import functools
import tempfile
from typing import Any

import peft
import torch
import transformers

from benchmarks.truth.programs import trained

TARGETS = ["q_proj", "v_proj"]
ADAPTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lora": ("LoraConfig", {"r": 4, "target_modules": TARGETS, "lora_dropout": 0.1}),
    "lora dora": ("LoraConfig", {"r": 4, "target_modules": TARGETS, "use_dora": True}),
    "lora stabilized": ("LoraConfig", {"r": 4, "target_modules": "all-linear", "use_rslora": True,
                                       "bias": "lora_only"}),
    "lora pissa": ("LoraConfig", {"r": 4, "target_modules": TARGETS, "init_lora_weights": "pissa"}),
    "lora olora": ("LoraConfig", {"r": 4, "target_modules": TARGETS, "init_lora_weights": "olora"}),
    "lora embedding": ("LoraConfig", {"r": 4, "target_modules": ["embed_tokens", "lm_head"]}),
    "lora tokens": ("LoraConfig", {"r": 4, "target_modules": TARGETS,
                                   "trainable_token_indices": [1, 5]}),
    "lora layers": ("LoraConfig", {"r": 4, "target_modules": TARGETS, "rank_pattern": {"q_proj": 2},
                                   "layers_to_transform": [0], "modules_to_save": ["lm_head"]}),
    "adalora": ("AdaLoraConfig", {"target_modules": TARGETS, "init_r": 4, "target_r": 2,
                                  "total_step": 8, "tinit": 1, "tfinal": 1, "deltaT": 1}),
    "ia3": ("IA3Config", {"target_modules": [*TARGETS, "down_proj"],
                          "feedforward_modules": ["down_proj"]}),
    "loha": ("LoHaConfig", {"r": 4, "target_modules": TARGETS, "module_dropout": 0.1}),
    "lokr": ("LoKrConfig", {"r": 4, "target_modules": TARGETS, "decompose_both": True}),
    "oft": ("OFTConfig", {"oft_block_size": 4, "target_modules": TARGETS}),
    "vera": ("VeraConfig", {"r": 4, "target_modules": ["q_proj"]}),
    "randlora": ("RandLoraConfig", {"r": 4, "target_modules": ["q_proj"]}),
    "fourier": ("FourierFTConfig", {"n_frequency": 10, "target_modules": TARGETS}),
    "vblora": ("VBLoRAConfig", {"r": 2, "num_vectors": 8, "vector_length": 4, "topk": 2,
                                "target_modules": ["q_proj"]}),
    "hra": ("HRAConfig", {"r": 4, "target_modules": TARGETS, "apply_GS": True}),
    "bone": ("MissConfig", {"r": 4, "target_modules": TARGETS}),
    "shira": ("ShiraConfig", {"r": 2, "target_modules": TARGETS}),
    "c3a": ("C3AConfig", {"block_size": 4, "target_modules": ["q_proj"]}),
    "waveft": ("WaveFTConfig", {"n_frequency": 10, "target_modules": TARGETS}),
    "road": ("RoadConfig", {"group_size": 4, "target_modules": TARGETS}),
    "norms": ("LNTuningConfig", {"target_modules": ["input_layernorm"]}),
    "tokens": ("TrainableTokensConfig", {"token_indices": [1, 5],
        "target_modules": ["embed_tokens"]}),
    "prompt": ("PromptTuningConfig", {"num_virtual_tokens": 4}),
    "prefix": ("PrefixTuningConfig", {"num_virtual_tokens": 4, "prefix_projection": True,
                                      "encoder_hidden_size": 16}),
    "p-tuning": ("PromptEncoderConfig", {"num_virtual_tokens": 4, "encoder_hidden_size": 16}),
    "p-tuning lstm": ("PromptEncoderConfig", {"num_virtual_tokens": 4, "encoder_hidden_size": 16,
                                              "encoder_reparameterization_type": "LSTM"}),
    "multitask": ("MultitaskPromptTuningConfig", {"num_virtual_tokens": 4, "num_tasks": 2}),
    "adaption": ("AdaptionPromptConfig", {"adapter_len": 4, "adapter_layers": 1}),
    "poly": ("PolyConfig", {"r": 4, "target_modules": TARGETS, "n_tasks": 2, "n_skills": 2,
                            "n_splits": 2}),
}  # fmt: skip
MERGES = (
    "linear", "svd", "cat", "ties", "ties_svd", "dare_linear", "dare_ties", "magnitude_prune",
)  # fmt: skip


def _model() -> Any:
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64, pad_token_id=0,
    ))  # fmt: skip


def _fed(kind: str, device: str) -> dict[str, Any]:
    torch.manual_seed(1)
    words = torch.randint(1, 32, (2, 8)).to(device)
    more = {"task_ids": torch.tensor([0, 1]).to(device)} if kind in ("multitask", "poly") else {}
    return {"input_ids": words, "attention_mask": torch.ones_like(words), "labels": words, **more}


def _adapt(kind: str, device: str) -> list[Any]:
    name, given = ADAPTERS[kind]
    config = getattr(peft, name)(task_type="CAUSAL_LM", **given)
    model = peft.get_peft_model(_model(), config).to(device)
    fed = _fed(kind, device)
    losses = trained(model, lambda: model(**fed).loss)[:2]
    model.eval()
    with torch.no_grad():
        after = model(**fed).logits
        if kind not in ("multitask", "poly"):
            with model.disable_adapter():
                after = torch.stack([model(**fed).logits.sum(), after.sum()])
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = peft.PeftModel.from_pretrained(_model().to(device), folder).eval()
            loaded = again(**fed).logits
        merges = hasattr(model.base_model, "merge_and_unload") and kind not in ("poly", "adaption")
        merged = model.merge_and_unload()(**_fed("", device)).logits if merges else after
    return [*losses, after, loaded, merged]


CASES: dict[str, Any] = {kind: functools.partial(_adapt, kind) for kind in ADAPTERS}


def _merge(style: str, device: str) -> list[Any]:
    config = peft.LoraConfig(r=4, target_modules=TARGETS, init_lora_weights=False)
    model = peft.get_peft_model(_model(), config, adapter_name="one").to(device)
    model.add_adapter("two", config)
    density = {} if style in ("linear", "svd", "cat") else {"density": 0.5}
    model.add_weighted_adapter(
        ["one", "two"], [0.7, 0.3], "both", combination_type=style, **density
    )
    model.set_adapter("both")
    with torch.no_grad():
        return [model.eval()(**_fed("", device)).logits]


CASES |= {f"merge {style}": functools.partial(_merge, style) for style in MERGES}


def generate(device: str) -> list[Any]:
    """Go on from words, with one adapter, with several in a batch, and with virtual tokens."""
    config = peft.LoraConfig(r=4, target_modules=TARGETS, init_lora_weights=False)
    model = peft.get_peft_model(_model(), config, adapter_name="one").to(device).eval()
    model.add_adapter("two", config)
    fed = _fed("", device)
    fed.pop("labels")
    prompted = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    other = peft.get_peft_model(_model(), prompted).to(device).eval()
    with torch.no_grad():
        return [
            model.generate(**fed, max_new_tokens=4, do_sample=False),
            model(**fed, adapter_names=["one", "two"]).logits,
            other.generate(**fed, max_new_tokens=4, do_sample=False),
        ]
