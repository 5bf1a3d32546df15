# _streams.py - the one thing that this package asks of CUDA itself: that a stream waits for another one.
"""Waiting for the stream on which an array of another library is ready."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int, c_uint, c_void_p
from typing import Any, Dict

from ._library import Error

_CUDA = -8  # GT_ECUDA
_contexts: Dict[int, c_void_p] = {}  # by device: its primary context, which the plans hold, too
_driver: Any = None


def same(stream: int, other: int) -> bool:
    """0 and 1 are CUDA's two names of the legacy default stream."""
    return (stream or 1) == (other or 1)


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_driver, name)(*arguments)
    if result:
        raise Error(_CUDA, f"waiting for the stream of an array: {name} failed with CUDA's error {result}")


def _context(device: int) -> c_void_p:
    global _driver
    if _driver is None:
        told = os.environ.get("GEMMTUNE_LIBCUDA", "")
        _driver = ctypes.CDLL(os.path.join(told, "libcuda.so.1") if not told or os.path.isdir(told) else told)
        _call("cuInit", 0)
    if device not in _contexts:
        number, context = c_int(), c_void_p()
        _call("cuDeviceGet", byref(number), device)
        _call("cuDevicePrimaryCtxRetain", byref(context), number)
        _contexts[device] = context
    return _contexts[device]


def wait(stream: int, other: int, device: int) -> None:
    """What the stream is given from now on begins when the other one has ended what it has now."""
    event, popped, no_timing = c_void_p(), c_void_p(), c_uint(2)
    _call("cuCtxPushCurrent_v2", _context(device))
    try:
        _call("cuEventCreate", byref(event), no_timing)
        try:
            _call("cuEventRecord", event, c_void_p(other or 1))
            _call("cuStreamWaitEvent", c_void_p(stream or 1), event, c_uint(0))
        finally:
            _call("cuEventDestroy_v2", event)  # CUDA keeps it until the wait is over
    finally:
        _call("cuCtxPopCurrent_v2", byref(popped))
