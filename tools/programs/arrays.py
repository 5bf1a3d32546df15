"""arrays.py - products of ragged sizes in JAX (under jit) or CuPy: python3 arrays.py jax|cupy.
Its time is that of 200 products of the first size in each type, on the host's clock."""

import json
import sys
import time

import numpy

SIZES = [(1000, 777, 513), (512, 512, 512), (333, 1025, 640)]
rng = numpy.random.default_rng(1)
pairs = [(rng.standard_normal((m, k), numpy.float32), rng.standard_normal((k, n), numpy.float32))
         for m, n, k in SIZES]
values = []
ms = 0


def timed_ms(multiply, wait):
    """Milliseconds of 200 products, the best of five times."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(200):
            out = multiply()
        wait(out)
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times)


if sys.argv[1] == "jax":
    import jax
    import jax.numpy as jnp

    multiply = jax.jit(jnp.matmul)
    for dtype in (jnp.float32, jnp.bfloat16):
        for a, b in pairs:
            x, y = jnp.asarray(a, dtype), jnp.asarray(b, dtype)
            for _ in range(30):
                out = multiply(x, y)
                time.sleep(0.01)
            values.append(out.astype(jnp.float32).sum())
        x, y = (jnp.asarray(a, dtype) for a in pairs[0])
        ms += timed_ms(lambda: multiply(x, y), lambda out: out.block_until_ready())
else:
    import cupy

    for dtype in (cupy.float32, cupy.float16):
        for a, b in pairs:
            x, y = cupy.asarray(a, dtype), cupy.asarray(b, dtype)
            for _ in range(30):
                out = x @ y
                time.sleep(0.01)
            values.append(out.astype(cupy.float32).sum())
        x, y = (cupy.asarray(a, dtype) for a in pairs[0])
        ms += timed_ms(lambda: x @ y, lambda out: cupy.cuda.Device().synchronize())

print(json.dumps({"ms": ms, "values": [float(v) for v in values]}))
