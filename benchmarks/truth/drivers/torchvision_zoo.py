"""The models of torchvision in training and evaluation, and its operators and transforms."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torchvision
from torchvision import ops, tv_tensors
from torchvision.transforms import v2

from benchmarks.truth.drivers import require_small

LARGEST = 45_000_000  # parameters
MOST = 2  # models of a module
SIDE = 64
OPERATORS: dict[str, Any] = {
    "nms": lambda d: ops.nms(_boxes(d), torch.rand(8).to(d), 0.5),
    "batched_nms": lambda d: ops.batched_nms(
        _boxes(d), torch.rand(8).to(d), torch.arange(8).to(d) % 2, 0.5
    ),
    "masks_to_boxes": lambda d: ops.masks_to_boxes(torch.ones(2, 8, 8).to(d)),
    "remove_small_boxes": lambda d: ops.remove_small_boxes(_boxes(d), 2.0),
    "clip_boxes_to_image": lambda d: ops.clip_boxes_to_image(_boxes(d), (16, 16)),
    "box_iou": lambda d: [
        f(_boxes(d), _boxes(d))
        for f in (ops.box_iou, ops.generalized_box_iou, ops.distance_box_iou, ops.complete_box_iou)
    ],
    "losses": lambda d: [
        f(_boxes(d), _boxes(d) + 1, reduction="mean")
        for f in (
            ops.generalized_box_iou_loss,
            ops.distance_box_iou_loss,
            ops.complete_box_iou_loss,
        )
    ],
    "sigmoid_focal_loss": lambda d: ops.sigmoid_focal_loss(
        torch.randn(8, 3).to(d), torch.randint(0, 2, (8, 3)).float().to(d), reduction="mean"
    ),
    "box_convert": lambda d: ops.box_convert(_boxes(d), "xyxy", "cxcywh"),
    "drop_block": lambda d: ops.drop_block2d(torch.randn(2, 3, 16, 16).to(d), 0.5, 3),
    "stochastic_depth": lambda d: ops.stochastic_depth(torch.randn(4, 3).to(d), 0.5, "row"),
    "draw_bounding_boxes": lambda d: torchvision.utils.draw_bounding_boxes(
        torch.zeros(3, 32, 32, dtype=torch.uint8).to(d), _boxes(d), colors="red"
    ),
    "draw_segmentation_masks": lambda d: torchvision.utils.draw_segmentation_masks(
        torch.zeros(3, 8, 8, dtype=torch.uint8).to(d), torch.ones(2, 8, 8, dtype=torch.bool).to(d)
    ),
    "make_grid": lambda d: torchvision.utils.make_grid(
        torch.rand(4, 3, 8, 8).to(d), normalize=True, scale_each=True
    ),
}
TRANSFORMS = (
    "AugMix", "AutoAugment", "CenterCrop", "ColorJitter", "ElasticTransform", "FiveCrop",
    "GaussianBlur", "GaussianNoise", "Grayscale", "Normalize", "Pad", "RandAugment", "RandomAffine",
    "RandomAutocontrast", "RandomChannelPermutation", "RandomCrop", "RandomEqualize",
    "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert", "RandomIoUCrop",
    "RandomPerspective", "RandomPhotometricDistort", "RandomPosterize", "RandomResize",
    "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomVerticalFlip", "RandomZoomOut",
    "Resize", "ScaleJitter", "SanitizeBoundingBoxes", "TrivialAugmentWide", "ToDtype",
)  # fmt: skip
GIVEN: dict[str, Any] = {
    "CenterCrop": (16,), "FiveCrop": (16,), "GaussianBlur": (3,), "Grayscale": (3,),
    "Normalize": ([0.5] * 3, [0.2] * 3), "Pad": (2,), "RandomAffine": (20,), "RandomCrop": (16,),
    "RandomPosterize": (3,), "RandomResize": (16, 24), "RandomResizedCrop": (16,),
    "RandomRotation": (20,), "RandomSolarize": (100,), "Resize": (16,), "ScaleJitter": ((16, 16),),
    "ToDtype": (torch.float32, True), "ColorJitter": (0.2, 0.2, 0.2, 0.1),
}  # fmt: skip
FLOATS = ("Normalize", "GaussianNoise")


def cases() -> dict[str, Any]:
    """The smallest models of each module, then operators and transforms."""
    found: dict[str, Any] = {}
    families: dict[str, list[str]] = {}
    for name in torchvision.models.list_models():
        if not name.startswith("quantized"):
            module = torchvision.models.get_model_builder(name).__module__
            families.setdefault(module, []).append(name)
    for names in families.values():
        for name in sorted(names, key=_size)[:MOST]:
            found[f"model {name}"] = functools.partial(train, name)
    for name, run in OPERATORS.items():
        found[f"operator {name}"] = run
    for name in TRANSFORMS:
        found[f"transform {name}"] = functools.partial(transform, name)
    return found


def _size(name: str) -> int:
    """How many parameters a model has with its weights."""
    weights = list(torchvision.models.get_model_weights(name))
    return int(weights[0].meta["num_params"])


def _boxes(device: str) -> torch.Tensor:
    corner = torch.rand(8, 2) * 10
    return torch.cat([corner, corner + 1 + torch.rand(8, 2) * 10], 1).to(device)


def _targets(name: str, device: str) -> list[dict[str, torch.Tensor]]:
    target = {"boxes": _boxes("cpu")[:3] * 2, "labels": torch.tensor([1, 2, 1])}
    if "mask" in name:
        target["masks"] = torch.ones(3, SIDE, SIDE, dtype=torch.uint8)
    if "keypoint" in name:
        target |= {"keypoints": torch.ones(3, 17, 3), "labels": torch.ones(3, dtype=torch.long)}
    return [{key: value.to(device) for key, value in target.items()} for _ in range(2)]


def train(name: str, device: str) -> list[Any]:
    """Two steps of training, and an evaluation."""
    torch.manual_seed(0)
    detects = any(word in name for word in ("rcnn", "retinanet", "fcos", "ssd"))
    segments = any(word in name for word in ("deeplab", "fcn_", "lraspp"))
    classes: dict[str, Any] = {} if "keypoint" in name else {"num_classes": 4}
    given = (
        {"weights": None} | classes | ({"weights_backbone": None} if detects or segments else {})
    )
    if detects and "ssd" not in name:
        given |= {"min_size": SIDE, "max_size": SIDE}
    model = torchvision.models.get_model(name, **given)
    require_small(model, LARGEST)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    side = {"inception_v3": 299, "swin": 64, "vit": 224, "alexnet": 224, "maxvit": 224}
    pixels = next((n for start, n in side.items() if name.startswith(start)), SIDE)
    images = torch.rand(2, 3, pixels, pixels).to(device)
    if any(word in name for word in ("r3d", "mc3", "r2plus1d", "s3d", "mvit", "swin3d")):
        images = torch.rand(2, 3, 16, SIDE, SIDE).to(device)
    results: list[Any] = []
    for _ in range(2):
        if detects:
            losses = model(list(images), _targets(name, device))
            loss = sum(losses.values())
        elif "raft" in name:
            loss = model(images.repeat(1, 1, 2, 2), images.repeat(1, 1, 2, 2))[-1].abs().mean()
        else:
            output = model(images)
            output = output["out"] if isinstance(output, dict) else output
            output = output[0] if isinstance(output, tuple) else output
            loss = output.float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        results.append(loss)
    model.eval()
    with torch.no_grad():
        if "raft" not in name:
            results.append(model(list(images) if detects else images))
    return results


def transform(name: str, device: str) -> list[Any]:
    """A transform of a picture with boxes, masks and labels, and of a batch."""
    made = getattr(v2, name)(*GIVEN.get(name, ()))
    picture = torch.randint(0, 255, (3, 32, 32), dtype=torch.uint8).to(device)
    if name in FLOATS:
        picture = picture.float() / 255
    boxes: Any = tv_tensors.BoundingBoxes(
        _boxes("cpu").to(device), format="XYXY", canvas_size=(32, 32)
    )
    sample = {
        "image": tv_tensors.Image(picture),
        "boxes": boxes,
        "labels": torch.arange(8).to(device),
    }
    if name in ("AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide", "FiveCrop"):
        return [made(picture) for _ in range(4)]
    return [made(sample) for _ in range(4)]
