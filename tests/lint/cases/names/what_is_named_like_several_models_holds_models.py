import chainer.functions as F
from chainer import cuda


def advance(models, state):
    outs = [m(state) for m in models]
    return outs[0], cuda.to_cpu(F.softmax(outs[0]).data)  # ASG103


def advance_all(model_ensemble, states):
    outs = [cell(state) for cell, state in zip(model_ensemble, states)]
    return outs, cuda.to_cpu(F.softmax(outs[0]).data)  # ASG103


def called(functions, state):
    outs = [f(state) for f in functions]
    return outs[0], cuda.to_cpu(F.softmax(outs[0]).data)  # clean


def search(model_ensemble, functions, state, nb_steps):
    states = [state]
    for _ in range(nb_steps):
        state, words = advance(model_ensemble, state)
        states, words = advance_all(model_ensemble, states)
    return words


def other(functions, state, count):
    for _ in range(count):
        state, words = called(functions, state)
    return words
