"""The small convolutional network of both examples, and how quiet TensorFlow has to be.

Import this before TensorFlow is imported anywhere else: it sets what TensorFlow reads once.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Several ranks share this machine's cores: a pool of threads each would only get in the way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def build():
    """Return the untrained network: 8x8 pictures in, ten scores out."""
    return tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(16, 3, activation="relu", input_shape=(8, 8, 1)),
            tf.keras.layers.Conv2D(32, 3, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10),
        ]
    )


def loss_of(scores, labels):
    """Return the mean cross entropy of a batch."""
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    )


def accuracy(model, pictures, labels):
    """Return the part of the pictures that the network reads correctly, from 0 to 1."""
    scores = model(pictures, training=False)
    right = tf.equal(tf.argmax(scores, axis=1), labels)
    return float(tf.reduce_mean(tf.cast(right, tf.float32)))
