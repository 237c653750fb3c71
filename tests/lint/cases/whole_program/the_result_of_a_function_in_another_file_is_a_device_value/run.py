import jax


def run(agent, env, observation):
    for step in range(100):
        observation = env.step(agent.behave_well(observation))
