import jax
import numpy as np


def evaluate(env, policy, params, seed):
    state = env.reset(jax.random.PRNGKey(seed))
    total = 0.0
    while not state.done:  # ASG104
        action = policy.apply(params, state.obs)
        state = env.step(state, action)
        total += float(state.reward)  # ASG102
    return total


def rollout(env, policy, params, seed):
    obs, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        action = policy.apply(params, obs)
        obs, reward, done, _, _ = env.step(np.asarray(action))  # ASG103
        total += float(reward)
    return total
