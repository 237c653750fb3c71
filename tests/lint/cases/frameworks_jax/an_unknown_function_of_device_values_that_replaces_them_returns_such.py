import jax
from tools import combine, to_numpy


def evaluate(step, params, data):
    step = jax.pmap(step)
    for batch in data:
        metrics = step(params, batch)
        metrics = combine(metrics)
        print(float(metrics["accuracy"]))  # ASG102
        metrics = to_numpy(metrics)  # ASG103
        print(float(metrics["accuracy"]))
