import tensorflow as tf

tf.compat.v1.InteractiveSession(config=CONFIG)


def train(model, optimizer, dataset):
    loss_avg = tf.keras.metrics.Mean()
    for x, y in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) - y)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        loss_avg(loss)
        print(f"{loss_avg.result():.4f}")  # ASG101
