"""Networks, losses, metrics, windows and transforms for medical pictures."""

from __future__ import annotations

import functools
from typing import Any

import monai
import torch
from monai import inferers, losses, metrics, transforms
from monai.networks import nets

from benchmarks.truth.programs import trained

FLAT: dict[str, Any] = {"spatial_dims": 2, "in_channels": 1, "out_channels": 2}
NETS: dict[str, dict[str, Any]] = {
    "UNet": FLAT | {"channels": (4, 8, 8), "strides": (2, 2), "num_res_units": 1},
    "AttentionUnet": FLAT | {"channels": (4, 8), "strides": (2,)},
    "BasicUNet": FLAT | {"features": (4, 4, 8, 8, 8, 4)},
    "BasicUNetPlusPlus": FLAT | {"features": (4, 4, 8, 8, 8, 4)},
    "DynUNet": FLAT | {"kernel_size": [3, 3], "strides": [1, 2], "upsample_kernel_size": [2],
                       "filters": [4, 8], "deep_supervision": False, "res_block": True},
    "SegResNet": FLAT | {"init_filters": 8, "blocks_down": (1, 1), "blocks_up": (1,)},
    "SegResNetVAE": {"input_image_size": (32, 32), "spatial_dims": 2, "init_filters": 8,
                     "in_channels": 1, "out_channels": 2, "vae_nz": 8},
    "SegResNetDS": FLAT | {"init_filters": 8, "blocks_down": (1, 1), "dsdepth": 1},
    "UNETR": {"in_channels": 1, "out_channels": 2, "img_size": 32, "feature_size": 4,
              "hidden_size": 16, "mlp_dim": 16, "num_heads": 2, "spatial_dims": 2},
    "SwinUNETR": {"in_channels": 1, "out_channels": 2, "feature_size": 12, "spatial_dims": 2,
                  "depths": (1, 1, 1, 1), "num_heads": (1, 2, 2, 2)},
    "VNet": FLAT | {"dropout_dim": 2}, "HighResNet": FLAT | {"layer_params": (
        {"name": "conv_0", "n_features": 4, "kernel_size": 3},
        {"name": "res_1", "n_features": 4, "kernels": (3, 3), "repeat": 1},
        {"name": "conv_1", "n_features": 4, "kernel_size": 1},
        {"name": "conv_2", "kernel_size": 1})},
    "DenseNet": FLAT | {"init_features": 4, "growth_rate": 4, "block_config": (1, 1)},
    "SENet": {"spatial_dims": 2, "in_channels": 1, "block": "se_bottleneck", "layers": (1, 1, 1, 1),
              "groups": 1, "reduction": 4, "num_classes": 2, "inplanes": 8, "input_3x3": False},
    "ResNet": {"block": "basic", "layers": [1, 1, 1, 1], "block_inplanes": [4, 4, 8, 8],
               "spatial_dims": 2, "n_input_channels": 1, "num_classes": 2},
    "ViT": {"in_channels": 1, "img_size": 32, "patch_size": 8, "hidden_size": 16, "mlp_dim": 16,
            "num_layers": 2, "num_heads": 2, "classification": True, "spatial_dims": 2},
    "AutoEncoder": FLAT | {"channels": (4, 8), "strides": (2, 2)},
    "VarAutoEncoder": FLAT | {"in_shape": (1, 32, 32), "latent_size": 4, "channels": (4, 8),
                              "strides": (2, 2)},
    "Regressor": {"in_shape": (1, 32, 32), "out_shape": (2,), "channels": (4, 8), "strides": (2,
        2)},
    "Classifier": {"in_shape": (1, 32, 32), "classes": 2, "channels": (4, 8), "strides": (2, 2)},
    "FlexibleUNet": {"in_channels": 1, "out_channels": 2, "backbone": "resnet10", "spatial_dims": 2,
                     "decoder_channels": (8, 8, 8, 4, 4)},
    "AutoencoderKL": FLAT | {"channels": (8, 8), "num_res_blocks": 1, "norm_num_groups": 4,
                             "attention_levels": (False, True), "latent_channels": 4},
    "VQVAE": FLAT | {"channels": (8, 8), "num_res_layers": 1, "num_res_channels": (8, 8),
                     "num_embeddings": 8, "embedding_dim": 4,
                     "downsample_parameters": ((2, 4, 1, 1),) * 2,
                     "upsample_parameters": ((2, 4, 1, 1, 0),) * 2},
    "PatchDiscriminator": FLAT | {"channels": 4, "num_layers_d": 2},
    "MultiPatchDiscriminator": {"spatial_dims": 2, "num_d": 2, "channels": 4, "in_channels": 1,
                                "num_layers_d": 1, "minimum_size_im": 32},
}  # fmt: skip
LOSSES: dict[str, dict[str, Any]] = {
    "DiceLoss": {"sigmoid": True}, "GeneralizedDiceLoss": {"sigmoid": True}, "DiceCELoss": {},
    "DiceFocalLoss": {}, "GeneralizedDiceFocalLoss": {}, "TverskyLoss": {"sigmoid": True},
    "FocalLoss": {"gamma": 2.0, "weight": [0.5, 1.0]}, "HausdorffDTLoss": {"sigmoid": True},
    "LogHausdorffDTLoss": {"sigmoid": True}, "MaskedDiceLoss": {"sigmoid": True},
    "AsymmetricUnifiedFocalLoss": {}, "SoftclDiceLoss": {}, "SoftDiceclDiceLoss": {},
    "LocalNormalizedCrossCorrelationLoss": {"spatial_dims": 2}, "GlobalMutualInformationLoss": {},
    "SSIMLoss": {"spatial_dims": 2}, "JukeboxLoss": {"spatial_dims": 2}, "MultiScaleLoss": {
        "loss": torch.nn.MSELoss()}, "NACLLoss": {"classes": 2, "dim": 2},
}  # fmt: skip
METRICS: dict[str, dict[str, Any]] = {
    "DiceMetric": {}, "MeanIoU": {}, "HausdorffDistanceMetric": {"percentile": 95},
    "SurfaceDistanceMetric": {}, "SurfaceDiceMetric": {"class_thresholds": [1.0]},
    "GeneralizedDiceScore": {}, "ConfusionMatrixMetric": {"metric_name": ["f1 score", "recall"]},
    "PanopticQualityMetric": {"num_classes": 1}, "MSEMetric": {}, "MAEMetric": {}, "RMSEMetric": {},
    "PSNRMetric": {"max_val": 1.0}, "SSIMMetric": {"spatial_dims": 2}, "ROCAUCMetric": {},
    "AveragePrecisionMetric": {}, "VarianceMetric": {}, "LabelQualityScore": {},
    "MultiScaleSSIMMetric": {"spatial_dims": 2, "kernel_size": 3, "weights": (0.5, 0.5)},
    "FBetaScore": {},
}  # fmt: skip
TRANSFORMS: dict[str, dict[str, Any]] = {
    "Rand2DElastic": {"spacing": (8, 8), "magnitude_range": (1, 2), "prob": 1.0},
    "RandAffine": {"prob": 1.0, "rotate_range": 0.5, "scale_range": 0.2, "padding_mode": "zeros"},
    "RandFlip": {"prob": 1.0}, "RandRotate90": {"prob": 1.0}, "RandZoom": {"prob": 1.0},
    "RandGaussianNoise": {"prob": 1.0}, "RandGaussianSmooth": {"prob": 1.0},
    "RandAdjustContrast": {"prob": 1.0}, "RandBiasField": {"prob": 1.0},
    "RandHistogramShift": {"prob": 1.0}, "RandCoarseDropout": {
        "holes": 2, "spatial_size": 4, "prob": 1.0}, "RandGridDistortion": {"prob": 1.0},
    "RandSpatialCrop": {"roi_size": (16, 16), "random_size": False}, "CenterSpatialCrop": {
        "roi_size": (16, 16)}, "SpatialPad": {"spatial_size": (40, 40)}, "DivisiblePad": {"k": 24},
    "Resize": {"spatial_size": (24, 24)}, "Rotate": {"angle": 0.5}, "Zoom": {"zoom": 1.2},
    "Spacing": {"pixdim": (1.5, 1.5)}, "Orientation": {"axcodes": "RA"},
    "NormalizeIntensity": {"nonzero": True}, "ScaleIntensity": {}, "ThresholdIntensity": {
        "threshold": 0.5}, "ScaleIntensityRangePercentiles": {"lower": 5, "upper": 95, "b_min": 0,
        "b_max": 1}, "GaussianSharpen": {}, "MedianSmooth": {}, "SavitzkyGolaySmooth": {
        "window_length": 5, "order": 2}, "GibbsNoise": {}, "KSpaceSpikeNoise": {"loc": (4, 4)},
    "RandKSpaceSpikeNoise": {"prob": 1.0}, "AsDiscrete": {"threshold": 0.5}, "SobelGradients": {},
    "KeepLargestConnectedComponent": {"is_onehot": True}, "FillHoles": {}, "LabelToContour": {},
    "CropForeground": {}, "ForegroundMask": {}, "HistogramNormalize": {}, "DetectEnvelope": {},
    "IntensityStats": {"ops": ["mean", "max"], "key_prefix": "x"}, "RemoveSmallObjects": {},
    "DistanceTransformEDT": {}, "ToTensor": {}, "EnsureChannelFirst": {"channel_dim": 0},
}  # fmt: skip


