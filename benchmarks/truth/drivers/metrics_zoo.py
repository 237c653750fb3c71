"""The metrics of torchmetrics: two updates, what they compute, the forward pass, and a reset."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import torch
import torchmetrics

DOMAINS = (
    "aggregation", "audio", "classification", "clustering", "detection", "image", "nominal",
    "regression", "retrieval", "segmentation", "shape", "text", "video",
)  # fmt: skip
CLASSES, SAMPLES, LABELS, SIDE = 5, 16, 4, 48
GIVEN: dict[str, Any] = {
    "num_classes": CLASSES, "num_labels": LABELS, "beta": 0.5, "p": 3.0, "min_recall": 0.4,
    "min_precision": 0.4, "min_sensitivity": 0.4, "min_specificity": 0.4, "fs": 8000,
    "data_range": 1.0, "num_outputs": 1, "num_groups": 2, "alpha": 0.5,
}  # fmt: skip


def cases() -> dict[str, Any]:
    """Every metric that is made without a download, with each task where it has several."""
    found = {}
    for domain in DOMAINS:
        module = importlib.import_module(f"torchmetrics.{domain}")
        for name, made in sorted(vars(module).items()):
            if not (inspect.isclass(made) and issubclass(made, torchmetrics.Metric)):
                continue
            if domain == "classification" and not name.startswith(("Binary", "Multi")):
                for task in ("binary", "multiclass", "multilabel"):
                    found[f"{domain} {name} {task}"] = functools.partial(
                        measure, domain, name, task
                    )
            else:
                found[f"{domain} {name}"] = functools.partial(measure, domain, name, "")
    return found


def measure(domain: str, name: str, task: str, device: str) -> list[Any]:
    """Make the metric, and find among the inputs of its domain the first that it takes."""
    made = getattr(importlib.import_module(f"torchmetrics.{domain}"), name)
    takes = inspect.signature(made.__new__ if task else made).parameters
    given = {key: value for key, value in GIVEN.items() if key in takes}
    if task:
        given = {"task": task, **given}
    errors = []
    for inputs in _inputs(domain, name, task):
        torch.manual_seed(0)
        metric = made(**given).to(device)
        try:
            return _used(metric, _moved(inputs, device))
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            errors.append(error)
    raise errors[0]


def _used(metric: Any, inputs: Any) -> list[Any]:
    results = [metric(*inputs) for _ in range(2)]
    metric.update(*inputs)
    results.append(metric.compute())
    metric.reset()
    return results


def _moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, list | tuple):
        return type(value)(_moved(each, device) for each in value)
    if isinstance(value, dict):
        return {key: _moved(each, device) for key, each in value.items()}
    return value


def _inputs(domain: str, name: str, task: str) -> Any:
    """Inputs of a domain, one sort after the other."""
    binary = (torch.rand(SAMPLES), torch.randint(0, 2, (SAMPLES,)))
    several = (torch.rand(SAMPLES, LABELS), torch.randint(0, 2, (SAMPLES, LABELS)))
    classes = (torch.randn(SAMPLES, CLASSES).softmax(-1), torch.randint(0, CLASSES, (SAMPLES,)))
    chosen = (torch.randint(0, CLASSES, (SAMPLES,)), torch.randint(0, CLASSES, (SAMPLES,)))
    numbers = (torch.rand(SAMPLES), torch.rand(SAMPLES))
    waves = (torch.randn(2, 8000), torch.randn(2, 8000))
    pictures = (torch.rand(2, 3, SIDE, SIDE), torch.rand(2, 3, SIDE, SIDE))
    masks = (torch.randint(0, 2, (2, CLASSES, 16, 16)), torch.randint(0, 2, (2, CLASSES, 16, 16)))
    boxes = [{
        "boxes": torch.tensor([[2.0, 2.0, 20.0, 20.0], [5.0, 5.0, 30.0, 40.0]]),
        "scores": torch.tensor([0.9, 0.4]), "labels": torch.tensor([0, 1]),
    }]  # fmt: skip
    texts = (["the cat is on the mat", "hello there"], ["there is a cat on the mat", "hello you"])
    found = (torch.rand(SAMPLES), torch.randint(0, 2, (SAMPLES,)), torch.arange(SAMPLES) % 4)
    queries = (found[0], found[1], found[2])
    return {
        "aggregation": [(torch.rand(SAMPLES),), numbers],
        "audio": [waves, (torch.randn(2, 2, 800), torch.randn(2, 2, 800))],
        "classification": {
            "binary": [binary],
            "multiclass": [classes],
            "multilabel": [several],
        }.get(task)
        or ([classes, several, binary] if "class" in name else [several, binary]),
        "clustering": [chosen, (torch.randn(SAMPLES, 3), chosen[0])],
        "detection": [(boxes, boxes), masks],
        "image": [pictures, (pictures[0],), (pictures[0], {"ms": pictures[1], "pan": pictures[0]})],
        "nominal": [chosen, (torch.randint(0, 5, (SAMPLES, 3)),)],
        "regression": [numbers, (classes[0], classes[0].flip(0)), several],
        "retrieval": [queries],
        "segmentation": [masks],
        "shape": [(torch.randn(2, 8, 3), torch.randn(2, 8, 3))],
        "text": [texts, (texts[0], [[text] for text in texts[1]]), classes],
        "video": [(torch.rand(2, 3, 4, SIDE, SIDE), torch.rand(2, 3, 4, SIDE, SIDE))],
    }[domain]
