"""The transformers of x-transformers: each option that is off, switched on alone; wrappers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
import x_transformers as x
from x_transformers.continuous import ContinuousAutoregressiveWrapper, ContinuousTransformerWrapper
from x_transformers.x_transformers import AttentionLayers
from x_transformers.xval import XValAutoregressiveWrapper, XValTransformerWrapper

WORDS, LENGTH, D = 40, 16, 32
OPTIONS: tuple[tuple[str, Any], ...] = (  # prefix of the options, of what they are
    ("", AttentionLayers), ("attn_", x.Attention), ("ff_", x.FeedForward),
    ("wrapper_", x.TransformerWrapper),
)  # fmt: skip
SIZES: dict[str, Any] = {  # options that are no switches
    "num_residual_streams": 2, "shift_tokens": 1, "rel_pos_num_buckets": 8, "layer_dropout": 0.2,
    "sandwich_coef": 1, "attn_num_mem_kv": 2, "attn_sparse_topk": 4, "attn_kv_heads": 2,
    "attn_max_attend_past": 4, "attn_dropout": 0.1, "ff_dropout": 0.1, "par_ratio": 3,
    "wrapper_num_memory_tokens": 2, "wrapper_max_mem_len": 8, "wrapper_logits_dim": 20,
    "wrapper_num_output_heads": 2,
}  # fmt: skip
GENERATION: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0}, "top_k": {}, "top_p": {"filter_logits_fn": "top_p"},
    "top_a": {"filter_logits_fn": "top_a"}, "min_p": {"filter_logits_fn": "min_p"},
    "end": {"eos_token": 3}, "without cache": {"cache_kv": False},
}  # fmt: skip


def cases() -> dict[str, Any]:
    """Every option, generation, and the wrappers."""
    found: dict[str, Any] = {"decoder": functools.partial(train, {})}
    for name, value in _options():
        found[f"option {name}"] = functools.partial(train, {name: value})
    for name, given in GENERATION.items():
        found[f"generation {name}"] = functools.partial(generate, given)
    for run in (prompts, encode, translate, look, masked, continuous, numbers, long, belief, prefer,
                several):  # fmt: skip
        found[run.__name__] = run
    return found


def _options() -> Iterator[tuple[str, Any]]:
    yield from SIZES.items()
    for prefix, of in OPTIONS:
        for name, parameter in inspect.signature(of).parameters.items():
            if parameter.default is False:
                yield f"{prefix}{name}", True


def _decoder(option: dict[str, Any] | None = None) -> Any:
    given = option or {}
    wrapper = {name[8:]: value for name, value in given.items() if name.startswith("wrapper_")}
    layers = {name: value for name, value in given.items() if not name.startswith("wrapper_")}
    torch.manual_seed(0)
    return x.TransformerWrapper(
        num_tokens=WORDS,
        max_seq_len=LENGTH * 2,
        attn_layers=x.Decoder(dim=D, depth=2, heads=4, attn_dim_head=8, **layers),
        **wrapper,
    )


def _words(device: str) -> torch.Tensor:
    return torch.randint(4, WORDS, (2, LENGTH)).to(device)


def _steps(model: Any, loss: Callable[[], Any]) -> list[Any]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    results = []
    for _ in range(2):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        results.append(value)
    return results


def train(option: dict[str, Any], device: str) -> list[Any]:
    """Two steps of training with a mask, and an evaluation."""
    model = _decoder(option).to(device)
    words, mask = _words(device), torch.ones(2, LENGTH, dtype=torch.bool).to(device)
    mask[1, -4:] = False

    def loss() -> Any:
        output = model(words, mask=mask)
        output = output[0] if isinstance(output, list | tuple) else output
        return output.float().square().mean()

    results = _steps(model, loss)
    model.eval()
    with torch.no_grad():
        return [*results, model(words)]


def generate(given: dict[str, Any], device: str) -> list[Any]:
    """Two steps of training to tell the next word, and words told."""
    model = x.AutoregressiveWrapper(_decoder({"rotary_pos_emb": True})).to(device)
    words = _words(device)
    results = _steps(model, lambda: model(words))
    return [*results, model.generate(words[:, :4], 8, **given)]


def prompts(device: str) -> list[Any]:
    """Prompts of several lengths, and a second model that is held against the first."""
    model = x.AutoregressiveWrapper(_decoder()).to(device).eval()
    words = _words(device)
    amateur = _decoder().to(device).eval()
    return [
        model.generate([words[0, :3], words[1, :6]], 6),
        model.generate(words[:, :4], 6, amateur_model=amateur),
    ]


def encode(device: str) -> list[Any]:
    """An encoder's embeddings."""
    torch.manual_seed(0)
    layers = x.Encoder(dim=D, depth=2, heads=4)
    model = x.TransformerWrapper(
        num_tokens=WORDS, max_seq_len=LENGTH, use_cls_token=True, attn_layers=layers
    ).to(device)
    words = _words(device)
    return _steps(model, lambda: model(words).square().mean())


