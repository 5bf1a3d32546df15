"""program.py - a program for tools/programs/compare on the stubs: products in FP32 by cublasSgemm_v2, which
it looks up by name as JAX does.  It prints milliseconds and a value."""

import ctypes
import json
import time

driver, blas = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcublas.so.13")
context, handle = ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxPushCurrent_v2(context) == 0 and blas.cublasCreate_v2(ctypes.byref(handle)) == 0
M, N, K = 64, 48, 32


def matrix(count):
    """Device memory is the program's own."""
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * count)) == 0
    cells = (ctypes.c_float * count).from_address(address.value)
    cells[:] = [i % 7 - 3 for i in range(count)]
    return cells


a, b, c = matrix(M * K), matrix(K * N), matrix(M * N)
one, zero = ctypes.c_float(1), ctypes.c_float(0)
begin = time.perf_counter()
for _ in range(5):
    assert blas.cublasSgemm_v2(handle, 0, 0, M, N, K, ctypes.byref(one), a, M, b, K, ctypes.byref(zero), c, M) == 0
print(json.dumps({"ms": (time.perf_counter() - begin) * 1e3, "values": [sum(c), c[0]]}))
