import tensorflow as tf


def score(encoder, data, save):
    for item in data:
        vectors = encoder.predict_on_batch(item)  # ASG103
        save(vectors)
