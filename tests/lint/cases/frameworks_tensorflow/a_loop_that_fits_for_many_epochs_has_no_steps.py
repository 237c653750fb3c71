from tensorflow import keras


def compare(sizes, minibatch, x, y):
    model = keras.Sequential([keras.layers.Dense(1)])
    for size in sizes:
        model.fit(x[:size], y[:size], epochs=100)
        scores.append(model.predict(x))  # clean
    for state, target in minibatch:
        model.fit(state, target, epochs=1)
        scores.append(model.predict(state))  # ASG103
