"""A small training loop on the reference engine that reads its loss once an epoch."""

import asyncguard
from asyncguard.engine import np

features = np.random.normal(size=(1024, 32))
labels = np.dot(features, np.random.normal(size=(32, 1)))
weights = np.zeros((32, 1))

for epoch in range(5):
    total = np.zeros(())
    for i in range(0, 1024, 64):
        X, y = features[i : i + 64], labels[i : i + 64]
        error = np.dot(X, weights) - y
        loss = (error * error).mean()
        weights -= 0.01 * np.dot(X.T, error) / 64
        asyncguard.step()
        total += loss
    print(f"epoch {epoch + 1}: loss {total.item() / 16:.4f}")
