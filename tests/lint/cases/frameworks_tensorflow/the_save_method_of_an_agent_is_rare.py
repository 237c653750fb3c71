import tensorflow as tf


class Agent(tf.Module):
    def save(self, path):
        write(path, [variable.numpy() for variable in self.variables])  # clean

    def act(self, state):
        return self.policy(state).numpy()  # ASG103


def train(env, steps):
    agent, state = Agent(), env.reset()
    for step in range(steps):
        state, reward, done, _ = env.step(agent.act(state))
        agent.save("agent.npz")
