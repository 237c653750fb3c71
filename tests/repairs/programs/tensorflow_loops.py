import tensorflow as tf


def batches(number=5):
    return [(tf.ones((4, 3)) * (n + 1) / 7, tf.ones((4, 1))) for n in range(number)]


def parts():
    weight = tf.Variable(tf.ones((3, 1)))
    return weight, tf.keras.optimizers.SGD(0.01)


def fewer_sum(device):
    weight, optimizer = parts()
    total = 0.0
    for x, y in batches():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        total += float(loss)
    return total


def fewer_two_reads(device):
    weight, optimizer = parts()
    pairs = []
    for x, y in batches():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - y) ** 2)
        norm = tf.reduce_mean(weight)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        pairs.append((float(loss), float(norm)))
    return pairs


def fewer_reports(device):
    weight, optimizer = parts()
    for step, (x, y) in enumerate(batches()):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weight - y) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        print(step, float(loss))
    return weight.numpy().tolist()


@tf.function(reduce_retracing=True)
def update(weight, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weight - y) ** 2)
    weight.assign_sub(0.01 * tape.gradient(loss, weight))
    return loss


def fewer_list_of_what_a_function_returns(device):
    weight, losses = parts()[0], []
    for x, y in batches():
        loss = update(weight, x, y)
        losses.append(float(loss))
    return losses
