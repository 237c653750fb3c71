"""A tiny model that is trained, aligned, and transcribes noise."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
import whisper
from whisper import decoding, timing, tokenizer

from benchmarks.truth.programs import trained

SIZES = whisper.ModelDimensions(
    n_mels=80, n_audio_ctx=1500, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=51865,
    n_text_ctx=448, n_text_state=16, n_text_head=2, n_text_layer=1,
)  # fmt: skip


def _model(device: str) -> whisper.Whisper:
    torch.manual_seed(0)
    return whisper.Whisper(SIZES).to(device)


def _sound(seconds: int = 2) -> Any:
    return np.random.default_rng(0).normal(size=16_000 * seconds).astype("float32") * 0.1


def _heard(device: str) -> torch.Tensor:
    padded = whisper.pad_or_trim(torch.from_numpy(_sound()).to(device))
    return whisper.log_mel_spectrogram(padded, device=device)


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {"language": "en"},
    "beams": {"language": "en", "beam_size": 2, "patience": 1.0},
    "samples": {"language": "en", "temperature": 0.7, "best_of": 2},
    "prompted": {"language": "en", "prompt": "hello", "prefix": "and", "suppress_blank": False},
    "without times": {"language": "en", "without_timestamps": True, "length_penalty": 0.5},
    "unknown language": {},
}


def _decode(given: dict[str, Any], device: str) -> list[Any]:
    options = whisper.DecodingOptions(fp16=False, sample_len=6, **given)
    found = whisper.decode(_model(device), _heard(device), options)
    return [found.tokens, found.avg_logprob, found.no_speech_prob, found.text]


CASES: dict[str, Any] = {name: functools.partial(_decode, given) for name, given in OPTIONS.items()}


def language(device: str) -> list[Any]:
    """Which language is spoken."""
    tokens, found = decoding.detect_language(_model(device), _heard(device).unsqueeze(0))
    return [tokens, found]


def transcribe(device: str) -> list[Any]:
    """A text with times, from what came before, with fall-backs to higher temperatures."""
    found = whisper.transcribe(
        _model(device), _sound(), language="en", temperature=(0.0, 0.4), fp16=False, sample_len=5,
        logprob_threshold=-1.0, initial_prompt="well", word_timestamps=False, verbose=None,
    )  # fmt: skip
    return [[each["tokens"] for each in found["segments"]], found["text"]]


def words(device: str) -> list[Any]:
    """When each word is said."""
    model = _model(device)
    reader = tokenizer.get_tokenizer(True, language="en", task="transcribe")
    tokens = reader.encode(" hello there, who is it")
    found = timing.find_alignment(model, reader, tokens, _heard(device), 200)
    noise = torch.rand(3, 20, device="cpu").to(device)
    return [[(each.word, each.start, each.end) for each in found],
            timing.median_filter(noise, 3), timing.dtw(noise)]  # fmt: skip


def train(device: str) -> list[Any]:
    """Two steps on what comes next."""
    model, heard = _model(device), _heard(device).unsqueeze(0)
    tokens = torch.arange(100, 108).unsqueeze(0).to(device)

    def loss() -> torch.Tensor:
        found = model(heard, tokens)
        return torch.nn.functional.cross_entropy(found.transpose(1, 2), tokens)

    return trained(model, loss)[:2]
