import tensorflow as tf


def evaluate(model, files):
    for name, example in tf.data.TFRecordDataset(files).map(tf.io.parse_example).batch(8):
        scores = model(example["pixels"])
        print(name.numpy())  # clean
        print(example["name"].numpy())  # clean
        print(scores.numpy())  # ASG103
        print(tf.cast(example["pixels"], tf.float32).numpy())  # ASG103
