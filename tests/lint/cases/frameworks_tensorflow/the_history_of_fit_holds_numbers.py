import tensorflow as tf


def train(model, value_model, optimizer, dataset):
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        history = value_model.fit(x, y)
        value_loss = history.history["loss"][-1]
        print(f"{value_loss} {loss}")  # ASG101
        print(f"{value_loss}")
