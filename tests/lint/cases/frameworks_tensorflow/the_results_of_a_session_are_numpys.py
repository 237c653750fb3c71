# clean

import tensorflow as tf


def train(sess, train_op, loss_op, data):
    for batch in data:
        _, loss = sess.run([train_op, loss_op], feed_dict=batch)
        print(float(loss))
