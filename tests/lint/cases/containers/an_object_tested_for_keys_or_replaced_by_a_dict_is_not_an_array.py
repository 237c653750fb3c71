# settings: min_probability=0.4
import jax


def update(info, extra=None, **more):
    extra = extra or dict(more)
    known = info or {}
    known.update(extra)
    return known


def run(env, state, agent, steps, names):
    for _ in range(steps):
        state, out = train_step(state, agent)
        info = out.info
        kept = {name: info[name] for name in names if name in info}  # clean
        update(out.extras, out.logs)
        print(out.loss)  # ASG101
