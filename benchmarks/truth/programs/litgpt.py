"""Tiny language models of each kind: trained, adapted, and asked to go on."""

from __future__ import annotations

import functools
from typing import Any

import torch
from litgpt import adapter, adapter_v2, lora, model, utils
from litgpt.config import Config
from litgpt.generate import base as generate
from litgpt.generate import speculative_decoding

from benchmarks.truth.programs import trained

SMALL: dict[str, Any] = {
    "n_layer": 2, "n_embd": 32, "n_head": 4, "block_size": 32, "vocab_size": 64,
    "padded_vocab_size": 64,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "pythia": {"name": "pythia-14m"},
    "llama": {"norm_class_name": "RMSNorm", "mlp_class_name": "LLaMAMLP", "intermediate_size": 48,
              "rotary_percentage": 1.0, "bias": False, "parallel_residual": False},
    "grouped": {"n_query_groups": 2, "rotary_percentage": 1.0},
    "one group": {"n_query_groups": 1, "shared_attention_norm": True},
    "gemma": {"norm_class_name": "RMSNorm", "mlp_class_name": "GemmaMLP", "intermediate_size": 48,
              "scale_embeddings": True, "bias": False, "parallel_residual": False,
              "post_attention_norm": True, "post_mlp_norm": True,
              "attention_logit_softcapping": 50.0,
              "final_logit_softcapping": 30.0, "sliding_window_size": 4,
              "sliding_window_indices": [1, 0]},
    "experts": {"norm_class_name": "RMSNorm", "mlp_class_name": "LLaMAMoE", "intermediate_size": 48,
                "n_expert": 4, "n_expert_per_token": 2, "bias": False, "parallel_residual": False},
    "normed queries": {"norm_class_name": "RMSNorm", "mlp_class_name": "LLaMAMLP", "norm_qk": True,
                       "intermediate_size": 48, "bias": False, "parallel_residual": False},
}  # fmt: skip


def _config(kind: str, of: Any = Config) -> Any:
    given = dict(KINDS[kind])
    name = given.pop("name", None)
    return of.from_name(name, **SMALL) if name else of(**SMALL, **given)


def _words(device: str) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randint(0, 64, (2, 12)).to(device)


def _train(kind: str, package: Any, given: dict[str, Any], device: str) -> list[Any]:
    torch.manual_seed(0)
    config = _config(kind, package.Config if package is not model else Config)
    for name, value in given.items():
        setattr(config, name, value)
    made = package.GPT(config).to(device)
    if package is lora:
        lora.mark_only_lora_as_trainable(made)
    elif package is adapter:
        adapter.mark_only_adapter_as_trainable(made)
    elif package is adapter_v2:
        adapter_v2.mark_only_adapter_v2_as_trainable(made)
    words = _words(device)

    def loss() -> torch.Tensor:
        return utils.chunked_cross_entropy(made(words[:, :-1]), words[:, 1:], chunk_size=8)

    found = trained(made, loss, steps=1 if package in (adapter, adapter_v2) else 2)
    if package is lora:
        lora.merge_lora_weights(made)
        found.append(made(words))
    return found


def _go_on(kind: str, given: dict[str, Any], device: str) -> list[Any]:
    torch.manual_seed(0)
    made = model.GPT(_config(kind)).to(device).eval()
    made.max_seq_length = 20
    made.set_kv_cache(batch_size=1, device=torch.device(device))
    with torch.no_grad():
        return [generate.generate(made, _words(device)[0], max_returned_tokens=18, **given)]


LORA = {f"lora_{name}": True for name in ("query", "key", "value", "projection", "mlp", "head")}
CASES: dict[str, Any] = {
    **{f"train {kind}": functools.partial(_train, kind, model, {}) for kind in KINDS},
    **{
        f"lora {kind}": functools.partial(
            _train, kind, lora, {"lora_r": 4, "lora_alpha": 8, "lora_dropout": 0.1, **LORA}
        )
        for kind in ("pythia", "llama", "grouped", "experts")
    },
    "lora some": functools.partial(
        _train,
        "llama",
        lora,
        {"lora_r": 4, "lora_alpha": 8, "lora_query": True, "lora_value": True},
    ),
    "adapter": functools.partial(_train, "llama", adapter, {"adapter_start_layer": 0}),
    "adapter 2": functools.partial(_train, "llama", adapter_v2, {"adapter_start_layer": 0}),
    "go on greedy": functools.partial(_go_on, "llama", {"temperature": 0.0, "eos_id": 3}),
    "go on top k": functools.partial(_go_on, "pythia", {"temperature": 0.8, "top_k": 5}),
    "go on top p": functools.partial(_go_on, "one group", {"temperature": 0.8, "top_p": 0.7}),
    "go on grouped": functools.partial(_go_on, "grouped", {"top_k": 5, "include_prompt": False}),
}


def stops(device: str) -> list[Any]:
    """Token by token, until one of several sequences ends it."""
    torch.manual_seed(0)
    made = model.GPT(_config("llama")).to(device).eval()
    made.max_seq_length = 20
    made.set_kv_cache(batch_size=1, device=torch.device(device))
    with torch.no_grad():
        return list(generate.generate_fn(
            made, prompt=_words(device)[0], max_returned_tokens=18, temperature=0.8, top_k=5,
            stop_tokens=([3], [5, 7]), include_prompt=True, include_eos=True,
        ))  # fmt: skip


def guessed(device: str) -> list[Any]:
    """A small model's guesses, kept or not by a larger one."""
    torch.manual_seed(0)
    found = []
    pair = [model.GPT(_config("llama")).to(device).eval() for _ in range(2)]
    for made in pair:
        made.max_seq_length = 24
        made.set_kv_cache(batch_size=1, device=torch.device(device))
    with torch.no_grad():
        found += speculative_decoding.generate(
            *pair, _words(device)[0], max_returned_tokens=18, temperature=1.0, speculative_k=3
        )
    return found
