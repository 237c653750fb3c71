"""TensorFlow Probability: distributions, bijectors, chains, variational inference, optimizers."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
import tf_keras

tfb, tfd = tfp.bijectors, tfp.distributions

DISTRIBUTIONS: dict[str, tuple[Any, ...]] = {
    "Normal": (0.0, 1.0), "LogNormal": (0.0, 1.0), "Gamma": (2.0, 1.0), "Beta": (2.0, 3.0),
    "InverseGamma": (3.0, 1.0), "StudentT": (3.0, 0.0, 1.0), "Laplace": (0.0, 1.0),
    "Cauchy": (0.0, 1.0), "HalfNormal": (1.0,), "HalfCauchy": (0.0, 1.0), "Gumbel": (0.0, 1.0),
    "Logistic": (0.0, 1.0), "Uniform": (0.0, 1.0), "Exponential": (1.0,), "Pareto": (2.0, 1.0),
    "Weibull": (1.5, 1.0), "Kumaraswamy": (2.0, 3.0), "VonMises": (0.0, 1.0),
    "TruncatedNormal": (0.0, 1.0, -1.0, 1.0), "Triangular": (0.0, 1.0, 0.5),
    "Bernoulli": (0.3,), "Binomial": (5.0, 0.3), "Categorical": ([0.1, 0.2, 0.7],),
    "Multinomial": (4.0, [0.1, 0.2, 0.7]), "Poisson": (2.0,), "NegativeBinomial": (3.0, 0.2),
    "Geometric": (0.2,), "Dirichlet": ([1.0, 2.0, 3.0],), "Zipf": (2.0,), "Moyal": (0.0, 1.0),
    "MultivariateNormalDiag": ([0.0, 1.0], [1.0, 2.0]), "WishartTriL": (4.0, np.eye(2, dtype="f")),
    "MultivariateNormalTriL": ([0.0, 1.0], np.eye(2, dtype="f")), "LKJ": (3, 1.5),
    "CholeskyLKJ": (3, 1.5), "VonMisesFisher": ([1.0, 0.0, 0.0], 2.0), "Skellam": (2.0, 1.0),
    "OrderedLogistic": ([-1.0, 1.0], 0.0), "DirichletMultinomial": (4.0, [1.0, 2.0, 3.0]),
    "ExponentiallyModifiedGaussian": (0.0, 1.0, 1.0), "GeneralizedPareto": (0.0, 1.0, 0.2),
    "SinhArcsinh": (0.0, 1.0), "PlackettLuce": ([1.0, 2.0, 3.0],), "BetaBinomial": (5.0, 2.0, 3.0),
    "LogitNormal": (0.0, 1.0), "JohnsonSU": (0.0, 1.0, 0.0, 1.0), "Chi2": (3.0,), "Bates": (4.0,),
    "InverseGaussian": (1.0, 2.0), "PERT": (0.0, 0.5, 1.0), "RelaxedBernoulli": (0.5, 0.3),
    "GammaGamma": (2.0, 3.0, 1.0), "DeterminantalPointProcess": (
        [0.5, 1.0, 1.5], np.eye(3, dtype="f")),
}  # fmt: skip


def _asked(name: str, device: str) -> list[Any]:
    tf.random.set_seed(0)
    given = DISTRIBUTIONS[name]
    made = getattr(tfd, name)(*given, validate_args=True)
    drawn = made.sample(6, seed=3)
    found = [drawn, made.log_prob(drawn)]
    for asked in ("mean", "variance", "mode", "entropy", "stddev"):
        with contextlib.suppress(NotImplementedError):
            found.append(getattr(made, asked)())
    with contextlib.suppress(NotImplementedError):
        found.append(made.cdf(drawn))
    with tf.GradientTape() as tape:
        tape.watch(drawn)
        value = tf.reduce_sum(made.log_prob(drawn))
    return [*found, value, tape.gradient(value, drawn)]


CASES: dict[str, Any] = {f"of {n}": functools.partial(_asked, n) for n in DISTRIBUTIONS}
BIJECTORS: dict[str, Any] = {
    "Exp": tfb.Exp, "Softplus": tfb.Softplus, "Sigmoid": tfb.Sigmoid, "Tanh": tfb.Tanh,
    "Shift": lambda: tfb.Shift(1.0), "Scale": lambda: tfb.Scale(2.0), "Cumsum": tfb.Cumsum,
    "Ordered": tfb.Ascending, "SoftmaxCentered": tfb.SoftmaxCentered, "SinhArcsinh":
    lambda: tfb.SinhArcsinh(0.1, 1.2), "Permute": lambda: tfb.Permute([2, 0, 1]), "Softsign":
    tfb.Softsign, "Chain": lambda: tfb.Chain([tfb.Exp(), tfb.Shift(1.0), tfb.Scale(0.5)]),
    "FillTriangular": tfb.FillTriangular, "NormalCDF": tfb.NormalCDF, "Weibull":
    lambda: tfb.Invert(tfb.WeibullCDF(1.0, 2.0)), "SoftClip": lambda: tfb.SoftClip(-3.0, 3.0),
    "FillScaleTriL": tfb.FillScaleTriL, "RationalQuadraticSpline": lambda:
    tfb.RationalQuadraticSpline([1.0, 1.0], [1.0, 1.0], [1.0], range_min=-1.0),
}  # fmt: skip


def _mapped(name: str, device: str) -> list[Any]:
    tf.random.set_seed(0)
    bijector = BIJECTORS[name]()
    x = tf.constant([[0.1, 0.3, 0.6], [-0.2, 0.5, 0.7]])
    y = bijector.forward(x)
    back = bijector.inverse(tf.identity(y))
    least = bijector.forward_min_event_ndims
    return [y, back, bijector.forward_log_det_jacobian(x, max(least, 1))]


CASES |= {f"by {name}": functools.partial(_mapped, name) for name in BIJECTORS}


def _target(x: Any) -> Any:
    return tfd.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0]).log_prob(x)


def _kernels() -> dict[str, Any]:
    mcmc = tfp.mcmc
    hmc = functools.partial(
        mcmc.HamiltonianMonteCarlo, _target, step_size=0.3, num_leapfrog_steps=2
    )
    return {
        "HMC": hmc,
        "NUTS": lambda: mcmc.NoUTurnSampler(_target, step_size=0.3, max_tree_depth=3),
        "walk": lambda: mcmc.RandomWalkMetropolis(_target),
        "MALA": lambda: mcmc.MetropolisAdjustedLangevinAlgorithm(_target, 0.1),
        "slice": lambda: mcmc.SliceSampler(_target, 0.5, 3),
        "adapting": lambda: mcmc.SimpleStepSizeAdaptation(hmc(), num_adaptation_steps=3),
        "averaging": lambda: mcmc.DualAveragingStepSizeAdaptation(hmc(), num_adaptation_steps=3),
        "transformed": lambda: mcmc.TransformedTransitionKernel(hmc(), tfb.Shift(1.0)),
        "exchange": lambda: mcmc.ReplicaExchangeMC(
            _target, [1.0, 0.5],
            lambda target: mcmc.HamiltonianMonteCarlo(target, 0.3, 2)),
    }  # fmt: skip


def _chained(name: str, device: str) -> list[Any]:
    tf.random.set_seed(0)
    states = tfp.mcmc.sample_chain(
        6, current_state=tf.zeros([3, 2]), kernel=_kernels()[name](), num_burnin_steps=3,
        trace_fn=None, seed=2,
    )  # fmt: skip
    size = tfp.mcmc.effective_sample_size(states)
    return [states, size, tfp.mcmc.potential_scale_reduction(states)]


CASES |= {f"chain {name}": functools.partial(_chained, name) for name in _kernels()}


def variational(device: str) -> list[Any]:
    """A surrogate that is fitted to a target, and the joint distributions it is asked of."""
    tf.random.set_seed(0)

    def model() -> Any:
        scale = yield tfd.LogNormal(0.0, 1.0, name="scale")
        yield tfd.Sample(tfd.Normal(0.0, scale), 4, name="values")

    joint = tfd.JointDistributionCoroutineAutoBatched(model)
    pinned = joint.experimental_pin(values=tf.constant([1.0, -1.0, 0.5, 2.0]))
    surrogate = tfp.experimental.vi.build_factored_surrogate_posterior(
        event_shape=pinned.event_shape, bijector=pinned.experimental_default_event_space_bijector()
    )
    losses = tfp.vi.fit_surrogate_posterior(
        pinned.unnormalized_log_prob, surrogate, tf_keras.optimizers.legacy.Adam(0.1), 5, seed=1
    )
    return [losses, surrogate.sample(2, seed=3), joint.sample(seed=4)]


def optimized(device: str) -> list[Any]:
    """Minimizers, root finders and integrals."""

    def bowl(x: Any) -> Any:
        return tfp.math.value_and_gradient(lambda v: tf.reduce_sum((v - 1.0) ** 2), x)

    start = tf.constant([3.0, -2.0])
    return [
        tfp.optimizer.lbfgs_minimize(bowl, start, max_iterations=5).position,
        tfp.optimizer.bfgs_minimize(bowl, start, max_iterations=5).position,
        tfp.optimizer.nelder_mead_minimize(
            lambda v: tf.reduce_sum((v - 1.0) ** 2, -1), initial_vertex=start, max_iterations=5
        ).position,
        tfp.optimizer.differential_evolution_minimize(
            lambda v: (v - 1.0) ** 2, initial_population=tf.constant([2.0, 3.0, 4.0, 5.0, -1.0]),
            max_iterations=3, seed=1).position,
        tfp.math.find_root_chandrupatla(lambda x: x**3 - 2.0, 0.0, 2.0).estimated_root,
        tfp.math.secant_root(lambda x: x**2 - 2.0, tf.constant(1.0), max_iterations=5)[0],
        tfp.math.ode.DormandPrince().solve(
            lambda t, y: -y, 0.0, tf.constant([1.0]), [0.5, 1.0]).states,
        tfp.math.minimize(
            lambda: tf.reduce_sum(VARIABLE**2), 3, tf_keras.optimizers.legacy.SGD(0.1)),
        tfp.stats.percentile(tf.range(10.0), [10.0, 50.0]),
        tfp.stats.auto_correlation(tf.range(10.0)),
        tfp.stats.histogram(tf.range(10.0), [0.0, 5.0, 10.0]),
        tfp.stats.expected_calibration_error(3, tf.random.stateless_normal([6, 3], [1, 2]),
                                             tf.constant([0, 1, 2, 0, 1, 2])),
    ]  # fmt: skip


VARIABLE = tf.Variable([1.0, 2.0])


def in_time(device: str) -> list[Any]:
    """A structural time series, a Gaussian process, a hidden Markov model, a Kalman filter."""
    tf.random.set_seed(0)
    series = tf.cumsum(tf.random.stateless_normal([20], [1, 2]))
    trend = tfp.sts.LocalLinearTrend(observed_time_series=series)
    season = tfp.sts.Seasonal(4, observed_time_series=series)
    model = tfp.sts.Sum([trend, season], observed_time_series=series)
    guide = tfp.sts.build_factored_surrogate_posterior(model)
    losses = tfp.vi.fit_surrogate_posterior(
        model.joint_distribution(series).log_prob, guide, tf_keras.optimizers.legacy.Adam(0.1), 2
    )
    samples = guide.sample(2, seed=1)
    ahead = tfp.sts.forecast(model, series, samples, num_steps_forecast=3)
    points = tf.reshape(tf.range(5.0), [5, 1])
    process = tfd.GaussianProcessRegressionModel(
        tfp.math.psd_kernels.MaternFiveHalves(), points + 0.5, points, tf.sin(points[:, 0]), 0.1
    )
    hidden = tfd.HiddenMarkovModel(
        tfd.Categorical([0.5, 0.5]),
        tfd.Categorical([[0.8, 0.2], [0.3, 0.7]]),
        tfd.Normal([0.0, 3.0], 1.0),
        5,
    )
    seen = tf.constant([0.1, 2.0, 3.0, 0.0, 1.0])
    return [
        losses, ahead.mean(), process.mean(), process.sample(seed=2), hidden.posterior_mode(seen),
        hidden.log_prob(seen), hidden.posterior_marginals(seen).probs_parameter(),
    ]  # fmt: skip


def in_layers(device: str) -> list[Any]:
    """Layers that hold distributions, fitted by Keras."""
    tf.random.set_seed(0)
    x = np.random.default_rng(0).normal(size=(16, 4)).astype("float32")
    found = []
    for layer in (
        tfp.layers.DenseReparameterization(2), tfp.layers.DenseFlipout(2),
        tfp.layers.DenseLocalReparameterization(2),
    ):  # fmt: skip
        model = tf_keras.Sequential(
            [layer, tfp.layers.DistributionLambda(lambda t: tfd.Normal(t[..., :1], 1.0))]
        )
        model.compile(tf_keras.optimizers.SGD(0.01), lambda y, made: -made.log_prob(y))
        found.append(model.fit(x, x[:, :1], epochs=2, verbose=0).history)
    return found
