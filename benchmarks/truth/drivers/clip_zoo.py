"""The models of open_clip, each configuration made small: contrastive training, text, captions."""

from __future__ import annotations

import copy
import functools
import json
from typing import Any

import open_clip
import torch
from open_clip.coca_model import CoCa
from open_clip.loss import ClipLoss, CoCaLoss, DistillClipLoss, SigLipLoss
from open_clip.model import CLIP, CustomTextCLIP

from benchmarks.truth.drivers import require_small

LARGEST = 30_000_000  # parameters
IMAGE, WORDS, LENGTH = 32, 99, 12
SMALL: dict[str, Any] = {
    "embed_dim": 32,
    "width": 32,
    "layers": 2,
    "heads": 4,
    "head_width": 8,
    "image_size": IMAGE,
    "patch_size": 8,
    "vocab_size": WORDS,
    "context_length": LENGTH,
    "attn_pooler_heads": 4,
    "attn_pooler_queries": 16,
}
TIMM = {"image_size": 64, "timm_model_name": "resnet18"}  # in place of larger towers  # fmt: skip
GENERATION = ("beam_search", "top_p", "top_k")


def cases() -> dict[str, Any]:
    """The configurations that differ when they are small; captions; losses; zero-shot heads."""
    found: dict[str, Any] = {}
    known = set()
    for name in sorted(open_clip.list_models()):
        config = small(open_clip.get_model_config(name))
        text = json.dumps(config, sort_keys=True)
        if text in known or "hf_model_name" in text:  # which need what is to be downloaded
            continue
        known.add(text)
        found[f"train {name}"] = functools.partial(train, config)
        if "multimodal_cfg" in config:
            for way in GENERATION:
                found[f"captions {name} {way}"] = functools.partial(caption, config, way)
    first = small(open_clip.get_model_config("ViT-B-32"))
    found["intermediates"] = functools.partial(look_inside, first)
    found["zero-shot"] = functools.partial(classify, first)
    found["distillation"] = distil
    return found


def small(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with small numbers, and one layer a stage."""
    made = copy.deepcopy(config)
    made["vision_cfg"]["head_width"] = 0
    for part in (made, *(each for each in made.values() if isinstance(each, dict))):
        for key, value in SMALL.items():
            if key in part:
                part[key] = [1, 1, 1, 1] if isinstance(part[key], list) else value
        if "timm_model_name" in part:
            part |= TIMM
    return made


def _made(config: dict[str, Any]) -> Any:
    given = copy.deepcopy(config)
    custom = given.pop("custom_text", False)
    if "multimodal_cfg" in given:
        return CoCa(**given)
    if custom or "timm_model_name" in given["vision_cfg"]:
        return CustomTextCLIP(**given)
    return CLIP(**given)


def _side(config: dict[str, Any]) -> int:
    return int(config["vision_cfg"]["image_size"])


def _words(model: Any, device: str) -> torch.Tensor:
    words = torch.randint(3, WORDS - 1, (4, model.context_length))
    words[:, -1] = WORDS - 1
    return words.to(device)


def train(config: dict[str, Any], device: str) -> list[Any]:
    """Two steps of training with the loss of the model's kind, and an evaluation."""
    torch.manual_seed(0)
    with torch.device("meta"):
        require_small(_made(config), LARGEST)
    model = _made(config).to(device)
    side = _side(config)
    images, words = torch.rand(4, 3, side, side).to(device), _words(model, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    results: list[Any] = []
    for _ in range(2):
        optimizer.zero_grad()
        losses = _losses(config, model(images, words))
        losses.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6)
        results.append(losses)
    model.eval()
    with torch.no_grad():
        image = model.encode_image(images, normalize=True)
        text = model.encode_text(words, normalize=True)
        results.append((image @ text.T).softmax(-1))
    return results


def _losses(config: dict[str, Any], output: Any) -> Any:
    if isinstance(output, dict):
        return sum(CoCaLoss(2.0, 1.0)(**output, output_dict=True).values())
    if "init_logit_bias" in config:
        return SigLipLoss()(*output)
    return ClipLoss()(*output)


def caption(config: dict[str, Any], way: str, device: str) -> list[Any]:
    """Captions of two images."""
    torch.manual_seed(0)
    model = _made(config).eval().to(device)
    images = torch.rand(2, 3, _side(config), _side(config)).to(device)
    given = {"sot_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return [
        model.generate(images, seq_len=10, max_seq_len=LENGTH, generation_type=way, **given)
        for _ in range(2)
    ]


def look_inside(config: dict[str, Any], device: str) -> list[Any]:
    """What the layers give."""
    model = _made(config).eval().to(device)
    side = _side(config)
    with torch.no_grad():
        return [model.forward_intermediates(torch.rand(2, 3, side, side).to(device),
                                            _words(model, device)[:2])]  # fmt: skip


def classify(config: dict[str, Any], device: str) -> list[Any]:
    """A head made of the names of classes, and what it tells of images."""
    torch.manual_seed(0)
    model = _made(config).eval().to(device)

    def tokens(texts: Any) -> torch.Tensor:
        count = 1 if isinstance(texts, str) else len(texts)
        return torch.arange(1, count * LENGTH + 1).reshape(count, LENGTH) % WORDS

    templates = (lambda name: f"a {name}", lambda name: f"one {name}")
    classes = ["cat", "dog", "fish"]
    head = open_clip.build_zero_shot_classifier(
        model, tokens, classes, templates, num_classes_per_batch=2, device=device
    )
    legacy = open_clip.build_zero_shot_classifier_legacy(
        model, tokens, classes, templates, device=device
    )
    side = _side(config)
    with torch.no_grad():
        image = model.encode_image(torch.rand(2, 3, side, side).to(device))
    return [image @ head, image @ legacy]


def distil(device: str) -> list[Any]:
    """The loss against a teacher's features."""
    features = [torch.randn(4, 32).to(device).requires_grad_() for _ in range(4)]
    scale = torch.tensor(2.0).to(device)
    losses = []
    for _ in range(2):
        loss = sum(DistillClipLoss()(*features[:2], scale, *features[2:], scale))
        loss.backward()
        losses.append(loss)
    return losses
