"""torchvision's tensors, whose classes follow tables of torch's functions."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from asyncguard.runtime.session import Session
from tests.frameworks import require

torch = require("torch")


def imported() -> ModuleType:
    """torchvision.tv_tensors, also of a build for another device than that of torch."""
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    return importlib.import_module("torchvision.tv_tensors")


@pytest.fixture(scope="module")
def tv_tensors() -> ModuleType:
    """A build whose compiled operators cannot be loaded asks torch for them by name: name them."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for _ in range(20):
        try:
            return imported()
        except RuntimeError as error:  # noqa: PERF203
            missing = re.search(r"operator torchvision::(\w+) does not exist", str(error))
            if missing is None:
                raise
            library.define(f"{missing[1]}(Tensor x) -> Tensor")
    raise AssertionError("torchvision asks for ever more operators")


def kinds(tv_tensors: ModuleType) -> list[str]:
    image = tv_tensors.Image(torch.arange(12.0).reshape(3, 2, 2))
    boxes = tv_tensors.BoundingBoxes(
        torch.tensor([[0.0, 0.0, 1.0, 1.0]]), format="XYXY", canvas_size=(2, 2)
    )
    with tv_tensors.set_return_type("TVTensor"):
        added = image + 1
    results = [
        image.to(torch.float64), image.clone(), image.detach(), image.requires_grad_(False),
        image + 1, added, image[0], image.cpu(), torch.where(image > 0, image, 0),
        boxes.to(torch.float64), boxes.clone(), image.sum(), image.tolist(), repr(boxes),
    ]  # fmt: skip
    return [
        type(result).__name__ if isinstance(result, torch.Tensor) else str(result)
        for result in results
    ]


def test_tensors_keep_the_classes_that_they_have_without_a_trace(tv_tensors: ModuleType) -> None:
    before = kinds(tv_tensors)
    assert before[:2] == ["Image", "Image"]
    assert before[9] == "BoundingBoxes"
    with Session(frameworks=["torch"]) as session:
        within = kinds(tv_tensors)
    assert within == before
    assert kinds(tv_tensors) == before
    assert session.record().total_syncs > 0


def test_classes_that_are_first_loaded_in_a_trace_behave_the_same(tv_tensors: ModuleType) -> None:
    before = kinds(tv_tensors)
    with Session(frameworks=["torch"]):
        loaded = importlib.reload(
            importlib.import_module("torchvision.tv_tensors._torch_function_helpers")
        )
        importlib.reload(importlib.import_module("torchvision.tv_tensors._tv_tensor"))
        assert kinds(tv_tensors) == before
    assert loaded._FORCE_TORCHFUNCTION_SUBCLASS is not None
    assert kinds(tv_tensors) == before
