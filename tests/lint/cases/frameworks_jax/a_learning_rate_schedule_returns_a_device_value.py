import jax


def main(update, params, opt_state, loader, lr_schedule):
    for step, batch in enumerate(loader):
        params, opt_state, loss = update(params, opt_state, batch)
        keep(float(lr_schedule(step)))  # ASG102
