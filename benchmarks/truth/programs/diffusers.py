"""Tiny models, trained, and the schedulers that lead from noise to a picture."""

from __future__ import annotations

import functools
from typing import Any

import diffusers
import torch

from benchmarks.truth.programs import trained

UNET: dict[str, Any] = {
    "sample_size": 16, "block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1,
}  # fmt: skip
CROSS: dict[str, Any] = UNET | {
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"), "cross_attention_dim": 16,
    "attention_head_dim": 4, "in_channels": 4, "out_channels": 4,
}  # fmt: skip
CODER: dict[str, Any] = {
    "block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1,
    "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2,
}  # fmt: skip
PATCHES: dict[str, Any] = {
    "sample_size": 8, "num_layers": 2, "num_attention_heads": 2, "attention_head_dim": 8,
    "in_channels": 4, "patch_size": 2,
}  # fmt: skip


def _picture(device: str, channels: int = 3, side: int = 16) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(2, channels, side, side).to(device)


def _time(device: str) -> torch.Tensor:
    return torch.tensor([3, 500]).to(device)


def _text(device: str, width: int = 16, length: int = 5) -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randn(2, length, width).to(device)


MODELS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "UNet2DModel": ("UNet2DModel", UNET | {
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "attention_head_dim": 4,
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}, lambda d: (_picture(d), _time(d))),
    "UNet2DConditionModel": ("UNet2DConditionModel", CROSS,
        lambda d: (_picture(d, 4), _time(d), _text(d))),
    "UNet2DConditionModel linear": ("UNet2DConditionModel", CROSS | {
        "use_linear_projection": True, "only_cross_attention": True, "num_class_embeds": 4,
        "resnet_time_scale_shift": "scale_shift"},
        lambda d: (_picture(d, 4), _time(d), _text(d), torch.tensor([1, 2]).to(d))),
    "UNet1DModel": ("UNet1DModel", {
        "sample_size": 32, "block_out_channels": (32, 32), "in_channels": 2, "out_channels": 2,
        "extra_in_channels": 16, "layers_per_block": 1, "norm_num_groups": 4,
        "down_block_types": ("DownBlock1DNoSkip", "DownBlock1D"),
        "up_block_types": ("UpBlock1D", "UpBlock1DNoSkip")},
        lambda d: (torch.rand(2, 2, 32).to(d), _time(d))),
    "UNet3DConditionModel": ("UNet3DConditionModel", {
        "sample_size": 8, "block_out_channels": (8, 16), "norm_num_groups": 4,
        "layers_per_block": 1,
        "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"), "attention_head_dim": 4,
        "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"), "cross_attention_dim": 16},
        lambda d: (torch.rand(2, 4, 3, 8, 8).to(d), _time(d), _text(d))),
    "AutoencoderKL": ("AutoencoderKL", CODER, lambda d: (_picture(d),)),
    "AsymmetricAutoencoderKL": ("AsymmetricAutoencoderKL", {
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
        "down_block_out_channels": (8, 16), "up_block_out_channels": (8, 16), "norm_num_groups": 4},
        lambda d: (_picture(d),)),
    "AutoencoderTiny": ("AutoencoderTiny", {
        "encoder_block_out_channels": (8, 8), "decoder_block_out_channels": (8, 8),
        "num_encoder_blocks": (1, 1), "num_decoder_blocks": (1, 1)}, lambda d: (_picture(d),)),
    "AutoencoderDC": ("AutoencoderDC", {
        "in_channels": 3, "latent_channels": 4, "attention_head_dim": 4,
        "encoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "decoder_block_types": ("ResBlock", "EfficientViTBlock"),
        "encoder_block_out_channels": (8, 8), "decoder_block_out_channels": (8, 8),
        "encoder_qkv_multiscales": ((), (5,)), "decoder_qkv_multiscales": ((), (5,)),
        "encoder_layers_per_block": (1, 1), "decoder_layers_per_block": (1, 1),
        "downsample_block_type": "conv", "upsample_block_type": "interpolate",
        "decoder_norm_types": "rms_norm", "decoder_act_fns": "silu", "scaling_factor": 0.4},
        lambda d: (_picture(d),)),
    "VQModel": ("VQModel", CODER | {"num_vq_embeddings": 16}, lambda d: (_picture(d),)),
    "Transformer2DModel": ("Transformer2DModel", {
        "num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "norm_num_groups": 2,
        "cross_attention_dim": 16, "num_layers": 1}, lambda d: (_picture(d, 4, 8), _text(d))),
    "DiTTransformer2DModel": ("DiTTransformer2DModel", PATCHES | {"num_embeds_ada_norm": 1000},
        lambda d: (_picture(d, 4, 8), _time(d), torch.tensor([1, 2]).to(d))),
    "PixArtTransformer2DModel": ("PixArtTransformer2DModel", PATCHES | {
        "cross_attention_dim": 16, "caption_channels": 16, "out_channels": 8},
        lambda d: (_picture(d, 4, 8), _text(d), _time(d),
                   {"resolution": None, "aspect_ratio": None})),
    "SD3Transformer2DModel": ("SD3Transformer2DModel", PATCHES | {
        "joint_attention_dim": 16, "caption_projection_dim": 16, "pooled_projection_dim": 8,
        "out_channels": 4, "pos_embed_max_size": 8},
        lambda d: (_picture(d, 4, 8), _text(d), _text(d, 8)[:, 0], _time(d))),
    "SanaTransformer2DModel": ("SanaTransformer2DModel", {
        "in_channels": 4, "out_channels": 4, "num_attention_heads": 2, "attention_head_dim": 8,
        "num_layers": 2, "num_cross_attention_heads": 2, "cross_attention_head_dim": 8,
        "cross_attention_dim": 16, "caption_channels": 16, "sample_size": 8},
        lambda d: (_picture(d, 4, 8), _text(d), _time(d))),
    "FluxTransformer2DModel": ("FluxTransformer2DModel", {
        "patch_size": 1, "in_channels": 4, "num_layers": 1, "num_single_layers": 1,
        "attention_head_dim": 16, "num_attention_heads": 2, "joint_attention_dim": 16,
        "pooled_projection_dim": 8, "axes_dims_rope": (4, 4, 8)},
        lambda d: (torch.randn(2, 16, 4).to(d), _text(d), _text(d, 8)[:, 0], _time(d) / 1000,
                   torch.zeros(16, 3).to(d), torch.zeros(5, 3).to(d))),
    "ControlNetModel": ("ControlNetModel", {
        "block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "cross_attention_dim": 16,
        "attention_head_dim": 4, "conditioning_embedding_out_channels": (4, 8)},
        lambda d: (_picture(d, 4), _time(d), _text(d), _picture(d, 3, 32))),
    "PriorTransformer": ("PriorTransformer", {
        "num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 1, "embedding_dim": 16,
        "num_embeddings": 5, "additional_embeddings": 4},
        lambda d: (_text(d)[:, 0], _time(d), _text(d)[:, 1], _text(d))),
    "WanTransformer3DModel": ("WanTransformer3DModel", {
        "patch_size": (1, 2, 2), "num_attention_heads": 2, "attention_head_dim": 12,
        "in_channels": 4,
        "out_channels": 4, "text_dim": 16, "freq_dim": 32, "ffn_dim": 32, "num_layers": 1},
        lambda d: (torch.rand(2, 4, 2, 8, 8).to(d), _time(d), _text(d))),
    "CogVideoXTransformer3DModel": ("CogVideoXTransformer3DModel", {
        "num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "out_channels": 4,
        "time_embed_dim": 8, "text_embed_dim": 16, "num_layers": 1, "sample_width": 8,
        "sample_height": 8, "sample_frames": 5, "max_text_seq_length": 5},
        lambda d: (torch.rand(2, 2, 4, 8, 8).to(d), _text(d), _time(d))),
}  # fmt: skip


