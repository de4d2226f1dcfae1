"""A training script of a user's own: it knows nothing of us and writes every step of rank 0 to a file."""

import os
import sys
import time

import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
steps, progress = int(sys.argv[1]), sys.argv[2]
# Not TensorFlowState: making one broadcasts already (Horovod 0.28.1), and a rank that joins later would wait for ever.
state = hvd.elastic.ObjectState(hvd.broadcast_object, hvd.rank, step=0, weight=5.0)


@hvd.elastic.run
def train(state):
    while state.step < steps:
        gradient = hvd.allreduce(tf.constant([2 * state.weight]), name="gradient")
        state.weight -= 0.01 * float(gradient[0])
        state.step += 1
        if hvd.rank() == 0:
            with open(progress, "a") as out:
                out.write(f"{state.step} {hvd.size()} {os.getpid()} {time.time()}\n")
        time.sleep(0.05)
        state.commit()


train(state)
if hvd.rank() == 0:
    print(f"own script finished at step {state.step} of size {hvd.size()}", flush=True)