def _picture(device: str, count: int = 2) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.rand(count, 1, 32, 32).to(device)


def _first(output: Any) -> torch.Tensor:
    while not isinstance(output, torch.Tensor):
        output = output[0]
    return output


def _train(name: str, device: str) -> list[Any]:
    torch.manual_seed(0)
    model = getattr(nets, name)(**NETS[name]).to(device)
    inputs = _picture(device)
    found = trained(model, lambda: _first(model(inputs)).float().square().mean())
    model.eval()
    with torch.no_grad():
        return [*found[:2], _first(model(inputs))]


def _lose(name: str, device: str) -> list[Any]:
    made = getattr(losses, name)(**LOSSES[name]).to(device)
    torch.manual_seed(2)
    guessed = torch.rand(2, 2, 16, 16).to(device).requires_grad_()
    wanted = (torch.rand(2, 2, 16, 16) > 0.5).float().to(device)
    value = made(guessed, wanted[:, 0].long() if name == "NACLLoss" else wanted)
    value.backward()
    return [value, guessed.grad]


def _measure(name: str, device: str) -> list[Any]:
    made = getattr(metrics, name)(**METRICS[name])
    torch.manual_seed(3)
    if name in ("ROCAUCMetric", "AveragePrecisionMetric", "FBetaScore"):
        guessed, wanted = torch.rand(8, 2), (torch.rand(8, 2) > 0.5).float()
    else:
        guessed, wanted = ((torch.rand(2, 2, 24, 24) > 0.5).float() for _ in range(2))
    guessed, wanted = guessed.to(device), wanted.to(device)
    for _ in range(2):
        made(guessed) if name == "VarianceMetric" else made(guessed, wanted)
    value = made.aggregate()
    made.reset()
    return [value]


