import jax


def run(agent, buffer):
    for step in range(1000):
        agent, info = agent.update(buffer.sample(32))
        means = {name: float(value) for name, value in info.items()}  # ASG102
