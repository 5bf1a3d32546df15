"""products.py - random products through cuBLAS's interface, each compared with float64.

python3 products.py [--problems P] [--seconds S] [--count N] [--seed K]

P problems are drawn: sizes, operations, leading dimensions, batches, types, alignment, whether C
counts. Then they are asked for at random, with new operands and scalars each time.  What comes out is, for each type, how many there were and the largest error in units of its rounding, and a
digest of all results.  Needs torch."""

import argparse
import ctypes
import hashlib
import json
import random
import time

import torch

R32F, R16F, R16BF, R8I, R32I = 0, 2, 14, 3, 10
TYPES = {
    "f32": (R32F, R32F, 68, torch.float32, torch.float32),
    "tf32": (R32F, R32F, 77, torch.float32, torch.float32),
    "f16": (R16F, R16F, 68, torch.float16, torch.float16),
    "bf16": (R16BF, R16BF, 68, torch.bfloat16, torch.bfloat16),
    "f16>f32": (R16F, R32F, 68, torch.float16, torch.float32),
    "bf16>f32": (R16BF, R32F, 68, torch.bfloat16, torch.float32),
}

options = argparse.ArgumentParser()
options.add_argument("--seconds", type=float, default=40)
options.add_argument("--count", type=int, default=10**9)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--problems", type=int, default=20)
options = options.parse_args()

draw = random.Random(options.seed)
torch.manual_seed(options.seed)
pool = torch.randn(1 << 24, device="cuda")
pools = {d: pool.to(d) for d in (torch.float32, torch.float16, torch.bfloat16)}
library = ctypes.CDLL("libcublas.so.13")
gemm = library.cublasGemmStridedBatchedEx
handle = ctypes.c_void_p(torch.cuda.current_blas_handle())
i64, pointer = ctypes.c_longlong, ctypes.c_void_p


def size():
    return draw.choice([draw.randint(1, 64), draw.randint(1, 600), 8 * draw.randint(1, 128),
                        64 * draw.randint(1, 32)])


def take(dtype, elements, offset):
    """Elements of the pool from an aligned place on, moved by `offset`."""
    begin = 16 * draw.randint(0, 1000) + offset
    return pools[dtype][begin:begin + elements]


def view(flat, rows, cols, ld, stride, batch):
    """A column-major matrix as a tensor of batch x rows x cols."""
    return torch.as_strided(flat, (batch, rows, cols), (stride, 1, ld))


def problem():
    m, n, k, batch = size(), size(), size(), draw.choice([1, 1, 1, draw.randint(2, 5)])
    ta, tb = draw.randint(0, 1), draw.randint(0, 1)
    pad = lambda x: x + draw.choice([0, 0, 0, 8, draw.randint(1, 7)])
    return (draw.choice(list(TYPES)), m, n, k, batch, ta, tb, pad(k if ta else m), pad(n if tb else k),
            pad(m), draw.choice([0, 0, 0, 4, 2]), draw.randint(0, 1))


def one(name, m, n, k, batch, ta, tb, lda, ldb, ldc, offset, accumulates):
    at, ct, compute, in_type, out_type = TYPES[name]
    rows_a, cols_a = (k, m) if ta else (m, k)
    rows_b, cols_b = (n, k) if tb else (k, n)
    alpha, beta = draw.choice([1.0, -0.5]), draw.choice([1.0, 0.5]) if accumulates else 0.0
    sa, sb, sc = lda * cols_a, ldb * cols_b, ldc * n
    a, b = take(in_type, sa * batch, offset), take(in_type, sb * batch, offset)
    c = torch.full((sc * batch + 16,), float("nan"), device="cuda", dtype=out_type)
    if beta:
        c.normal_()
    c = c[offset:offset + sc * batch] if offset else c[:sc * batch]
    old = view(c.clone(), m, n, ldc, sc, batch).double()
    scalars = (ctypes.c_float * 2)(alpha, beta)
    status = gemm(handle, ta, tb, m, n, k, ctypes.byref(scalars, 0), pointer(a.data_ptr()), at, lda,
                  i64(sa), pointer(b.data_ptr()), at, ldb, i64(sb), ctypes.byref(scalars, 4),
                  pointer(c.data_ptr()), ct, ldc, i64(sc), batch, compute, -1)
    assert status == 0, f"cuBLAS answers {status}"
    x = view(a, rows_a, cols_a, lda, sa, batch).double()
    y = view(b, rows_b, cols_b, ldb, sb, batch).double()
    x, y = (x.transpose(1, 2) if ta else x), (y.transpose(1, 2) if tb else y)
    exact, scale = alpha * (x @ y), abs(alpha) * (x.abs() @ y.abs())
    if beta:
        exact, scale = exact + beta * old, scale + (beta * old).abs()
    got = view(c, m, n, ldc, sc, batch)
    out_unit = {torch.float32: 2**-24, torch.float16: 2**-11, torch.bfloat16: 2**-8}[out_type]
    if out_type == torch.float16:
        exact = exact.clamp(-65504, 65504)
    error = ((got.double() - exact).abs() - out_unit * exact.abs()).clamp(min=0) / (scale + 1e-30)
    return error.max().item() * 2**24, got.cpu().contiguous().view(torch.uint8).numpy().tobytes()


problems = [problem() for _ in range(options.problems)]
digest = hashlib.sha256()
count, worst = {}, {}
begin = time.time()
total = 0
while total < options.count and time.time() - begin < options.seconds:
    drawn = draw.choice(problems)
    name = drawn[0]
    error, data = one(*drawn)
    digest.update(data)
    count[name] = count.get(name, 0) + 1
    worst[name] = max(worst.get(name, 0), error) if error == error else float("nan")
    total += 1
print(json.dumps({"ms": 0, "values": [], "products": total, "count": count,
                  "worst_u": {k: round(v, 2) for k, v in worst.items()},
                  "digest": digest.hexdigest()[:32]}))
