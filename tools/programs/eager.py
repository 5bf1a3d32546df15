"""eager.py - a loop of small products, one by one: what a call of the preloaded library costs.
python3 eager.py [SIZE] [bf16|f32] [graph]: with the last word the loop is a CUDA graph."""

import sys
import time

import torch

from timing import as_graph, tell

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
dtype = torch.float32 if "f32" in sys.argv[2:] else torch.bfloat16
torch.manual_seed(1)
a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
out = torch.empty_like(a)


def loop():
    for _ in range(2000):
        torch.mm(a, b, out=out)


if "graph" in sys.argv:
    loop = as_graph(loop)
times = []
for _ in range(30):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    loop()
    torch.cuda.synchronize()
    times.append((time.perf_counter() - begin) * 1e3)
tell(sorted(times)[len(times) // 4], [out.float().sum()])
