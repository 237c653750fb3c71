from networks import *


def train(model, dataset, optimizer):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        tf.summary.scalar("loss", loss, step=1)  # ASG107
        best = np.max(loss)  # ASG103