def translate(device: str) -> list[Any]:
    """An encoder and a decoder."""
    torch.manual_seed(0)
    model = x.XTransformer(
        dim=D, enc_num_tokens=WORDS, enc_depth=2, enc_heads=4, enc_max_seq_len=LENGTH,
        dec_num_tokens=WORDS, dec_depth=2, dec_heads=4, dec_max_seq_len=LENGTH,
        tie_token_emb=True, cross_attn_tokens_dropout=0.25,
    ).to(device)  # fmt: skip
    source, target = _words(device), _words(device)
    mask = torch.ones(2, LENGTH, dtype=torch.bool).to(device)
    results = _steps(model, lambda: model(source, target, mask=mask))
    return [*results, model.generate(source, target[:, :1], 6, mask=mask)]


def look(device: str) -> list[Any]:
    """Classes of images, and captions that attend to them."""
    torch.manual_seed(0)
    layers = x.Encoder(dim=D, depth=2, heads=4)
    model = x.ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=4, num_register_tokens=2, attn_layers=layers
    ).to(device)
    images = torch.rand(2, 3, 32, 32).to(device)
    results = _steps(model, lambda: model(images).square().mean())
    captions = _decoder({"cross_attend": True}).to(device)
    words = _words(device)
    seen = model(images, return_embeddings=True).detach()
    return results + _steps(captions, lambda: captions(words, context=seen).square().mean())


def masked(device: str) -> list[Any]:
    """Masked words, told in several rounds."""
    torch.manual_seed(0)
    net = x.TransformerWrapper(
        num_tokens=WORDS, max_seq_len=LENGTH, attn_layers=x.Encoder(dim=D, depth=2, heads=4)
    )
    model = x.NonAutoregressiveWrapper(net, mask_id=0, steps=4, self_token_critic=True).to(device)
    words = _words(device)
    results = _steps(model, lambda: model(words).loss)
    return [*results, model.generate(2)]


def continuous(device: str) -> list[Any]:
    """Vectors in place of words."""
    torch.manual_seed(0)
    net = ContinuousTransformerWrapper(
        dim_in=8, dim_out=8, max_seq_len=LENGTH, attn_layers=x.Decoder(dim=D, depth=2, heads=4)
    )
    model = ContinuousAutoregressiveWrapper(net).to(device)
    values, lengths = torch.randn(2, LENGTH, 8).to(device), torch.tensor([16, 10]).to(device)
    results = _steps(model, lambda: model(values, lens=lengths))
    return [*results, model.generate(values[:, :2], 6)]


def numbers(device: str) -> list[Any]:
    """Words some of which are numbers."""
    torch.manual_seed(0)
    net = XValTransformerWrapper(
        num_tokens=WORDS, numerical_token_id=3, max_seq_len=LENGTH,
        attn_layers=x.Decoder(dim=D, depth=2, heads=4),
    )  # fmt: skip
    model = XValAutoregressiveWrapper(net).to(device)
    words, values = _words(device), torch.randn(2, LENGTH).to(device)
    words[:, 2::4] = 3
    results = _steps(model, lambda: model(words, values))
    return [*results, model.generate(words[:, :2], values[:, :2], 5)]


def long(device: str) -> list[Any]:
    """Segments, with the memories of those before."""
    net = _decoder({"wrapper_max_mem_len": 8, "rel_pos_bias": True})
    model = x.XLAutoregressiveWrapper(net).to(device)
    words = torch.randint(4, WORDS, (2, LENGTH * 3)).to(device)
    results = _steps(model, lambda: model(words))
    return [*results, model.generate(words[:, :4], 40)]


def belief(device: str) -> list[Any]:
    """Words told from both ends."""
    model = x.BeliefStateWrapper(_decoder(), _decoder()).to(device)
    words = _words(device)
    results = _steps(model, lambda: model(words))
    return [*results, model.generate_with_suffix_cond(words[:, :3], 5, suffix=words[:, -3:])]


def prefer(device: str) -> list[Any]:
    """What is preferred, and what is not."""
    model = x.DPO(_decoder(), pad_id=0).to(device)
    better, worse = _words(device), _words(device)
    mask = torch.zeros(2, LENGTH, dtype=torch.bool).to(device)
    mask[:, :4] = True
    return _steps(model, lambda: model(better, worse, prompt_mask=mask))


def several(device: str) -> list[Any]:
    """Several sorts of words at once; words cut where they surprise."""
    torch.manual_seed(0)
    model = x.MultiInputTransformerWrapper(
        num_tokens={"note": WORDS, "length": 9}, max_seq_len=LENGTH,
        attn_layers=x.Decoder(dim=D, depth=2, heads=4),
    ).to(device)  # fmt: skip
    given = {"note": _words(device), "length": _words(device) % 9}
    results = _steps(model, lambda: sum(part.mean() for part in model(given).values()))
    tokenizer = x.EntropyBasedTokenizer(_decoder().to(device), entropy_threshold=3.0)
    return [*results, tokenizer(_words(device), return_segmented_seq=True)]
