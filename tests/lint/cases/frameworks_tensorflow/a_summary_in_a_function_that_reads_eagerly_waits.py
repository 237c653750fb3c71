import tensorflow as tf


def train_step(model, batch, step):
    with tf.GradientTape() as tape:
        loss = model(batch)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    tf.print(step, loss.numpy())  # ASG103
    tf.summary.scalar("loss", loss, step=step)  # ASG107
