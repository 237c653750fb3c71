"""The functions and transforms of torchaudio, and its models made small: training and inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torchaudio import models

from benchmarks.truth.drivers import modules_zoo

MODULES = ["torchaudio.functional", "torchaudio.transforms"]
ENCODER: dict[str, Any] = {
    "extractor_mode": "group_norm", "extractor_conv_layer_config": [(16, 10, 5), (16, 3, 2)] * 2,
    "extractor_conv_bias": False, "encoder_embed_dim": 32, "encoder_projection_dropout": 0.1,
    "encoder_pos_conv_kernel": 8, "encoder_pos_conv_groups": 4, "encoder_num_layers": 3,
    "encoder_num_heads": 4, "encoder_attention_dropout": 0.1, "encoder_ff_interm_features": 64,
    "encoder_ff_interm_dropout": 0.1, "encoder_dropout": 0.1, "encoder_layer_norm_first": False,
    "encoder_layer_drop": 0.3,
}  # fmt: skip
PRETRAINING: dict[str, Any] = {
    "mask_prob": 0.8, "mask_selection": "static", "mask_other": 0.0, "mask_length": 4,
    "no_mask_overlap": False, "mask_min_space": 1, "mask_channel_prob": 0.2,
    "mask_channel_selection": "static", "mask_channel_other": 0.0, "mask_channel_length": 4,
    "no_mask_channel_overlap": False, "mask_channel_min_space": 1, "skip_masked": False,
    "skip_nomask": False, "num_classes": 10, "final_dim": 16, "feature_grad_mult": 0.1,
}  # fmt: skip
TRANSDUCER: dict[str, Any] = {
    "input_dim": 8, "encoding_dim": 32, "num_symbols": 12, "segment_length": 8,
    "right_context_length": 4, "time_reduction_input_dim": 8, "time_reduction_stride": 4,
    "transformer_num_heads": 4, "transformer_ffn_dim": 32, "transformer_num_layers": 2,
    "transformer_dropout": 0.1, "transformer_activation": "gelu",
    "transformer_left_context_length": 8, "transformer_max_memory_size": 1,
    "transformer_weight_init_scale_strategy": "depthwise", "transformer_tanh_on_mem": True,
    "symbol_embedding_dim": 16, "num_lstm_layers": 2, "lstm_layer_norm": True,
    "lstm_layer_norm_epsilon": 1e-3, "lstm_dropout": 0.1,
}  # fmt: skip
WAVE, FRAMES, BINS = 4000, 32, 8
Maker = Callable[[], torch.nn.Module]
Inputs = Callable[[], tuple[Any, ...]]


def cases() -> dict[str, Any]:
    """Functions and transforms by their parameters, models by hand."""
    found = modules_zoo.cases(modules=MODULES, functions=True)
    for name, (made, inputs) in _trained().items():
        found[f"model {name}"] = _Trained(made, inputs)
    return found | {
        "model RNNT beam search": search,
        "model Tacotron2 inference": speak,
        "model WaveRNN inference": sound,
        "model Emformer streaming": stream,
    }


def _trained() -> dict[str, tuple[Maker, Inputs]]:
    wave, lengths = torch.randn(2, WAVE), torch.tensor([WAVE, WAVE - 500])
    frames, counts = torch.randn(2, FRAMES, BINS), torch.tensor([FRAMES, FRAMES - 6])
    words, sizes = torch.randint(1, 10, (2, 6)), torch.tensor([6, 4])
    padded = torch.randn(2, FRAMES + 4, BINS)
    mels, marks = torch.randn(2, BINS, FRAMES), torch.randint(0, 10, (2, 38))
    mixture = {"enc_num_feats": 16, "msk_num_feats": 8, "msk_num_hidden_feats": 16,
               "msk_num_layers": 2, "msk_num_stacks": 1}  # fmt: skip
    buckets = {"encoder_num_buckets": 8, "encoder_max_distance": 16}
    return {
        "wav2vec2": (
            lambda: models.wav2vec2_model(**ENCODER, aux_num_out=10), lambda: (wave, lengths)),
        "wav2vec2 layer norm": (
            lambda: models.wav2vec2_model(
                **ENCODER | {"extractor_mode": "layer_norm", "encoder_layer_norm_first": True},
                aux_num_out=None),
            lambda: (wave,)),
        "wavlm": (
            lambda: models.wavlm_model(**ENCODER, **buckets, aux_num_out=10), lambda: (wave,)),
        "hubert": (
            lambda: models.hubert_pretrain_model(**ENCODER, **PRETRAINING),
            lambda: (wave, marks, lengths)),
        "Conformer": (lambda: models.Conformer(BINS, 4, 16, 2, 3), lambda: (frames, counts)),
        "Emformer": (
            lambda: models.Emformer(BINS, 4, 16, 2, 8, left_context_length=8,
                                    right_context_length=4, max_memory_size=1),
            lambda: (padded, counts)),
        "RNNT": (
            lambda: models.emformer_rnnt_model(**TRANSDUCER),
            lambda: (torch.randn(2, FRAMES + 4, BINS), torch.tensor([FRAMES, FRAMES]),
                     words.int(), sizes.int())),
        "Tacotron2": (lambda: _tacotron(False), lambda: (words, sizes, mels, counts)),
        "WaveRNN": (
            lambda: models.WaveRNN([2, 2], 12, 4, n_res_block=2, n_rnn=16, n_fc=16, n_freq=BINS,
                                   n_hidden=8, n_output=8),
            lambda: (torch.randn(2, 1, (FRAMES - 4) * 4), mels.unsqueeze(1))),
        "ConvTasNet": (lambda: models.ConvTasNet(**mixture), lambda: (wave.unsqueeze(1),)),
        "HDemucs": (
            lambda: models.HDemucs(["voice", "rest"], channels=4, depth=6, nfft=1024),
            lambda: (torch.randn(1, 2, 22050),)),
        "DeepSpeech": (
            lambda: models.DeepSpeech(BINS, 16, 10), lambda: (frames.unsqueeze(1),)),
        "Wav2Letter": (lambda: models.Wav2Letter(10), lambda: (wave.unsqueeze(1),)),
        "SQUIM": (
            lambda: models.squim_objective_model(32, 16, 16, 4, 16, 2, "LSTM", 15),
            lambda: (wave,)),
    }  # fmt: skip


class _Trained:
    """Two steps of training, and an evaluation."""

    def __init__(self, made: Maker, inputs: Inputs) -> None:
        self._made = made
        self._inputs = inputs

    def __call__(self, device: str) -> list[Any]:
        """Run it on a device."""
        torch.manual_seed(0)
        model = self._made().to(device)
        given = [value.to(device) for value in self._inputs()]
        optimizer = torch.optim.Adam(model.parameters())
        results: list[Any] = []
        for _ in range(2):
            optimizer.zero_grad()
            output = model(*given)
            loss = sum(
                part.square().mean()
                for part in (output if isinstance(output, list | tuple) else [output])
                if isinstance(part, torch.Tensor) and part.requires_grad
            )
            loss.backward()
            optimizer.step()
            results.append(loss)
        model.eval()
        with torch.no_grad():
            return [*results, model(*given)]


def _tacotron(mask_padding: bool) -> torch.nn.Module:
    return models.Tacotron2(
        mask_padding=mask_padding, n_mels=BINS, n_symbol=12, symbol_embedding_dim=16,
        encoder_embedding_dim=16, decoder_rnn_dim=16, decoder_max_step=8, attention_rnn_dim=16,
        attention_hidden_dim=8, prenet_dim=8, postnet_embedding_dim=16,
        decoder_early_stopping=True,
    )  # fmt: skip


def search(device: str) -> list[Any]:
    """The beam search of a transducer, at once and in segments."""
    torch.manual_seed(0)
    decoder = models.RNNTBeamSearch(models.emformer_rnnt_model(**TRANSDUCER), blank=11)
    decoder.to(device).eval()
    frames, length = torch.randn(1, FRAMES + 4, BINS).to(device), torch.tensor([FRAMES]).to(device)
    with torch.no_grad():
        results: list[Any] = [decoder(frames, length, 3)]
        state, found = None, None
        for at in range(0, FRAMES, 8):
            part = frames[:, at : at + 12]
            found, state = decoder.infer(
                part, torch.tensor([12]).to(device), 3, state=state, hypothesis=found
            )
            results.append(found)
    return results


def speak(device: str) -> list[Any]:
    """Spectrograms of two texts."""
    torch.manual_seed(0)
    model = _tacotron(True).to(device).eval()
    with torch.no_grad():
        words, sizes = torch.randint(1, 10, (2, 6)).to(device), torch.tensor([6, 4]).to(device)
        return [model.infer(words, sizes), model.infer(words)]


def sound(device: str) -> list[Any]:
    """The waves of two spectrograms."""
    torch.manual_seed(0)
    model = models.WaveRNN([2, 2], 12, 4, n_res_block=2, n_rnn=16, n_fc=16, n_freq=BINS,
                           n_hidden=8, n_output=8).to(device).eval()  # fmt: skip
    with torch.no_grad():
        return [model.infer(torch.randn(2, BINS, 8).to(device), torch.tensor([8, 6]).to(device))]


def stream(device: str) -> list[Any]:
    """Segment after segment, with the state that is carried on."""
    torch.manual_seed(0)
    model = models.Emformer(BINS, 4, 16, 2, 8, left_context_length=8, right_context_length=4)
    model.to(device).eval()
    results: list[Any] = []
    state = None
    with torch.no_grad():
        for _ in range(3):
            lengths = torch.tensor([12, 12]).to(device)
            output, _, state = model.infer(torch.randn(2, 12, BINS).to(device), lengths, state)
            results.append(output)
    return results
