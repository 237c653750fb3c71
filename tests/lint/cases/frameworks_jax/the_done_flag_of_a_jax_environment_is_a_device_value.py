import jax


def rollout(env, policy, key):
    @jax.jit
    def advance(state, key):
        new, _ = jax.random.split(key)
        return env.step(state, policy(state.obs, key)), new

    state = env.reset(key)
    while not state.done:  # ASG104
        state, key = advance(state, key)
