import chainer
import logging


class Agent:
    def __init__(self, logger=None):
        self.logger = logger or logging.getLogger(__name__)

    def act(self, obs):
        q = self.model(obs)
        self.logger.debug("q: %s", q.array)
        self.logger.info("q: %s", q.array)  # ASG101
