import tensorflow as tf


@tf.function
def train_step(model, optimizer, batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(batch))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def train(model, optimizer, dataset, steps):
    bar = tf.keras.utils.Progbar(steps)
    for step, batch in enumerate(dataset):
        loss = train_step(model, optimizer, batch)
        bar.update(step, values=[("loss", loss)])  # ASG107
        bar.update(step)


class Fitter:
    def start(self, steps):
        self.bar = tf.keras.utils.Progbar(steps)

    def fit(self, model, optimizer, dataset):
        for batch in dataset:
            loss = train_step(model, optimizer, batch)
            self.bar.add(1, [("loss", loss), ("steps", 3)])  # ASG107