def _transform(name: str, device: str) -> list[Any]:
    made = getattr(transforms, name)(**TRANSFORMS[name])
    if hasattr(made, "set_random_state"):
        made.set_random_state(seed=1)
    picture = monai.data.MetaTensor(_picture(device)[0])
    if name in (
        "KeepLargestConnectedComponent",
        "FillHoles",
        "LabelToContour",
        "RemoveSmallObjects",
    ):
        picture = (picture > 0.4).float()
    found = made(picture)
    return [part.as_tensor() if hasattr(part, "as_tensor") else part for part in _flat(found)]


def _flat(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


CASES: dict[str, Any] = {
    f"{run.__name__.strip('_')} {name}": functools.partial(run, name)
    for run, table in (
        (_train, NETS),
        (_lose, LOSSES),
        (_measure, METRICS),
        (_transform, TRANSFORMS),
    )
    for name in table
}


def windows(device: str) -> list[Any]:
    """A picture seen through windows that slide, and at points of a grid."""
    torch.manual_seed(0)
    model = torch.nn.Conv2d(1, 2, 3, padding=1).to(device)
    found = []
    with torch.no_grad():
        for mode in ("constant", "gaussian"):
            made = inferers.SlidingWindowInferer((16, 16), 2, overlap=0.5, mode=mode)
            found.append(made(_picture(device), model))
        made = inferers.SlidingWindowInferer((16, 16), 2, device="cpu", sw_device=device)
        found.append(made(_picture("cpu"), model))
    return found


def loader(device: str) -> list[Any]:
    """Pictures transformed in a data set, batched, and transformed back."""
    keys = ["image", "label"]
    made = transforms.Compose([
        transforms.EnsureTyped(keys, device=torch.device(device)),
        transforms.RandFlipd(keys, prob=1.0), transforms.RandCropByPosNegLabeld(
            keys, "label", (16, 16), num_samples=2), transforms.ScaleIntensityd("image"),
    ]).set_random_state(1)  # fmt: skip
    picture = _picture("cpu")[0]
    data = monai.data.CacheDataset(
        [{"image": picture, "label": (picture > 0.5).float()}] * 3, made, progress=False
    )
    batches = monai.data.DataLoader(data, batch_size=2, num_workers=0)
    return [part.as_tensor() for batch in batches for part in (batch["image"], batch["label"])]
