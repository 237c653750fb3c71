"""Attribution of a network's output to its inputs, layers and neurons."""

from __future__ import annotations

import functools
from typing import Any

import torch
from captum import attr, metrics
from captum.attr import visualization  # noqa: F401  part of what the package imports
from captum.concept import TCAV, Concept  # noqa: F401
from captum.influence import TracInCP, TracInCPFast

INPUT: dict[str, dict[str, Any]] = {
    "IntegratedGradients": {"n_steps": 5, "return_convergence_delta": True,
        "internal_batch_size": 4},
    "Saliency": {}, "InputXGradient": {}, "Deconvolution": {}, "GuidedBackprop": {},
    "DeepLift": {"return_convergence_delta": True, "baselines": 0},
    "DeepLiftShap": {"baselines": "distribution"}, "GradientShap": {"baselines": "distribution"},
    "FeatureAblation": {"feature_mask": "mask"}, "FeaturePermutation": {"feature_mask": "mask"},
    "Occlusion": {"sliding_window_shapes": (1, 4, 4), "strides": (1, 4, 4)},
    "ShapleyValueSampling": {"feature_mask": "mask", "n_samples": 3},
    "ShapleyValues": {"feature_mask": "few"},
    "KernelShap": {"feature_mask": "mask", "n_samples": 10},
    "Lime": {"feature_mask": "mask", "n_samples": 10},
    }  # fmt: skip
LAYER: dict[str, dict[str, Any]] = {
    "LayerActivation": {}, "LayerConductance": {"n_steps": 5}, "LayerGradCam": {},
    "LayerGradientXActivation": {}, "LayerIntegratedGradients": {"n_steps": 5},
    "InternalInfluence": {"n_steps": 5}, "LayerDeepLift": {"baselines": 0},
    "LayerGradientShap": {"baselines": "distribution"},
    "LayerDeepLiftShap": {"baselines": "distribution"}, "LayerFeatureAblation": {},
}  # fmt: skip
NEURON: dict[str, dict[str, Any]] = {
    "NeuronGradient": {}, "NeuronConductance": {"n_steps": 5},
    "NeuronIntegratedGradients": {"n_steps": 5},
    "NeuronDeepLift": {"baselines": 0}, "NeuronGuidedBackprop": {}, "NeuronDeconvolution": {},
    "NeuronFeatureAblation": {"feature_mask": "few"},
    "NeuronGradientShap": {"baselines": "distribution"},
}  # fmt: skip


def _network(device: str) -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(36, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4),
    ).to(device).eval()  # fmt: skip


def _inputs(device: str) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(2, 3, 8, 8).to(device)


def _given(given: dict[str, Any], device: str) -> dict[str, Any]:
    held = {
        "distribution": lambda: torch.zeros(3, 3, 8, 8).to(device),
        "mask": lambda: (
            torch.arange(64).reshape(1, 1, 8, 8).div(8, rounding_mode="floor").to(device)
        ),
        "few": lambda: (torch.arange(64) // 22).reshape(1, 1, 8, 8).to(device),
    }
    return {k: held[v]() if isinstance(v, str) else v for k, v in given.items()}


def _input(name: str, given: dict[str, Any], device: str) -> list[Any]:
    made = getattr(attr, name)(_network(device))
    return [made.attribute(_inputs(device), target=1, **_given(given, device))]


def _layer(name: str, given: dict[str, Any], device: str) -> list[Any]:
    model = _network(device)
    target = {} if name == "LayerActivation" else {"target": torch.tensor([0, 2]).to(device)}
    made = getattr(attr, name)(model, model[0])
    return [made.attribute(_inputs(device), **target, **_given(given, device))]


def _neuron(name: str, given: dict[str, Any], device: str) -> list[Any]:
    model = _network(device)
    target = {"target": 1} if name == "NeuronConductance" else {}
    made = getattr(attr, name)(model, model[4])
    return [made.attribute(_inputs(device), neuron_selector=3, **target, **_given(given, device))]


CASES = {
    name: functools.partial(run, name, given)
    for run, table in ((_input, INPUT), (_layer, LAYER), (_neuron, NEURON))
    for name, given in table.items()
}


def relevance(device: str) -> list[Any]:
    """Relevance passed back layer by layer."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    model.to(device)
    asked = torch.randn(2, 6).to(device)
    found = attr.LayerLRP(model, model[0]).attribute(asked, target=1)
    return [attr.LRP(model).attribute(asked, target=1, return_convergence_delta=True), found]


def noise_tunnel(device: str) -> list[Any]:
    """The mean over inputs with noise."""
    made = attr.NoiseTunnel(attr.Saliency(_network(device)))
    asked = _inputs(device)
    return [made.attribute(asked, nt_type=kind, nt_samples=3, target=0)
            for kind in ("smoothgrad", "smoothgrad_sq", "vargrad")]  # fmt: skip


def quality(device: str) -> list[Any]:
    """How faithful and how stable an attribution is."""
    model, asked = _network(device), _inputs(device)
    made = attr.Saliency(model)

    def perturb(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.tensor(0.01, device=device) * torch.ones_like(inputs)
        return noise, inputs - noise

    return [
        metrics.infidelity(model, perturb, asked, made.attribute(asked, target=1), target=1),
        metrics.sensitivity_max(made.attribute, asked, target=1, n_perturb_samples=2),
    ]


def tokens(device: str) -> list[Any]:
    """Attribution to embedded words."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Embedding(20, 8), torch.nn.Flatten(), torch.nn.Linear(32, 3)
    )
    model.to(device)
    words = torch.arange(8).reshape(2, 4).to(device)
    made = attr.LayerIntegratedGradients(model, model[0])
    found = made.attribute(words, baselines=torch.zeros_like(words), target=2, n_steps=4)
    return [
        found,
        attr.configure_interpretable_embedding_layer(model, "0").indices_to_embeddings(words),
    ]


def influence(device: str) -> list[Any]:
    """Which examples of the training set matter for a prediction."""
    import tempfile

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    model.to(device)
    inputs, labels = torch.randn(8, 6).to(device), (torch.arange(8) % 3).to(device)
    data = torch.utils.data.TensorDataset(inputs, labels)
    loss = torch.nn.CrossEntropyLoss(reduction="none")
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), f"{folder}/a.pt")

        def load(of: torch.nn.Module, path: str) -> float:
            of.load_state_dict(torch.load(path, map_location=device))
            return 0.1

        found: list[Any] = []
        for made in (
            TracInCP(model, data, [f"{folder}/a.pt"], load, batch_size=4, loss_fn=loss),
            TracInCPFast(model, model[2], data, [f"{folder}/a.pt"], load, batch_size=4,
                         loss_fn=torch.nn.CrossEntropyLoss(reduction="sum")),
        ):  # fmt: skip
            found.append(made.influence((inputs[:2], labels[:2])))
            found.append(tuple(made.influence((inputs[:2], labels[:2]), k=3)))
            found.append(made.self_influence())
        return found
