import tensorflow as tf


def train(model, optimizer, data, history):
    strategy = tf.distribute.MirroredStrategy()

    def step(x):
        with tf.GradientTape() as tape:
            loss = model(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.w), model.w))
        return loss

    for x in strategy.experimental_distribute_dataset(data):
        losses = strategy.run(step, args=(x,))
        total = strategy.reduce("SUM", losses, axis=None)
        history.append(total.numpy())  # ASG103
