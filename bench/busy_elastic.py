"""An elastic training that leaves no core idle: ``busy_elastic.py STEPS PROGRESS_FILE``."""

import os
import sys
import time
from typing import Any

import horovod.tensorflow as hvd
import tensorflow as tf

SIDE = 700  # of the matrices of one step: some hundredths of a second of work

hvd.init()
steps, progress = int(sys.argv[1]), sys.argv[2]
state = hvd.elastic.ObjectState(hvd.broadcast_object, hvd.rank, step=0)


@hvd.elastic.run  # type: ignore[untyped-decorator]
def train(state: Any) -> None:
    left, right = tf.random.normal([SIDE, SIDE]), tf.random.normal([SIDE, SIDE])
    while state.step < steps:
        product = tf.linalg.matmul(left, right)
        hvd.allreduce(tf.reduce_mean(product), name="mean")
        state.step += 1
        if hvd.rank() == 0:
            with open(progress, "a") as out:
                out.write(f"{state.step} {hvd.size()} {os.getpid()} {time.time()}\n")
        state.commit()


train(state)
