import tensorflow as tf


def explore(env, model, optimizer, gradients, state):
    done = False
    while not done:
        probs = model.predict(state)  # ASG103
        state, done = env.step(probs)
        for each in gradients:
            optimizer.apply_gradients(each)
