"""Bayesian optimization: models fitted to few points, and the acquisition functions optimized."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from botorch import acquisition, fit_gpytorch_mll, models
from botorch.acquisition import logei, multi_objective
from botorch.acquisition.multi_objective import logei as multi_logei
from botorch.generation import MaxPosteriorSampling
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.utils.multi_objective import Hypervolume, is_non_dominated
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

Model = Any


def _data(device: str, outputs: int = 1, count: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    inputs = torch.rand(count, 2, dtype=torch.float64).to(device)
    values = [(inputs * (3 + at)).sin().sum(-1, keepdim=True) for at in range(outputs)]
    return inputs, torch.cat(values, -1)


def _bounds(device: str) -> torch.Tensor:
    return torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64, device=device)


def _single(device: str, outputs: int = 1) -> Model:
    inputs, values = _data(device, outputs)
    return models.SingleTaskGP(
        inputs, values, input_transform=Normalize(2), outcome_transform=Standardize(outputs)
    )


def _fitted(make: Callable[[str], Model], device: str) -> list[Any]:
    """Fit a model, and ask it for its posterior."""
    model = make(device)
    fit_gpytorch_mll(
        ExactMarginalLogLikelihood(model.likelihood, model),
        optimizer_kwargs={"options": {"maxiter": 4}},
    )
    asked = draw_sobol_samples(_bounds(device), n=3, q=2, seed=1)
    if isinstance(model, models.MultiTaskGP):
        asked = torch.cat([asked, torch.zeros_like(asked[..., :1])], -1)
    posterior = model.posterior(asked)
    drawn = posterior.rsample(torch.Size([2]))
    return [posterior.mean, posterior.variance, drawn]


def _tasks(device: str) -> Model:
    inputs, values = _data(device)
    task = (torch.arange(8, device=device) % 2).to(inputs).unsqueeze(-1)
    return models.MultiTaskGP(torch.cat([inputs, task], -1), values, task_feature=-1)


def _noises(device: str) -> Model:
    inputs, values = _data(device)
    return models.SingleTaskGP(inputs, values, train_Yvar=torch.full_like(values, 0.01))


def _mixed(device: str) -> Model:
    inputs, values = _data(device)
    return models.MixedSingleTaskGP(inputs.round(decimals=0), values, cat_dims=[1])


def _fidelities(device: str) -> Model:
    inputs, values = _data(device)
    return models.SingleTaskMultiFidelityGP(inputs, values, data_fidelities=[1])


def _kronecker(device: str) -> Model:
    return models.KroneckerMultiTaskGP(*_data(device, 2))


def _acquire(make: Callable[[str, Model], Any], count: int, outputs: int, device: str) -> list[Any]:
    """Optimize an acquisition function."""
    model = _single(device, outputs)
    function = make(device, model)
    points, value = optimize_acqf(
        function, _bounds(device), q=count, num_restarts=2, raw_samples=4,
        options={"maxiter": 3, "seed": 1, "batch_limit": 2},
    )  # fmt: skip
    return [points, value]


def _sampler() -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([8]), seed=1)


def _partitioned(device: str) -> FastNondominatedPartitioning:
    values = _data(device, 2)[1]
    return FastNondominatedPartitioning(torch.full((2,), -2.0).to(values), values)


ANALYTIC: dict[str, Callable[[str, Model], Any]] = {
    "ExpectedImprovement": lambda d, m: acquisition.ExpectedImprovement(m, best_f=0.5),
    "LogExpectedImprovement": lambda d, m: acquisition.LogExpectedImprovement(m, best_f=0.5),
    "ProbabilityOfImprovement": lambda d, m: acquisition.ProbabilityOfImprovement(m, best_f=0.5),
    "UpperConfidenceBound": lambda d, m: acquisition.UpperConfidenceBound(m, beta=0.2),
    "PosteriorMean": lambda d, m: acquisition.PosteriorMean(m),
    "LogNoisyExpectedImprovement": lambda d, m: acquisition.LogNoisyExpectedImprovement(
        _noises(d), _data(d)[0], num_fantasies=3
    ),
}
SAMPLED: dict[str, Callable[[str, Model], Any]] = {
    "qExpectedImprovement": lambda d, m: acquisition.qExpectedImprovement(m, 0.5, _sampler()),
    "qNoisyExpectedImprovement": lambda d, m: acquisition.qNoisyExpectedImprovement(
        m, _data(d)[0], _sampler(), prune_baseline=True
    ),
    "qLogExpectedImprovement": lambda d, m: logei.qLogExpectedImprovement(m, 0.5, _sampler()),
    "qLogNoisyExpectedImprovement": lambda d, m: logei.qLogNoisyExpectedImprovement(
        m, _data(d)[0], _sampler()
    ),
    "qProbabilityOfImprovement": lambda d, m: acquisition.qProbabilityOfImprovement(
        m, 0.5, _sampler()
    ),
    "qUpperConfidenceBound": lambda d, m: acquisition.qUpperConfidenceBound(m, 0.2, _sampler()),
    "qSimpleRegret": lambda d, m: acquisition.qSimpleRegret(m, _sampler()),
    "qKnowledgeGradient": lambda d, m: acquisition.qKnowledgeGradient(m, num_fantasies=2),
    "qMaxValueEntropy": lambda d, m: acquisition.qMaxValueEntropy(
        m, torch.rand(20, 2, dtype=torch.float64).to(d), num_fantasies=2
    ),
    "qLowerBoundMaxValueEntropy": lambda d, m: acquisition.qLowerBoundMaxValueEntropy(
        m, torch.rand(20, 2, dtype=torch.float64).to(d)
    ),
    "qNegIntegratedPosteriorVariance": lambda d, m: acquisition.qNegIntegratedPosteriorVariance(
        m, mc_points=torch.rand(4, 2, dtype=torch.float64).to(d)
    ),
}
SEVERAL: dict[str, Callable[[str, Model], Any]] = {
    "qExpectedHypervolumeImprovement": lambda d, m: multi_objective.qExpectedHypervolumeImprovement(
        m, [-2.0, -2.0], _partitioned(d), _sampler()
    ),
    "qNoisyExpectedHypervolumeImprovement": lambda d, m: (
        multi_objective.qNoisyExpectedHypervolumeImprovement(
            m, [-2.0, -2.0], _data(d)[0], _sampler(), prune_baseline=True
        )
    ),
    "qLogExpectedHypervolumeImprovement": lambda d, m: (
        multi_logei.qLogExpectedHypervolumeImprovement(m, [-2.0, -2.0], _partitioned(d), _sampler())
    ),
    "ExpectedHypervolumeImprovement": lambda d, m: multi_objective.ExpectedHypervolumeImprovement(
        m, [-2.0, -2.0], _partitioned(d)
    ),
}
CASES: dict[str, Any] = {
    **{
        f"fit {make.__name__.strip('_')}": functools.partial(_fitted, make)
        for make in (_single, _tasks, _noises, _mixed, _fidelities, _kronecker)
    },
    **{name: functools.partial(_acquire, make, 1, 1) for name, make in ANALYTIC.items()},
    **{
        name: functools.partial(_acquire, make, 1 if "Entropy" in name else 2, 1)
        for name, make in SAMPLED.items()
    },
    **{
        name: functools.partial(_acquire, make, 1 if name[0] == "E" else 2, 2)
        for name, make in SEVERAL.items()
    },
}


def listed(device: str) -> list[Any]:
    """A list of models, sampled by independent normals."""
    inputs, values = _data(device, 2)
    each = [models.SingleTaskGP(inputs, values[:, at : at + 1]) for at in range(2)]
    posterior = models.ModelListGP(*each).posterior(inputs[:3])
    return [IIDNormalSampler(torch.Size([4]), seed=1)(posterior), posterior.variance]


def fantasies(device: str) -> list[Any]:
    """Condition on points that were not yet seen."""
    model = _single(device)
    inputs, values = _data(device)
    fantasized = model.fantasize(inputs[:2] + 0.05, sampler=_sampler())
    more = model.condition_on_observations(inputs[:1] + 0.1, values[:1])
    return [fantasized.posterior(inputs[:2]).mean, more.posterior(inputs[:2]).mean]


def discrete(device: str) -> list[Any]:
    """Choose among given points, and with some features fixed."""
    function = acquisition.LogExpectedImprovement(_single(device), best_f=0.5)
    choices = draw_sobol_samples(_bounds(device), n=6, q=1, seed=2).squeeze(1)
    found = optimize_acqf_discrete(function, q=1, choices=choices)
    mixed = optimize_acqf_mixed(
        function, _bounds(device), q=1, num_restarts=2, raw_samples=4,
        fixed_features_list=[{1: 0.0}, {1: 1.0}], options={"maxiter": 2, "seed": 1},
    )  # fmt: skip
    return [*found, *mixed]


def one_after_the_other(device: str) -> list[Any]:
    """Several points, each chosen after those before it, within a constraint."""
    function = logei.qLogExpectedImprovement(_single(device), 0.5, _sampler())
    ones = torch.ones(2, dtype=torch.float64, device=device)
    constraint = torch.arange(2, device=device), ones, 0.5
    return list(optimize_acqf(
        function, _bounds(device), q=2, num_restarts=2, raw_samples=4, sequential=True,
        inequality_constraints=[constraint], options={"maxiter": 2, "seed": 1},
    ))  # fmt: skip


def thompson(device: str) -> list[Any]:
    """Draw points by the posterior over a set of them."""
    points = draw_sobol_samples(_bounds(device), n=16, q=1, seed=3).squeeze(1)
    return [MaxPosteriorSampling(_single(device), replacement=False)(points, num_samples=2)]


def hypervolume(device: str) -> list[Any]:
    """Which points no other dominates, and the volume that they do."""
    values = _data(device, 3, 12)[1]
    best = values[is_non_dominated(values)]
    return [best, Hypervolume(torch.full((3,), -2.0).to(values)).compute(best)]


def approximate(device: str) -> list[Any]:
    """A variational model."""
    inputs, values = _data(device)
    model = models.SingleTaskVariationalGP(inputs, train_Y=values, inducing_points=4)
    model.to(inputs)
    posterior = model.posterior(inputs[:3])
    return [posterior.mean, posterior.rsample(torch.Size([2]))]
