import tensorflow as tf


def train(model, dataset, optimizer):
    for x in dataset:
        with tf.GradientTape() as tape:
            loss = model(x)
        optimizer.apply_gradients(tape.gradient(loss, model.weights))
        if tf.equal(optimizer.iterations % 100, 0):  # ASG104
            print(float(loss))  # clean
