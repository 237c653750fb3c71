"""keras on TensorFlow: a recurrent network, fitted, evaluated and asked."""

import keras
import numpy as np
from digest import digest

keras.utils.set_random_seed(0)
model = keras.Sequential([
    keras.layers.Embedding(20, 8), keras.layers.GRU(8), keras.layers.Dense(2, activation="softmax"),
])  # fmt: skip
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = np.random.randint(0, 20, (32, 6)), np.random.randint(0, 2, 32)
history = model.fit(x, y, batch_size=8, epochs=2, verbose=0)
print(history.history, model.evaluate(x, y, verbose=0))
print(model.predict(x[:2], verbose=0).tolist(), digest(w.numpy() for w in model.weights))
