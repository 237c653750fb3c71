"""Networks that detect, segment, estimate poses and classify, trained on made-up pictures."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from ultralytics import YOLO
from ultralytics.cfg import get_cfg
from ultralytics.nn import tasks

SIDE, CLASSES = 32, 2
KINDS: dict[str, tuple[Any, str]] = {
    "detect v8": (tasks.DetectionModel, "yolov8n.yaml"),
    "detect v5": (tasks.DetectionModel, "yolov5n.yaml"),
    "detect v9": (tasks.DetectionModel, "yolov9t.yaml"),
    "detect v10": (tasks.DetectionModel, "yolov10n.yaml"),
    "detect 11": (tasks.DetectionModel, "yolo11n.yaml"),
    "detect 12": (tasks.DetectionModel, "yolo12n.yaml"),
    "segment": (tasks.SegmentationModel, "yolo11n-seg.yaml"),
    "pose": (tasks.PoseModel, "yolo11n-pose.yaml"),
    "turned": (tasks.OBBModel, "yolo11n-obb.yaml"),
    "classify": (tasks.ClassificationModel, "yolo11n-cls.yaml"),
}


def _batch(name: str, device: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    boxes = torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.6, 0.3, 0.2], [0.6, 0.4, 0.5, 0.5]])
    made: dict[str, torch.Tensor] = {
        "img": torch.rand(2, 3, 64, 64), "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
        "cls": torch.tensor([[0.0], [1.0], [1.0]]), "bboxes": boxes,
    }  # fmt: skip
    if name == "segment":
        made["masks"] = torch.randint(0, 3, (2, 16, 16)).float()
    elif name == "pose":
        made["keypoints"] = torch.cat([torch.rand(3, 17, 2), torch.ones(3, 17, 1)], -1)
    elif name == "turned":
        made["bboxes"] = torch.cat([boxes, torch.tensor([[0.1], [0.2], [0.3]])], -1)
    elif name == "classify":
        made["cls"] = torch.tensor([0, 1])
    return {key: value.to(device) for key, value in made.items()}


def _train(name: str, device: str) -> list[Any]:
    made, file = KINDS[name]
    torch.manual_seed(0)
    model = made(file, nc=CLASSES, verbose=False).to(device)
    model.args = get_cfg()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        loss, parts = model(_batch(name, device))
        loss.sum().backward()
        optimizer.step()
        found += [loss, parts]
    model.eval()
    with torch.no_grad():
        output = model(_batch(name, device)["img"])
    return [*found, output[0] if isinstance(output, tuple) else output]


CASES: dict[str, Any] = {name: functools.partial(_train, name) for name in KINDS}


def _pictures(folder: Path) -> Path:
    """A data set of six pictures with a bright box each."""
    made = np.random.default_rng(0)
    for part in ("train", "val"):
        (folder / "images" / part).mkdir(parents=True)
        (folder / "labels" / part).mkdir(parents=True)
        for at in range(4):
            picture = made.integers(0, 99, (SIDE, SIDE, 3), dtype=np.uint8)
            picture[8:24, 6:20] = 200 + at
            Image.fromarray(picture).save(folder / "images" / part / f"{at}.png")
            (folder / "labels" / part / f"{at}.txt").write_text(f"{at % 2} 0.4 0.5 0.44 0.5\n")
    told = folder / "data.yaml"
    told.write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: [a, b]\n")
    return told


def whole(device: str) -> list[Any]:
    """An epoch of training and validation by the library's trainer, then predictions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = YOLO("yolov8n.yaml", verbose=False)
        where = "cpu" if device == "cpu" else 0
        model.train(
            data=str(_pictures(folder)), epochs=1, imgsz=SIDE, batch=2, device=where, workers=0,
            seed=0,
            project=name, amp=False, plots=False, verbose=False, exist_ok=True, pretrained=False,
        )  # fmt: skip
        measured = model.val(data=str(folder / "data.yaml"), imgsz=SIDE, device=where, workers=0,
                             plots=False, project=name)  # fmt: skip
        seen = model.predict(str(folder / "images" / "val"), imgsz=SIDE, device=where, conf=0.001,
                             verbose=False)  # fmt: skip
        return [measured.results_dict, [each.boxes.data for each in seen]]


def suppressed(device: str) -> list[Any]:
    """Boxes that overlap better ones left out, and other work on boxes and masks."""
    from ultralytics.utils import metrics, nms, ops

    torch.manual_seed(0)
    boxes = torch.rand(2, 6, 40).to(device)
    boxes[:, :4] *= SIDE
    plain = torch.tensor([[1.0, 1.0, 9.0, 9.0], [2.0, 3.0, 12.0, 14.0]], device=device)
    return [
        nms.non_max_suppression(boxes, 0.5, 0.5), nms.non_max_suppression(boxes, 0.1,
            multi_label=True),
        ops.xyxy2xywh(plain), ops.xywh2xyxy(plain), ops.scale_boxes((32, 32), plain.clone(), (64,
            48)),
        metrics.bbox_iou(plain, plain.flip(0), xywh=False, CIoU=True), metrics.box_iou(plain,
            plain),
        ops.process_mask(torch.rand(4, 8, 8).to(device), torch.rand(2, 4).to(device), plain, (32,
            32)),
        ops.crop_mask(torch.rand(2, 16, 16).to(device), plain),
    ]  # fmt: skip
