"""calls.py - host time of products that are called from Python: gemmtune's beside PyTorch's, without and with
gradients, and forward and backward together.  python3 calls.py [SIZE] [bf16|f32]

Each line is microseconds of a call, in the best of seven loops of 3000; the GPU is waited for after each loop, so
SIZE must be small.  `make wheel` and PYTHONPATH put gemmtune before it."""

import sys
import time

import torch
import torch.nn.functional

import gemmtune
import gemmtune.torch

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
dtype = torch.bfloat16 if "bf16" in sys.argv[2:] else torch.float32
torch.manual_seed(1)
a, b, grad = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(3))
bias = torch.randn(size, device="cuda", dtype=dtype, requires_grad=True)
x, w = (t.clone().requires_grad_() for t in (a, b))
out = torch.empty_like(a)


def us(call, count=3000):
    """The best of seven loops."""
    times = []
    for _ in range(8):  # the first warms up
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / count * 1e6)
    return min(times[1:])


def both(function, *operands):
    """Forward and backward."""
    return lambda: torch.autograd.grad(function(*operands), operands, grad)


problem = f"{size}x{size}x{size}:{'bf16' if dtype == torch.bfloat16 else 'f32'}:nn"
plan = gemmtune.Tables().plan(problem)
space = torch.empty(max(plan.answer.workspace_bytes, 1), dtype=torch.uint8, device="cuda")
at = [t.data_ptr() for t in (a, b, out)]
ours, theirs = gemmtune.torch, torch.nn.functional
for name, call in (
    ("Plan.run of Python", lambda: plan.run(*at, workspace=space.data_ptr())),
    ("gemmtune.matmul with out", lambda: gemmtune.matmul(a, b, out, workspace=space)),
    ("gemmtune.torch.matmul", lambda: ours.matmul(a, b)),
    ("gemmtune.torch.matmul with a gradient", lambda: ours.matmul(x, w)),
    ("gemmtune.torch.linear", lambda: ours.linear(a, b)),
    ("torch.matmul", lambda: torch.matmul(a, b)),
    ("torch.matmul with a gradient", lambda: torch.matmul(x, w)),
    ("torch.nn.functional.linear", lambda: theirs.linear(a, b)),
    ("gemmtune.torch.matmul and its backward", both(ours.matmul, x, w)),
    ("torch.matmul and its backward", both(torch.matmul, x, w)),
    ("gemmtune.torch.linear and its backward", both(ours.linear, x, w, bias)),
    ("torch.nn.functional.linear and its backward", both(theirs.linear, x, w, bias)),
):
    print(f"{torch.cuda.get_device_name()},{name},{problem},{us(call):.1f}")
