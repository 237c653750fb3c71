import tensorflow as tf
from base import Base


class Agent(Base):
    def train(self, states):
        loss = self._update_critic(states)
        tf.summary.scalar("loss", loss)  # ASG107
        self._update_actor(states)

    @tf.function
    def _update_actor(self, states):
        self.optimizer.apply_gradients(self.actor(states))
