from flax import nnx
import optax


def train(model, train_step, dataset, history):
    optimizer = nnx.Optimizer(model, optax.adam(1e-3))
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    for step, batch in enumerate(dataset.as_numpy_iterator()):
        train_step(model, optimizer, metrics, batch)
        for metric, value in metrics.compute().items():
            history[metric].append(float(value))  # ASG102
        print(metrics.compute()["loss"])  # ASG101
        metrics.reset()
