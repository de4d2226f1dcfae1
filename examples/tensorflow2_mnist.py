"""Train a digit reader on a fixed number of ranks with Horovod.

    horovodrun -np 2 --hostfile /etc/mpi/hostfile python tensorflow2_mnist.py

Every rank trains on its own share of 10,000 samples; the gradients are averaged.
"""

import argparse
import time

import digits
import network  # sets how loud TensorFlow is, so it comes before Horovod, which imports it
import horovod.tensorflow as hvd
import tensorflow as tf


def options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3, help="passes over the data")
    parser.add_argument("--batch-size", type=int, default=50, help="samples per rank and step")
    parser.add_argument("--learning-rate", type=float, default=0.001)
    return parser.parse_args()


def main():
    """Train, and print loss, speed and the final accuracy."""
    given = options()
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    pictures, labels, test_pictures, test_labels = digits.load()
    mine = digits.share(len(labels), rank, size)
    print(f"{len(mine)} samples on rank {rank} of {size}", flush=True)

    data = tf.data.Dataset.from_tensor_slices((pictures[mine], labels[mine]))
    # The smallest share decides: ranks that take unequal numbers of steps wait for ever.
    steps = max(1, len(labels) // size // given.batch_size)
    data = data.shuffle(len(mine), seed=rank).repeat().batch(given.batch_size)
    model = network.build()
    # More ranks mean a larger batch in all, which allows a larger step.
    optimizer = tf.keras.optimizers.Adam(given.learning_rate * size)

    # Nothing here depends on a value of the graph; without autograph no file is left in /tmp.
    @tf.function(autograph=False)
    def train(batch, answers):
        with tf.GradientTape() as tape:
            loss = network.loss_of(model(batch, training=True), answers)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    batches = iter(data)
    first = True
    for epoch in range(1, given.epochs + 1):
        started, total = time.monotonic(), 0.0
        for _ in range(steps):
            total += float(train(*next(batches)))
            if first:
                # After the first step all variables exist; then every rank starts from rank 0's.
                hvd.broadcast_variables(model.variables, root_rank=0)
                hvd.broadcast_variables(optimizer.variables, root_rank=0)
                first = False
        if rank == 0:
            speed = steps * given.batch_size * size / (time.monotonic() - started)
            print(
                f"epoch {epoch}/{given.epochs}: loss {total / steps:.4f}, {speed:.0f} samples/s",
                flush=True,
            )
    if rank == 0:
        print(f"accuracy {network.accuracy(model, test_pictures, test_labels):.3f}", flush=True)


if __name__ == "__main__":
    main()
