"""Models of chance, learned by variational inference, chains and exact sums."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from pyro import infer, optim, poutine
from pyro.contrib import gp
from pyro.infer import autoguide
from pyro.nn import PyroModule, PyroSample


def _data(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    inputs = torch.randn(12, 3)
    return inputs.to(device), (inputs @ torch.tensor([1.0, -1.0, 0.5]) + 0.3).to(device)


def _begin() -> None:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)


def _regression(inputs: torch.Tensor, outputs: torch.Tensor | None = None) -> Any:
    zero = inputs.new_zeros(3)
    weight = pyro.sample("weight", dist.Normal(zero, 1.0).to_event(1))
    scale = pyro.sample("scale", dist.LogNormal(zero[0], zero[0] + 1))
    with pyro.plate("rows", len(inputs)):
        return pyro.sample("y", dist.Normal((inputs * weight).sum(-1), scale), obs=outputs)


def _guide(inputs: torch.Tensor, outputs: torch.Tensor | None = None) -> None:
    zero = inputs.new_zeros(3)
    at = pyro.param("at", zero)
    wide = pyro.param("wide", zero + 0.1, constraint=dist.constraints.positive)
    pyro.sample("weight", dist.Normal(at, wide).to_event(1))
    pyro.sample(
        "scale", dist.Delta(pyro.param("s", zero[0] + 1, constraint=dist.constraints.positive))
    )


def _mixture(inputs: torch.Tensor, outputs: torch.Tensor | None = None) -> None:
    zero = inputs.new_zeros(2)
    shares = pyro.sample("shares", dist.Dirichlet(zero + 1))
    with pyro.plate("kinds", 2):
        at = pyro.sample("at", dist.Normal(zero[0], zero[0] + 3))
    with pyro.plate("rows", len(inputs)):
        kind = pyro.sample("kind", dist.Categorical(shares), infer={"enumerate": "parallel"})
        pyro.sample("y", dist.Normal(at[kind], 1.0), obs=outputs)


def _chain(inputs: torch.Tensor, outputs: torch.Tensor | None = None) -> None:
    zero = inputs.new_zeros(2, 2)
    moves = pyro.sample("moves", dist.Dirichlet(zero + 1).to_event(1))
    at = pyro.sample("at", dist.Normal(zero[0], 2.0).to_event(1))
    state: Any = 0
    for time in pyro.markov(range(4)):
        state = pyro.sample(
            f"state{time}", dist.Categorical(moves[state]), infer={"enumerate": "parallel"}
        )
        pyro.sample(f"y{time}", dist.Normal(at[state], 1.0), obs=inputs[time, 0])


def _variational(model: Any, guide: Any, loss: Any, optimizer: Any, device: str) -> list[Any]:
    _begin()
    inputs, outputs = _data(device)
    guide = guide(model) if isinstance(guide, type | functools.partial) else guide
    steps = infer.SVI(model, guide, optimizer(), loss())
    losses = [steps.step(inputs, outputs) for _ in range(3)]
    losses.append(steps.evaluate_loss(inputs, outputs))
    return [losses, dict(pyro.get_param_store().items())]


def _adam() -> Any:
    return optim.ClippedAdam({"lr": 0.02, "clip_norm": 5.0})


GUIDES = (
    "AutoNormal", "AutoDelta", "AutoDiagonalNormal", "AutoMultivariateNormal",
    "AutoLowRankMultivariateNormal", "AutoLaplaceApproximation", "AutoIAFNormal", "AutoStructured",
)  # fmt: skip
HIDDEN = ["kind"]
LOSSES: dict[str, Callable[[], Any]] = {
    "Trace_ELBO": infer.Trace_ELBO,
    "Trace_ELBO vectorized": lambda: infer.Trace_ELBO(
        num_particles=3, vectorize_particles=True, max_plate_nesting=1
    ),
    "TraceMeanField_ELBO": infer.TraceMeanField_ELBO,
    "TraceGraph_ELBO": infer.TraceGraph_ELBO,
    "RenyiELBO": lambda: infer.RenyiELBO(alpha=0.5, num_particles=3),
    "EnergyDistance": lambda: infer.EnergyDistance(num_particles=3),
    "TraceTailAdaptive_ELBO": lambda: infer.TraceTailAdaptive_ELBO(
        num_particles=3, vectorize_particles=True, max_plate_nesting=1
    ),
    "ReweightedWakeSleep": lambda: infer.ReweightedWakeSleep(num_particles=3),
}
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "Adam": lambda: optim.Adam({"lr": 0.01}),
    "AdagradRMSProp": lambda: optim.AdagradRMSProp({}),
    "DCTAdam": lambda: optim.DCTAdam({"lr": 0.01}),
    "ExponentialLR": lambda: optim.ExponentialLR(
        {"optimizer": torch.optim.Adam, "optim_args": {"lr": 0.01}, "gamma": 0.9}
    ),
    "per parameter": lambda: optim.Adam(lambda name: {"lr": 0.1 if name == "at" else 0.01}),
}
CASES: dict[str, Any] = {
    **{
        f"guide {name}": functools.partial(
            _variational, _regression, getattr(autoguide, name), infer.Trace_ELBO, _adam
        )
        for name in GUIDES
    },
    **{
        f"loss {name}": functools.partial(_variational, _regression, _guide, loss, _adam)
        for name, loss in LOSSES.items()
    },
    **{
        f"optimizer {name}": functools.partial(
            _variational, _regression, _guide, infer.Trace_ELBO, optimizer
        )
        for name, optimizer in OPTIMIZERS.items()
    },
}


def _summed(model: Any, hidden: list[str], plates: int, device: str) -> list[Any]:
    """Discrete choices summed out, then inferred."""
    _begin()
    inputs, outputs = _data(device)
    guide = autoguide.AutoNormal(poutine.block(model, hide=hidden))
    loss = infer.TraceEnum_ELBO(max_plate_nesting=plates)
    steps = infer.SVI(model, guide, _adam(), loss)
    losses = [steps.step(inputs, outputs) for _ in range(2)]
    traced = poutine.trace(guide).get_trace(inputs, outputs)
    replayed = poutine.replay(model, trace=traced)
    chosen = infer.infer_discrete(replayed, first_available_dim=-1 - plates, temperature=0)
    found = poutine.trace(chosen).get_trace(inputs, outputs)
    marginals = loss.compute_marginals(model, guide, inputs, outputs)
    return [losses, [found.nodes[name]["value"] for name in hidden],
            [each.logits for each in marginals.values()]]  # fmt: skip


CASES |= {
    "summed out": functools.partial(_summed, _mixture, HIDDEN, 1),
    "chain of states": functools.partial(_summed, _chain, [f"state{at}" for at in range(4)], 0),
}


def _sampled(kernel: Callable[[], Any], device: str) -> list[Any]:
    _begin()
    inputs, outputs = _data(device)
    chain = infer.MCMC(kernel(), num_samples=4, warmup_steps=4, disable_progbar=True)
    chain.run(inputs, outputs)
    samples = chain.get_samples()
    asked = infer.Predictive(_regression, samples)(inputs, None)
    return [samples, asked, chain.diagnostics()["weight"]["n_eff"]]


CASES |= {
    "NUTS": functools.partial(_sampled, lambda: infer.NUTS(_regression, max_tree_depth=3)),
    "NUTS multinomial": functools.partial(
        _sampled,
        lambda: infer.NUTS(
            _regression, max_tree_depth=3, use_multinomial_sampling=False, full_mass=True
        ),
    ),
    "HMC": functools.partial(_sampled, lambda: infer.HMC(_regression, num_steps=3)),
    "HMC median": functools.partial(
        _sampled,
        lambda: infer.HMC(_regression, num_steps=2, init_strategy=infer.autoguide.init_to_median),
    ),
}


class _Bayesian(PyroModule):
    def __init__(self, device: str) -> None:
        super().__init__()
        zero = torch.zeros(3, device=device)
        self.linear = PyroModule[torch.nn.Linear](3, 1).to(device)
        self.linear.weight = PyroSample(dist.Normal(zero, 1.0).expand([1, 3]).to_event(2))

    def forward(self, inputs: torch.Tensor, outputs: torch.Tensor | None = None) -> torch.Tensor:
        mean = self.linear(inputs).squeeze(-1)
        with pyro.plate("rows", len(inputs)):
            pyro.sample("y", dist.Normal(mean, 0.5), obs=outputs)
        return mean


def network(device: str) -> list[Any]:
    """A layer whose weights are samples."""
    _begin()
    inputs, outputs = _data(device)
    model = _Bayesian(device)
    guide = autoguide.AutoDiagonalNormal(model)
    steps = infer.SVI(model, guide, _adam(), infer.Trace_ELBO())
    losses = [steps.step(inputs, outputs) for _ in range(3)]
    asked = infer.Predictive(model, guide=guide, num_samples=3, parallel=False)(inputs)
    return [losses, asked]


def _process(make: Callable[[Any, Any, Any], Any], device: str) -> list[Any]:
    _begin()
    inputs, outputs = _data(device)
    kernel = gp.kernels.RBF(3).to(device)
    model = make(inputs, outputs, kernel).to(device)
    losses = gp.util.train(model, num_steps=2)
    with torch.no_grad():
        return [losses, model(inputs[:4], full_cov=True)]


CASES |= {
    "gp exact": functools.partial(_process, gp.models.GPRegression),
    "gp sparse": functools.partial(
        _process,
        lambda x, y, k: gp.models.SparseGPRegression(x, y, k, Xu=x[:4].clone(), jitter=1e-4),
    ),
    "gp variational": functools.partial(
        _process,
        lambda x, y, k: gp.models.VariationalSparseGP(
            x, (y > 0).to(x), k, Xu=x[:4].clone(), likelihood=gp.likelihoods.Binary(), whiten=True
        ),
    ),
}
FAMILIES: dict[str, Callable[[torch.Tensor], Any]] = {
    "ProjectedNormal": lambda one: dist.ProjectedNormal(torch.stack([one, one, one]) * 3),
    "Stable": lambda one: dist.Stable(one * 1.5, one * 0.1),
    "BetaBinomial": lambda one: dist.BetaBinomial(one, one * 2, 5),
    "ZeroInflatedPoisson": lambda one: dist.ZeroInflatedPoisson(one * 3, gate=one * 0.2),
    "GammaPoisson": lambda one: dist.GammaPoisson(one, one),
    "LKJ": lambda one: dist.LKJCholesky(3, one),
    "OrderedLogistic": lambda one: dist.OrderedLogistic(one, torch.stack([one, one + 1])),
    "SkewLaplace": lambda one: dist.AsymmetricLaplace(one, one, one),
    "Logistic": lambda one: dist.Logistic(one, one),
    "MaskedMixture": lambda one: dist.MaskedMixture(
        torch.stack([one > 0, one < 0]), dist.Normal(one, one).expand([2]), dist.Laplace(one,
            one).expand([2])
    ),
    "Spline": lambda one: dist.TransformedDistribution(
        dist.Normal(one.new_zeros(2), one.new_ones(2)),
        [dist.transforms.AffineTransform(0.5, 2.0), dist.transforms.DiscreteCosineTransform()],
    ),
    "GaussianHMM": lambda one: dist.GaussianHMM(
        dist.MultivariateNormal(one.new_zeros(2), torch.eye(2).to(one)), torch.eye(2).to(one) * 0.9,
        dist.MultivariateNormal(one.new_zeros(2), torch.eye(2).to(one)), torch.eye(2).to(one),
        dist.MultivariateNormal(one.new_zeros(2), torch.eye(2).to(one)), duration=3,
    ),
    "DiscreteHMM": lambda one: dist.DiscreteHMM(
        one.new_zeros(2), one.new_zeros(2, 2), dist.Normal(one.new_zeros(3, 2), 1.0)
    ),
}  # fmt: skip


def _drawn(name: str, device: str) -> list[Any]:
    _begin()
    made = FAMILIES[name](torch.tensor(1.0, device=device))
    value = made.sample() if name == "DiscreteHMM" else made.sample(torch.Size([3]))
    return [value, made.log_prob(value)]


CASES |= {f"draw {name}": functools.partial(_drawn, name) for name in FAMILIES}
