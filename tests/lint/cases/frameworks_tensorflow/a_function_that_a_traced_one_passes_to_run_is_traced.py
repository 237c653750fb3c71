import tensorflow as tf


def train_step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(tape.gradient(loss, model.variables))
    print(loss)
    return loss


@tf.function
def distributed(strategy, args):
    return strategy.run(train_step, args=args)


def fit(strategy, model, optimizer):
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(tape.gradient(loss, model.variables))
        print(loss)

    @tf.function
    def distributed(x):
        return strategy.run(step, args=(x,))


def minimize(x, maxIter):
    nIter = 0
    while nIter < maxIter:
        x = x - tf.reduce_sum(x * x)
        if tf.reduce_sum(x) < 1e-9:  # ASG104
            break
