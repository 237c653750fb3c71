import tensorflow as tf


def train(step, batches, model, optimizer):
    ckpt = tf.train.Checkpoint(step=tf.Variable(0), model=model)
    while int(ckpt.step) < 1000:  # ASG102
        step(next(batches))
        optimizer.apply_gradients(model)
        if int(ckpt.step) == 999:  # ASG102
            print(model(next(batches)))  # clean
