"""timing.py - what the programs of this folder share: timing on the GPU, CUDA graphs, and the one
line of JSON that `compare` reads."""

import json
import time

import torch


def median_ms(step, warm=5, repeat=20):
    """Median milliseconds of step() by events, each waited for."""
    for _ in range(warm):
        step()
    times = []
    for _ in range(repeat):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[len(times) // 2]


def as_graph(step):
    """step() captured once, to be replayed; what is to be served is decided before the capture."""
    for _ in range(3):
        step()
        torch.cuda.synchronize()
        time.sleep(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def tell(ms, values, **more):
    """values: numbers that must agree with and without serving."""
    print(json.dumps({"ms": ms, "values": [float(v) for v in values], **more}))
