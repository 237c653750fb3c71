import tensorflow as tf


def evaluate(sets, model, steps):
    @tf.function
    def run(iterator):
        return model(next(iterator))

    for name in sets:
        x = iter(sets[name])
        for _ in range(steps):
            x = run(x)
        print(x.numpy())  # clean


def evaluate_2(sets, model, layers):
    @tf.function
    def run(iterator):
        return model(next(iterator))

    for name in sets:
        x = iter(sets[name])
        print(run(x).numpy())  # ASG103
