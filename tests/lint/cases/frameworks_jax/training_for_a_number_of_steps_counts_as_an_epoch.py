import jax
import lib


def main(state, stages, data):
    for stage in stages:
        state = lib.train(state, n_steps=100)
        keep(jax.device_get(state))  # clean


def main_2(state, stages, data):
    for stage in stages:
        state = lib.train(state, steps=1)
        keep(jax.device_get(state))  # ASG103


def main_3(state, stages, data):
    for stage in stages:
        state = lib.train(state, batch=data)
        keep(jax.device_get(state))  # ASG103
