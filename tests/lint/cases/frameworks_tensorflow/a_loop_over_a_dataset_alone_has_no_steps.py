import tensorflow as tf


def count(path, seen):
    dataset = tf.data.TFRecordDataset(path)
    for record in dataset:
        seen.add(record.numpy())  # clean
