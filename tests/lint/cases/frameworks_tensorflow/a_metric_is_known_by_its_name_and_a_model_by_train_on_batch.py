import tensorflow as tf


def train(models, optimizer, dataset, loss_metric):
    for step, (x, y) in enumerate(dataset):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(models["a"](x) - y)
        optimizer.apply_gradients(tape.gradient(loss, variables))
        print(float(loss_metric.result()))  # ASG102
        scores["b"] = models["b" + str(step)].train_on_batch(x, y)  # ASG102
