"""Plays trials of a plan with SimPy, by the same rule as Ebbtide's forecast: whenever a step has ended, of those that
are ready the most urgent start that the limits allow. Reads the plan as JSON from stdin, writes what it took as JSON.

Each step is one timeout with a callback, which is what costs SimPy least; the dispatcher is written by hand."""

import heapq
import json
import math
import random
import sys
import time
from statistics import NormalDist

import simpy

plan = json.load(sys.stdin)
steps = plan["steps"]  # by urgency
lanes_most, lane_class = plan["lanes"], plan["lane_class"]
classes_most = plan["classes"]
lane_of = [s["lane"] for s in steps]  # -1: no limit; -2: takes no time and no place
after = [s["next"] for s in steps]
waits = [s["waits"] for s in steps]
first = [i for i, w in enumerate(waits) if w == 0]

CELLS = 1024
normal = NormalDist()
table = [normal.inv_cdf(max(0.25, min(i, CELLS - 0.25)) / CELLS) for i in range(CELLS + 1)]


def draw(rng):
    """How long each step takes: log-normal, from a table; a run that is not over in time is forced."""
    took = []
    for s in steps:
        if s["lane"] == -2:
            took.append(0.0)
            continue
        x = rng.random() * CELLS
        i = int(x)
        z = table[i] + (x - i) * (table[i + 1] - table[i])
        t = s["median"] * math.exp(0.5 * z)
        if rng.random() < s["hang"] or t >= s["within"]:
            t = s["within"] + 5.0
        took.append(t)
    return took


def play(took):
    env = simpy.Environment()
    left = list(waits)
    ready = [[] for _ in lanes_most]
    lane_running = [0] * len(lanes_most)
    class_running = [0] * len(classes_most)
    heads = [[] for _ in classes_most]  # (rank, lane); stale ones are passed over

    def start(step):
        timeout = env.timeout(took[step])
        timeout.callbacks.append(lambda _, s=step: ended(s))

    def offer(step):
        lane = lane_of[step]
        if lane == -2:
            settle(step)
        elif lane == -1:
            start(step)
        else:
            queue = ready[lane]
            heapq.heappush(queue, step)
            if queue[0] == step and lane_running[lane] < lanes_most[lane]:
                heapq.heappush(heads[lane_class[lane]], (step, lane))

    def settle(step):
        for n in after[step]:
            left[n] -= 1
            if left[n] == 0:
                offer(n)

    def dispatch():
        for c, most in enumerate(classes_most):
            queue = heads[c]
            while queue and class_running[c] < most:
                step, lane = queue[0]
                if not ready[lane] or ready[lane][0] != step or lane_running[lane] >= lanes_most[lane]:
                    heapq.heappop(queue)
                    continue
                heapq.heappop(queue)
                heapq.heappop(ready[lane])
                lane_running[lane] += 1
                class_running[c] += 1
                if ready[lane] and lane_running[lane] < lanes_most[lane]:
                    heapq.heappush(queue, (ready[lane][0], lane))
                start(step)

    def ended(step):
        lane = lane_of[step]
        if lane >= 0:
            if lane_running[lane] == lanes_most[lane] and ready[lane]:
                heapq.heappush(heads[lane_class[lane]], (ready[lane][0], lane))
            lane_running[lane] -= 1
            class_running[lane_class[lane]] -= 1
        settle(step)
        dispatch()

    for s in first:
        offer(s)
    dispatch()
    env.run()
    return env.now


nominal = play([0.0 if s["lane"] == -2 else s["median"] for s in steps])
rng = random.Random(1)
begun = time.process_time()
spans = sorted(play(draw(rng)) for _ in range(plan["trials"]))
cpu = time.process_time() - begun
json.dump({"simpy": simpy.__version__, "nominal": nominal, "cpu": cpu, "p50": spans[len(spans) // 2]}, sys.stdout)
