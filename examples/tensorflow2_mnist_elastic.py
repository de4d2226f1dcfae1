r"""Train a digit reader on a number of ranks that may change while it runs, with Horovod.

    horovodrun -np 2 --min-np 1 --max-np 8 \
        --host-discovery-script /etc/mpi/discover_hosts.sh python tensorflow2_mnist_elastic.py

Scale the cluster up or down meanwhile: the training goes on with its step counter and its
weights, and prints the new size.
"""

import argparse
import time

import digits
import network  # sets how loud TensorFlow is, so it comes before Horovod, which imports it
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def options():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40, help="passes over the data")
    parser.add_argument("--steps", type=int, default=0, help="end after so many steps instead")
    parser.add_argument("--batch-size", type=int, default=50, help="samples per rank and step")
    parser.add_argument("--learning-rate", type=float, default=0.001)
    parser.add_argument(
        "--pace",
        type=float,
        default=0.05,
        help="seconds that a step takes at least, so that there is time to scale; 0 for full speed",
    )
    parser.add_argument("--commit-every", type=int, default=5, help="steps between two commits")
    parser.add_argument("--report-every", type=int, default=20, help="steps between two lines")
    return parser.parse_args()


class Trainer:
    """What a rank needs for one size of the job; made again whenever the size changes.

    ``train`` is traced again each time, because a traced step remembers the old ring of ranks.
    """

    def __init__(self, state, pictures, labels, given):
        self.state, self.given = state, given
        self.rank, self.size = hvd.rank(), hvd.size()
        mine = digits.share(len(labels), self.rank, self.size)
        self.pictures, self.labels = pictures[mine], labels[mine]
        # Drawn from step and rank, so that a restart does not repeat the same batches.
        self.draw = np.random.default_rng((state.step, self.rank))
        # Nothing in it depends on a value of the graph; without autograph a rank that is ended
        # leaves no file in /tmp.
        self.train = tf.function(self._train, autograph=False)
        print(f"{len(mine)} samples on rank {self.rank} of {self.size}", flush=True)

    def _train(self, batch, answers):
        model = self.state.model
        with tf.GradientTape() as tape:
            loss = network.loss_of(model(batch, training=True), answers)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, model.trainable_variables)
        self.state.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def step(self):
        """Train on one batch, no faster than the pace, and return its loss."""
        started = time.monotonic()
        chosen = self.draw.integers(len(self.labels), size=self.given.batch_size)
        loss = float(self.train(self.pictures[chosen], self.labels[chosen]))
        time.sleep(max(0.0, self.given.pace - (time.monotonic() - started)))
        return loss


@hvd.elastic.run
def train(state, pictures, labels, given):
    """Train to the end; Horovod calls this again, from the last commit, when the size changes."""
    trainer = Trainer(state, pictures, labels, given)
    if trainer.rank == 0:
        print(f"size {trainer.size} at step {state.step}", flush=True)
    total = given.epochs * len(labels)
    losses, since = [], time.monotonic()
    while (state.step < given.steps) if given.steps else (state.seen < total):
        losses.append(trainer.step())
        state.step += 1
        state.seen += given.batch_size * trainer.size
        if state.step % given.report_every == 0:
            if trainer.rank == 0:
                speed = len(losses) * given.batch_size * trainer.size / (time.monotonic() - since)
                print(
                    f"step {state.step} (size {trainer.size}): "
                    f"loss {np.mean(losses):.4f}, {speed:.0f} samples/s",
                    flush=True,
                )
            losses, since = [], time.monotonic()
        if state.step % given.commit_every == 0:
            # Only here does a rank notice that the hosts have changed: a rare commit is a
            # slow slider.
            state.commit()


def main():
    """Train, and print the final accuracy.

    Nothing before ``train`` may talk to other ranks: one that joins later would wait for ever.
    """
    given = options()
    hvd.init()
    pictures, labels, test_pictures, test_labels = digits.load()
    model = network.build()
    optimizer = tf.keras.optimizers.Adam(given.learning_rate)
    # The optimizer's own variables have to exist before they can be handed to a newcomer.
    optimizer.build(model.trainable_variables)
    state = hvd.elastic.TensorFlowKerasState(model, optimizer, step=0, seen=0)
    train(state, pictures, labels, given)
    if hvd.rank() == 0:
        print(f"accuracy {network.accuracy(model, test_pictures, test_labels):.3f}", flush=True)


if __name__ == "__main__":
    main()
