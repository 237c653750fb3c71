import jax
from acme.jax import utils


class Actor:
    def select_action(self, observation):
        action, self.state = self.policy(self.params, observation, self.state)
        return utils.to_numpy(action)  # ASG103


class Actor2:
    def select_action(self, observation):
        action, self.state = self.policy(self.params, observation, self.state)
        return utils.add_batch_dim(action)  # clean
