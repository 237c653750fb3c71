# settings: min_probability=default
import torch


class Agent:
    def fit(self, batch):
        loss = self.net(batch).mean()
        loss.backward()
        self.optimizer.step()

    def update(self, batch, step):
        if step % self.every != 0:  # clean
            return
        self.fit(batch)
        self.reward = self.net(batch).mean().item()  # ASG102

    def learn(self, env):
        for step in range(9):
            env.step(step)
            self.update(env.batch, step)


class Agent:
    def fit(self, batch):
        loss = self.net(batch).mean()
        loss.backward()
        self.optimizer.step()

    def update(self, batch, step):
        if step % self.every != 0:  # clean
            return
        self.rng = batch
        self.reward = self.net(batch).mean().item()  # clean

    def learn(self, env):
        for step in range(9):
            env.step(step)
            self.update(env.batch, step)
