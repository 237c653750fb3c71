"""The model types of transformers, each made tiny: training with labels, evaluation, generation.

A configuration's numbers are made small by what they are called; what a model is fed follows from
its main input. Each head that the library maps a type to is a case, at most one of a kind of task.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from typing import Any

import torch
import transformers
from transformers.models.auto import configuration_auto, modeling_auto

from benchmarks.truth.cases import seed
from benchmarks.truth.drivers import require_small

TASKS = {
    "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "text": modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    "tokens": modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
    "answers": modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
    "choice": modeling_auto.MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES,
    "image": modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    "objects": modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES,
    "segments": modeling_auto.MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING_NAMES,
    "pixels": modeling_auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES,
    "depth": modeling_auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES,
    "speech": modeling_auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
    "ctc": modeling_auto.MODEL_FOR_CTC_MAPPING_NAMES,
    "audio": modeling_auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES,
    "caption": modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    "series": modeling_auto.MODEL_FOR_TIME_SERIES_PREDICTION_MAPPING_NAMES,
    "base": modeling_auto.MODEL_MAPPING_NAMES,
}
PRETRAINING = modeling_auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES
GENERATING = frozenset({"causal", "seq2seq", "speech"})
STYLES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "samples": {"do_sample": True, "top_k": 5, "top_p": 0.9, "temperature": 0.8},
    "beams": {"num_beams": 2, "do_sample": False},
}
PART = re.compile(r"_(text|vision|audio|encoder|decoder|qformer|thinker)(_model)?$")
LARGEST = 8_000_000  # parameters
MOST_DEPTH = 4  # of configurations within each other
IMAGE, PATCH, WORDS, LENGTH = 32, 8, 99, 12

SMALL: tuple[tuple[str, Any], ...] = (  # by what a number is called, the first that fits
    (r"vocab_size$", WORDS),
    (r"^rotary_dim$", 4),
    (r"(attention_heads|num_heads|n_heads?|_heads)$", 4),
    (r"^(num_hidden_layers|n_layers?|num_layers|encoder_layers|decoder_layers|depth)$", 2),
    (r"(num_hidden_layers|_layers|num_blocks)$", 2),
    (r"^(head_dim|qk_nope_head_dim|v_head_dim|d_kv|attention_head_size)$", 8),
    (r"qk_rope_head_dim$", 8),
    (r"^(hidden_size|d_model|n_embd|embed_dim|dim|n_embed|emb_dim|encoder_hidden_size)$", 32),
    (r"(embedding_size|hidden_size|hidden_dim|projection_dim|_embed_dim|d_model|proj_dim)$", 32),
    (r"(intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|mlp_dim|inner_dim)$", 64),
    (r"(q_lora_rank|kv_lora_rank|lora_rank|rank)$", 16),
    (r"^(num_experts|n_routed_experts|num_local_experts|moe_num_experts)$", 4),
    (r"^(num_experts_per_tok|moe_topk|top_k|num_experts_per_token)$", 2),
    (r"^(n_group|topk_group)$", 1),
    (r"(max_position_embeddings|n_positions|max_seq_len|max_source_positions|n_ctx)$", 128),
    (r"max_target_positions$", 128),
    (r"(image_size|img_size)$", IMAGE),
    (r"patch_size$", PATCH),
    (r"(num_mel_bins|n_mels)$", 16),
    (r"num_queries$", 6),
    (r"(_token_id|_token_index)$", None),
)


def small(config: Any) -> Any:
    """The configuration made small: made anew, so that what follows from its numbers does, too."""
    changes = _changes(config)
    try:
        return type(config)(**changes)
    except Exception:  # noqa: BLE001  whatever a foreign class refuses
        return _changed(config, changes)


def _changes(config: Any, depth: int = 0) -> dict[str, Any]:
    """The small numbers by their names, and those of the configurations that it holds."""
    found: dict[str, Any] = {}
    for name, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            if depth < MOST_DEPTH:
                found[name] = _changes(value, depth + 1)
        elif isinstance(value, int) and not isinstance(value, bool):
            least = _least(config, name, value)
            if least is not None:
                found[name] = least
        elif isinstance(value, dict) and "mrope_section" in value:
            found[name] = {**value, "mrope_section": [1, 1, 2]}
        elif _are_sizes(name, value):
            most = 1 if name == "depths" else 16
            found[name] = type(value)(min(each, most) for each in value)
    return found


def _are_sizes(name: str, value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(type(each) is int for each in value)
        and re.search(r"(hidden_sizes|embed_dims?|depths|channels)$", name) is not None
    )


def _least(config: Any, name: str, value: int) -> int | None:
    if re.search(r"(num_key_value_heads|kv_heads)$", name):
        heads = getattr(config, "num_attention_heads", None)
        return 4 if value == heads else min(value, 2)
    if name == "num_hidden_layers" and len(set(getattr(config, "layer_types", None) or ())) > 1:
        return min(value, 4)
    for pattern, least in SMALL:
        if re.search(pattern, name):
            if least is None:
                return WORDS - 1 - len(name) % 7 if value >= WORDS else None
            return int(least) if value > least else None
    return None


def _changed(config: Any, changes: dict[str, Any]) -> Any:
    for name, value in changes.items():
        held = getattr(config, name, None)
        if isinstance(held, transformers.PretrainedConfig):
            _changed(held, value)
        else:
            _put(config, name, value)
    return config


def _put(config: Any, name: str, value: Any) -> None:
    with contextlib.suppress(AttributeError, NotImplementedError, TypeError, ValueError):
        setattr(config, name, value)  # unless it follows from others


def cases() -> dict[str, Any]:
    """Every type with its first head; each third with another one, and with generation.

    What is a part of another type, as its text model, runs in that.
    """
    found: dict[str, Any] = {}
    kinds = list(configuration_auto.CONFIG_MAPPING_NAMES)
    whole = [kind for kind in kinds if not (PART.search(kind) and _is_part(kind, kinds))]
    for at, kind in enumerate(whole):
        for task, head in list(_heads(kind).items())[: 1 + (at % 3 == 0)]:
            found[f"{kind} {task}"] = (
                _Captions(kind, head)
                if task == "caption"
                else functools.partial(train, kind, task, head)
            )
            if task in GENERATING and at % 3 == 0:
                style = list(STYLES)[at // 3 % len(STYLES)]
                made = functools.partial(generate, kind, head, style)
                found[f"{kind} {task} {style}"] = made
    return found


def _is_part(kind: str, kinds: list[str]) -> bool:
    return any(kind.startswith(f"{other}_") for other in kinds)


def _heads(kind: str) -> dict[str, str]:
    """The classes of a type, by task; the bare model only where it has no head."""
    heads: dict[str, str] = {}
    for task, names in (*TASKS.items(), ("pretraining", PRETRAINING)):
        head = names.get(kind)
        head = head[0] if isinstance(head, list | tuple) else head
        if head and head not in heads.values() and (task != "base" or not heads):
            heads[task] = head
    return heads


def _made(kind: str, head: str, device: str) -> Any:
    config = small(configuration_auto.CONFIG_MAPPING[kind]())
    for name, value in (("pad_token_id", 0), ("bos_token_id", 1), ("eos_token_id", 2)):
        if getattr(config, name, None) is None:
            _put(config, name, value)
    made = getattr(transformers, head)
    with torch.device("meta"):
        require_small(made(config), LARGEST)
    return made(config).to(device)


def _inputs(model: Any, task: str, device: str) -> dict[str, Any]:
    """What the model is fed: as its main input asks, and as its forward pass takes."""
    takes = inspect.signature(model.forward).parameters
    words = torch.randint(3, WORDS - 10, (2, LENGTH))
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, -3:] = 0
    main = model.main_input_name
    given: dict[str, Any] = {}
    if main == "input_ids":
        given = {"input_ids": words, "attention_mask": mask}
        if "pixel_values" in takes and task in ("caption", "base"):
            given["pixel_values"] = torch.randn(2, 3, IMAGE, IMAGE)
    elif main == "pixel_values":
        given = {"pixel_values": torch.randn(2, 3, IMAGE, IMAGE)}
        if "input_ids" in takes:
            given |= {"input_ids": words, "attention_mask": mask}
    elif main == "input_features":
        bins = getattr(model.config, "num_mel_bins", 16)
        given = {"input_features": torch.randn(2, bins, 128)}
    elif main == "input_values" and hasattr(model.config, "num_mel_bins"):
        frames = getattr(model.config, "max_length", 128)
        given = {"input_values": torch.randn(2, frames, model.config.num_mel_bins)}
    elif main == "input_values":
        given = {"input_values": torch.randn(2, 8000)}
    else:
        raise ValueError(f"an input called {main}")
    if "decoder_input_ids" in takes and task in ("base", "answers", "text"):
        given["decoder_input_ids"] = words
    given = {name: value.to(device) for name, value in given.items()}
    if task == "caption" and hasattr(model, "get_image_features"):
        return _with_images(model, given, takes)
    if task == "choice":
        given = {name: value.unsqueeze(1).repeat(1, 2, 1) for name, value in given.items()}
    return given


def _with_images(model: Any, given: dict[str, Any], takes: Any) -> dict[str, Any]:
    """Words that begin with as many image tokens as the model makes features of an image."""
    token = next(
        (
            held
            for name in ("image_token_id", "image_token_index")
            if isinstance(held := getattr(model.config, name, None), int)
        ),
        None,
    )
    if token is None:
        return given
    words = given["input_ids"]
    images = {"pixel_values": given["pixel_values"]}
    if "image_grid_thw" in takes:
        images = _as_patches(model.config.vision_config, words.device)
    with torch.no_grad():
        features = model.get_image_features(**images)
    features = getattr(features, "pooler_output", features)
    parts = features if isinstance(features, list | tuple) else [features]
    count = sum(part.numel() // part.shape[-1] for part in parts) // len(words)
    words = torch.cat([torch.full_like(words[:, :1], token).repeat(1, count), words], 1)
    given = {"input_ids": words, "attention_mask": torch.ones_like(words), **images}
    if "mm_token_type_ids" in takes:
        given["mm_token_type_ids"] = (words == token).int()
    return given


def _as_patches(config: Any, device: torch.device) -> dict[str, Any]:
    """Two images cut into patches of 4 by 4, and their grids."""
    frames = getattr(config, "temporal_patch_size", 1)
    channels = getattr(config, "in_channels", getattr(config, "num_channels", 3))
    values = torch.randn(2 * 4 * 4, channels * frames * config.patch_size**2)
    grids = torch.tensor([[1, 4, 4], [1, 4, 4]])
    return {"pixel_values": values.to(device), "image_grid_thw": grids.to(device)}


def _labels(model: Any, task: str, given: dict[str, Any], device: str) -> dict[str, Any]:
    words = given.get("input_ids", torch.randint(3, WORDS - 10, (2, LENGTH), device=device))
    if task in ("causal", "masked", "seq2seq", "caption", "speech", "pretraining"):
        return {"labels": words.clone()}
    if task in ("text", "image", "audio", "choice"):
        return {"labels": torch.tensor([0, 1], device=device)}
    if task == "tokens":
        return {"labels": words % 2}
    if task == "answers":
        begin, end = torch.tensor([[1, 2], [3, 5]], device=device)
        return {"start_positions": begin, "end_positions": end}
    if task == "ctc":
        return {"labels": words[:, :3]}
    if task == "objects":
        boxes = torch.tensor([[0.5, 0.5, 0.2, 0.2], [0.3, 0.3, 0.1, 0.2]], device=device)
        classes = torch.tensor([0, 1], device=device)
        return {"labels": [{"class_labels": classes, "boxes": boxes} for _ in range(2)]}
    if task == "segments":
        masks = torch.zeros(2, IMAGE, IMAGE, device=device)
        masks[0, :8], masks[1, 8:] = 1, 1
        classes = torch.tensor([0, 1], device=device)
        return {"mask_labels": [masks, masks], "class_labels": [classes, classes]}
    if task == "pixels":
        return {"labels": torch.randint(0, 2, (2, IMAGE, IMAGE), device=device)}
    return {}


def train(kind: str, task: str, head: str, device: str) -> list[Any]:
    """Two steps of training where there is a loss, and an evaluation."""
    model = _made(kind, head, device)
    given = _inputs(model, task, device)
    labels = _labels(model, task, given, device)
    results: list[Any] = []
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        output = model(**given, **labels)
        loss = getattr(output, "loss", None)
        if loss is None:
            loss = _first(output).float().square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        results.append(loss)
    model.eval()
    with torch.no_grad():
        results.append(_first(model(**given)))
    return results


class _Captions:
    """Words after images, or words alone for a model that takes images in a way of its own."""

    def __init__(self, kind: str, head: str) -> None:
        self._kind = kind
        self._head = head
        self._task = ""

    def __call__(self, device: str) -> list[Any]:
        """Train on a device; what the model takes is found out once, on the CPU."""
        if not self._task:
            try:
                train(self._kind, "caption", self._head, "cpu")
            except Exception:  # noqa: BLE001  whatever a foreign model says
                self._task = "causal"
            else:
                self._task = "caption"
            seed()
        return train(self._kind, self._task, self._head, device)


def _first(output: Any) -> torch.Tensor:
    """The first tensor of an output."""
    values = output.values() if isinstance(output, dict) else output
    return next(value for value in values if isinstance(value, torch.Tensor))


def generate(kind: str, head: str, style: str, device: str) -> list[Any]:
    """Eight new tokens for each of two prompts."""
    model = _made(kind, head, device).eval()
    given = _inputs(model, "generate", device)
    mask = given.get("attention_mask")
    if mask is not None:
        given["attention_mask"] = mask.flip(1)  # prompts are padded on the left
    with torch.no_grad():
        made = model.generate(**given, max_new_tokens=8, pad_token_id=0, **STYLES[style])
    return [made]
