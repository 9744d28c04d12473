"""The pipeline of crates/sim/examples/events.rs in SimPy: `simpy_pipeline.py SECONDS` prints JSON.

In the plainest form: two processes with a store of four frames between them; times are integers in ps.
"""

import json
import sys
import time

import simpy

COPY_PS, WIRE_PS, BUFFERS = 1_000_000, 1_200_000, 4
FRAMES = 50_000


def copy(env, buffers):
    for frame in range(FRAMES):
        yield env.timeout(COPY_PS)
        yield buffers.put(frame)


def wire(env, buffers):
    for _ in range(FRAMES):
        yield buffers.get()
        yield env.timeout(WIRE_PS)


def play():
    env = simpy.Environment()
    buffers = simpy.Store(env, capacity=BUFFERS)
    env.process(copy(env, buffers))
    env.process(wire(env, buffers))
    env.run()
    assert env.now == COPY_PS + FRAMES * WIRE_PS, env.now


def main():
    seconds, begun, frames = float(sys.argv[1]), time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        play()
        frames += FRAMES
    print(json.dumps({"frames_per_s": frames / (time.perf_counter() - begun)}))


if __name__ == "__main__":
    main()