def _outputs(output: Any) -> torch.Tensor:
    if isinstance(output, torch.Tensor):
        return output
    parts = output.to_tuple() if hasattr(output, "to_tuple") else output
    first = parts[0]
    return first if isinstance(first, torch.Tensor) else _outputs(first)


def _train(name: str, device: str) -> list[Any]:
    made, given, feed = MODELS[name]
    torch.manual_seed(0)
    model = getattr(diffusers, made)(**given).to(device)
    inputs = feed(device)
    found = trained(model, lambda: _outputs(model(*inputs)).float().square().mean())
    model.eval()
    with torch.no_grad():
        return [*found, _outputs(model(*inputs))]


def _schedulers() -> list[str]:
    names = (name for name in dir(diffusers) if name.endswith("Scheduler") and name[0].isupper())
    return [name for name in names if name not in ("SchedulerMixin", "OnnxScheduler")]


def _denoise(name: str, given: dict[str, Any], device: str) -> list[Any]:
    made = getattr(diffusers, name)(**given)
    made.set_timesteps(4, device=device)
    sample = _picture(device, 4, 8) * getattr(made, "init_noise_sigma", 1.0)
    found = []
    for time in made.timesteps:
        scaled = (
            made.scale_model_input(sample, time) if hasattr(made, "scale_model_input") else sample
        )
        torch.manual_seed(3)
        sample = made.step(scaled * 0.3, time, sample).prev_sample
        found.append(sample)
    if hasattr(made, "add_noise") and hasattr(made.config, "num_train_timesteps"):
        found.append(made.add_noise(sample, torch.ones_like(sample), made.timesteps[1:3]))
    return found


STYLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("DDPMScheduler", {"variance_type": "fixed_large", "thresholding": True}),
    ("DDIMScheduler", {"rescale_betas_zero_snr": True, "timestep_spacing": "trailing"}),
    ("DDIMScheduler", {"beta_schedule": "squaredcos_cap_v2", "prediction_type": "v_prediction"}),
    ("EulerDiscreteScheduler", {"use_karras_sigmas": True}),
    ("EulerDiscreteScheduler", {"use_exponential_sigmas": True, "final_sigmas_type": "sigma_min"}),
    (
        "DPMSolverMultistepScheduler",
        {"algorithm_type": "sde-dpmsolver++", "use_karras_sigmas": True},
    ),
    ("DPMSolverMultistepScheduler", {"solver_order": 3, "lower_order_final": True}),
    ("UniPCMultistepScheduler", {"solver_order": 3, "use_karras_sigmas": True}),
    ("HeunDiscreteScheduler", {"use_karras_sigmas": True}),
    ("FlowMatchEulerDiscreteScheduler", {"use_dynamic_shifting": False, "shift": 3.0}),
)
CASES: dict[str, Any] = {
    **{f"train {name}": functools.partial(_train, name) for name in MODELS},
    **{name: functools.partial(_denoise, name, {}) for name in _schedulers()},
    **{f"{name} {given}": functools.partial(_denoise, name, given) for name, given in STYLES},
}


def _pipe(pipeline: Any, device: str, **given: Any) -> list[Any]:
    pipeline = pipeline.to(device)
    pipeline.set_progress_bar_config(disable=True)
    torch.manual_seed(4)
    return [pipeline(num_inference_steps=2, output_type="np", **given).images]


def pipeline_without_words(device: str) -> list[Any]:
    """Pictures out of noise."""
    torch.manual_seed(0)
    made, given, _ = MODELS["UNet2DModel"]
    model = getattr(diffusers, made)(**given)
    return [
        _pipe(diffusers.DDPMPipeline(model, diffusers.DDPMScheduler()), device, batch_size=1),
        _pipe(
            diffusers.DDIMPipeline(model, diffusers.DDIMScheduler()), device, batch_size=1, eta=0.5
        ),
    ]


def pipeline_with_words(device: str) -> list[Any]:
    """Pictures that embedded words ask for, and that another picture begins."""
    torch.manual_seed(0)
    parts: dict[str, Any] = {
        "vae": diffusers.AutoencoderKL(**CODER, latent_channels=4),
        "unet": diffusers.UNet2DConditionModel(**CROSS),
        "scheduler": diffusers.PNDMScheduler(skip_prk_steps=True),
        "text_encoder": None, "tokenizer": None, "safety_checker": None, "feature_extractor": None,
    }  # fmt: skip
    words = {"prompt_embeds": _text(device)[:1], "negative_prompt_embeds": _text(device)[1:]}
    begun = diffusers.StableDiffusionImg2ImgPipeline(**parts, requires_safety_checker=False)
    parts["scheduler"] = diffusers.EulerAncestralDiscreteScheduler()
    made = diffusers.StableDiffusionPipeline(**parts, requires_safety_checker=False)
    return [
        _pipe(made, device, height=32, width=32, guidance_scale=3.0, guidance_rescale=0.5, **words),
        _pipe(begun, device, image=torch.rand(1, 3, 32, 32), strength=1.0, **words),
    ]


def averages(device: str) -> list[Any]:
    """The moving average that training keeps."""
    from diffusers.training_utils import EMAModel, compute_snr

    torch.manual_seed(0)
    model = diffusers.UNet2DModel(**MODELS["UNet2DModel"][1]).to(device)
    held = EMAModel(model.parameters(), decay=0.9, use_ema_warmup=True)
    held.to(device)
    for _ in range(2):
        held.step(model.parameters())
    held.store(model.parameters())
    held.copy_to(model.parameters())
    held.restore(model.parameters())
    return [held.shadow_params, compute_snr(diffusers.DDPMScheduler(), _time(device))]
