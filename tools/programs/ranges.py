"""ranges.py - FP32 products of operands whose numbers differ in size, or are few: gemmtune's time and error with
accuracy f32 beside PyTorch's FP32.  python3 ranges.py [SIZE]

Kernels for this accuracy may take longer for numbers that their parts do not hold (templates/f32acc/pair.cu): this
shows by how much.  A line has microseconds of both, and the largest errors of 256 rows in u, 2^-24 of the sum of
|a||b|.  GEMMTUNE_DB may name a database that has the product, else it is looked up."""

import sys

import torch

import gemmtune.torch

size = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False


def normal():
    return torch.randn(size, size, device="cuda")


def few(share):
    """Normal numbers of which a share is not zero."""
    return normal() * (torch.rand(size, size, device="cuda") < share)


def milliseconds(call):
    """The median of 15 runs, after three more."""
    times = []
    for _ in range(18):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times[3:])[7]


def error(d, a, b):
    """The largest of 256 rows."""
    rows = a[:256].double()
    unit = rows.abs() @ b.double().abs() * 2**-24
    off = (d[:256].double() - rows @ b.double()).abs()
    return (off / unit.clamp(min=1e-300)).max().item()


cases = {
    "normal by normal": (normal(), normal()),
    "normal times exp(2 normal)": (normal() * normal().mul(2).exp(), normal()),
    "normal times exp(4 normal)": (normal() * normal().mul(4).exp(), normal()),
    "softmax of normal by normal": (normal().softmax(-1), normal()),
    "softmax of 8 normal by normal": (normal().mul(8).softmax(-1), normal()),
    "relu of normal by normal": (normal().relu(), normal()),
    "a tenth not zero by normal": (few(0.1), normal()),
    "identity by normal": (torch.eye(size, device="cuda"), normal()),
    "normal with one infinity by normal": (normal(), normal()),
}
cases["normal with one infinity by normal"][0][300, 5] = float("inf")
print("operands,size,us,torch_us,error_u,torch_error_u")
for name, (a, b) in cases.items():
    ours, theirs = (lambda: gemmtune.torch.matmul(a, b, accuracy="f32")), (lambda: torch.matmul(a, b))
    us, torch_us = milliseconds(ours) * 1000, milliseconds(theirs) * 1000
    print(f"{name},{size},{us:.1f},{torch_us:.1f},{error(ours(), a, b):.3g},{error(theirs(), a, b):.3g}", flush=True)
