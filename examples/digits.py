"""The data both examples train on: 10,000 pictures of handwritten digits, without a download.

Scikit-learn carries 1,797 real 8x8 digits. Each is moved by up to one pixel in every
direction, which gives nine times as many, and 10,000 of those are kept.
"""

import numpy as np
from sklearn.datasets import load_digits

SAMPLES = 10_000
TEST_SAMPLES = 360  # one digit in five of the originals, never shifted into the training set
SEED = 7


def _shifted(pictures, down, right):
    """Move every picture by at most one pixel; what leaves the frame is lost."""
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 1 - down : 9 - down, 1 - right : 9 - right]


def load():
    """Return training pictures and labels, then test pictures and labels.

    Pictures are float32 arrays of shape (n, 8, 8, 1) between 0 and 1. Every rank gets the
    same order, because the order is drawn from a fixed seed.
    """
    digits = load_digits()
    pictures = (digits.images / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int64)
    draw = np.random.default_rng(SEED)
    order = draw.permutation(len(labels))
    test, train = order[:TEST_SAMPLES], order[TEST_SAMPLES:]

    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    many = np.concatenate([_shifted(pictures[train], *move) for move in moves])
    many_labels = np.tile(labels[train], len(moves))
    keep = draw.permutation(len(many))[:SAMPLES]
    return (
        many[keep][..., np.newaxis],
        many_labels[keep],
        pictures[test][..., np.newaxis],
        labels[test],
    )


def share(count, rank, size):
    """Return which of ``count`` samples belong to one rank: every sample to exactly one."""
    return np.arange(rank, count, size)
