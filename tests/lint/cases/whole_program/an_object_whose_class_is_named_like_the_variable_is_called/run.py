import tensorflow as tf


class Trainer:
    def __init__(self, model, anchor_assigner, validator, callbacks):
        self.model = model
        self.anchor_assigner = anchor_assigner
        self.callbacks = callbacks
        self.validator = validator

    def fit(self, batches, optimizer):
        for step, batch in enumerate(batches):
            with tf.GradientTape() as tape:
                loss = self.model(batch)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            self.anchor_assigner(loss)
            self.validator(loss)
            for callback in self.callbacks:
                callback(step, loss)
