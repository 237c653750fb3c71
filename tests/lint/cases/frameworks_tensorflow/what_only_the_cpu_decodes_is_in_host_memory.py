import tensorflow as tf


def evaluate(model, paths):
    for path in tf.data.Dataset.list_files(paths):
        image = tf.image.decode_jpeg(tf.io.read_file(path))
        keep(image.numpy())  # clean
        keep(model(image).numpy())  # ASG103
