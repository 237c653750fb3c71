import tensorflow as tf


class Base:
    @tf.function
    def _update_critic(self, states):
        with tf.GradientTape() as tape:
            loss = self.critic(states)
        gradients = tape.gradient(loss, self.critic.trainable_variables)
        self.optimizer.apply_gradients(gradients)
        return loss
