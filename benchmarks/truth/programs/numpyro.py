"""Models of chance: chains, variational inference and predictions."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro import diagnostics, handlers, infer, optim
from numpyro.infer import autoguide

INPUTS = jnp.arange(24.0).reshape(8, 3) / 10 - 1
OUTPUTS = INPUTS @ jnp.array([1.0, -1.0, 0.5]) + 0.1


def _regression(inputs: Any, outputs: Any = None) -> Any:
    weight = numpyro.sample("weight", dist.Normal(0, 1).expand([3]).to_event(1))
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with numpyro.plate("rows", len(inputs)):
        return numpyro.sample("y", dist.Normal(inputs @ weight, scale), obs=outputs)


def _mixture(inputs: Any, outputs: Any = None) -> None:
    shares = numpyro.sample("shares", dist.Dirichlet(jnp.ones(2)))
    with numpyro.plate("kinds", 2):
        at = numpyro.sample("at", dist.Normal(0, 3))
    with numpyro.plate("rows", len(inputs)):
        kind = numpyro.sample("kind", dist.Categorical(shares), infer={"enumerate": "parallel"})
        numpyro.sample("y", dist.Normal(at[kind], 1.0), obs=outputs)


KERNELS: dict[str, Any] = {
    "NUTS": lambda: infer.NUTS(_regression, max_tree_depth=3),
    "NUTS dense": lambda: infer.NUTS(_regression, dense_mass=True, max_tree_depth=3,
                                     init_strategy=infer.init_to_median(num_samples=3)),
    "HMC": lambda: infer.HMC(_regression, num_steps=3), "SA": lambda: infer.SA(_regression),
    "BarkerMH": lambda: infer.BarkerMH(_regression),
    "AIES": lambda: infer.AIES(_regression, moves={infer.AIES.DEMove(): 0.5,
                                                   infer.AIES.StretchMove(): 0.5}),
    "mixed": lambda: infer.MixedHMC(infer.HMC(_mixture, num_steps=2), num_discrete_updates=2),
    "gibbs": lambda: infer.DiscreteHMCGibbs(infer.NUTS(_mixture, max_tree_depth=2)),
    "enumerated": lambda: infer.NUTS(_mixture, max_tree_depth=2),
}  # fmt: skip


def _sampled(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    several = 10 if name == "AIES" else 1
    chain = infer.MCMC(
        KERNELS[name](), num_warmup=4, num_samples=6, progress_bar=False, num_chains=several,
        chain_method="vectorized" if several > 1 else "sequential",
    )  # fmt: skip
    chain.run(jax.random.key(0), INPUTS, OUTPUTS)
    samples = chain.get_samples(group_by_chain=True)
    chain.print_summary()
    return [
        samples,
        diagnostics.summary(samples),
        diagnostics.hpdi(chain.get_samples()[next(iter(samples))]),
    ]


CASES: dict[str, Any] = {f"chain {name}": functools.partial(_sampled, name) for name in KERNELS}
GUIDES = (
    "AutoNormal", "AutoDelta", "AutoDiagonalNormal", "AutoMultivariateNormal",
    "AutoLaplaceApproximation",
    "AutoLowRankMultivariateNormal", "AutoIAFNormal", "AutoBNAFNormal", "AutoDAIS",
)  # fmt: skip
ELBOS: dict[str, Any] = {
    "Trace_ELBO": infer.Trace_ELBO, "several": lambda: infer.Trace_ELBO(num_particles=3),
    "TraceMeanField_ELBO": infer.TraceMeanField_ELBO, "TraceGraph_ELBO": infer.TraceGraph_ELBO,
    "RenyiELBO": lambda: infer.RenyiELBO(alpha=0.5, num_particles=3),
}  # fmt: skip


def _variational(guide: str, loss: str, device: str) -> list[Any]:
    jax.clear_caches()
    made = getattr(autoguide, guide)(_regression)
    steps = infer.SVI(_regression, made, optim.Adam(0.02), ELBOS[loss]())
    found = steps.run(jax.random.key(0), 3, INPUTS, OUTPUTS, progress_bar=False)
    asked = infer.Predictive(_regression, guide=made, params=found.params, num_samples=3)
    drawn = made.sample_posterior(jax.random.key(1), found.params, sample_shape=(2,))
    return [found.losses, found.params, asked(jax.random.key(2), INPUTS), drawn]


CASES |= {f"guide {name}": functools.partial(_variational, name, "Trace_ELBO") for name in GUIDES}
CASES |= {f"loss {name}": functools.partial(_variational, "AutoNormal", name) for name in ELBOS}


def predicted(device: str) -> list[Any]:
    """What a model says before and after it saw data; its density and its conditioned forms."""
    jax.clear_caches()
    before = infer.Predictive(_regression, num_samples=3)(jax.random.key(0), INPUTS)
    after = infer.Predictive(_regression, {"weight": before["weight"], "scale": before["scale"]})(
        jax.random.key(1), INPUTS
    )
    traced = handlers.trace(handlers.seed(_regression, jax.random.key(2))).get_trace(INPUTS)
    fixed = handlers.substitute(_regression, {"weight": jnp.ones(3), "scale": 1.0})
    density, _ = infer.util.log_density(fixed, (INPUTS, OUTPUTS), {}, {})
    likely = infer.log_likelihood(_regression, before, INPUTS, OUTPUTS)
    text = numpyro.util.format_shapes(traced)
    return [before, after, density, likely, len(text) > 0]


def by_hand(device: str) -> list[Any]:
    """Steps one at a time, by a rule of each kind."""
    found = []
    for rule in (optim.SGD(0.01), optim.Momentum(0.01, 0.9), optim.Adagrad(0.1),
        optim.RMSProp(0.01),
                 optim.ClippedAdam(0.01), optim.SM3(0.01), optim.Minimize()):  # fmt: skip
        jax.clear_caches()
        steps = infer.SVI(_regression, autoguide.AutoDelta(_regression), rule, infer.Trace_ELBO())
        state = steps.init(jax.random.key(0), INPUTS, OUTPUTS)
        for _ in range(2):
            state, loss = steps.update(state, INPUTS, OUTPUTS)
            found.append(float(loss))
        found.append(steps.evaluate(state, INPUTS, OUTPUTS))
    return found


FAMILIES: dict[str, Any] = {
    "Beta": lambda: dist.Beta(1.0, 2.0), "Gamma": lambda: dist.Gamma(1.0, 2.0), "StudentT":
        lambda: dist.StudentT(3.0), "Binomial": lambda: dist.Binomial(5, 0.3),
    "Poisson": lambda: dist.Poisson(2.0), "ZIP": lambda: dist.ZeroInflatedPoisson(0.2, 2.0),
    "LKJ": lambda: dist.LKJCholesky(3, 1.0), "MVN": lambda: dist.MultivariateNormal(
        jnp.zeros(2), jnp.eye(2)), "VonMises": lambda: dist.VonMises(0.0, 2.0), "Dirichlet":
        lambda: dist.Dirichlet(jnp.ones(3)), "Truncated": lambda: dist.TruncatedNormal(low=-1.0,
            high=1.0),
    "Mixture": lambda: dist.MixtureSameFamily(dist.Categorical(jnp.ones(2) / 2),
                                              dist.Normal(jnp.array([0.0, 2.0]), 1.0)),
    "Walk": lambda: dist.GaussianRandomWalk(0.5, 4), "Wishart": lambda: dist.Wishart(
        4.0, jnp.eye(2)), "SineBivariate": lambda: dist.SineBivariateVonMises(0.0, 0.0, 1.0, 1.0,
        0.2),
    "Multinomial": lambda: dist.Multinomial(5, jnp.ones(3) / 3), "Ordered": lambda:
        dist.OrderedLogistic(0.2, jnp.array([0.0, 1.0])),
}  # fmt: skip


def _drawn(name: str, device: str) -> list[Any]:
    jax.clear_caches()
    with numpyro.validation_enabled():
        made = FAMILIES[name]()
        value = made.sample(jax.random.key(0), (3,))
        return [value, made.log_prob(value), made.mean if name not in ("Ordered", "LKJ") else 0]


CASES |= {f"draw {name}": functools.partial(_drawn, name) for name in FAMILIES}
