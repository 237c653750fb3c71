import tensorflow as tf


@tf.function
def step(model, x):
    return model(x)


def fit(model, loss_of, optimizer, loader):
    for x, y in loader:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        print(int(tf.size(y)))  # clean
        print(int(tf.argmax(loss)))  # ASG102
