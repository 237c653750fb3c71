import jax


def run(agent, env, params, key):
    timestep, state = env.reset(), agent.initial_state()
    while not timestep.last():
        output, state = agent.actor_step(params, timestep, state, key)
        timestep = env.step(int(output.actions))  # ASG102
