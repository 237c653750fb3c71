import jax


def run(agent, update, params, opt_state, num_steps, updates_per_step):
    for _ in range(num_steps):
        float(agent.apply(params, 0))  # ASG102
        for _ in range(updates_per_step):
            params, opt_state = update(params, opt_state)


def run_2(agent, update, params, opt_state, num_steps, num_updates):
    for _ in range(num_steps):
        float(agent.apply(params, 0))  # clean
        for _ in range(num_updates):
            params, opt_state = update(params, opt_state)
