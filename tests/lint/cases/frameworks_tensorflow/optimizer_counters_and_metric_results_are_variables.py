import tensorflow as tf


def train(model, dataset):
    optimizer = tf.keras.optimizers.Adam()
    mean = tf.keras.metrics.Mean()
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = model(x)
        grads = tape.gradient(loss, model.variables)
        optimizer.apply_gradients(zip(grads, model.variables))
        mean.update_state(loss)
        step = optimizer.iterations.numpy()  # ASG103
        rate = optimizer.lr.numpy()  # ASG103
        value = float(mean.result())  # ASG102
