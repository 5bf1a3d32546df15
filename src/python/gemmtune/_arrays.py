# _arrays.py - arrays of other libraries: where they are, how they lie there, and new ones of their kind.
"""Arrays in device memory: PyTorch, ``__cuda_array_interface__`` and DLPack."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, ContextManager, Dict, NamedTuple, Optional, Tuple

KDL_CUDA = 2
KDL_CUDA_MANAGED = 13

# By (kind, bits) of DLPack, by typestr of __cuda_array_interface__, by name of PyTorch's type.
_DLPACK = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 8): "s8", (0, 32): "s32"}
_TYPESTR = {"<f4": "f32", "<f2": "f16", "|i1": "s8", "<i4": "s32"}
_TORCH = {
    "torch.float32": "f32",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float8_e4m3fn": "e4m3",
    "torch.float8_e5m2": "e5m2",
    "torch.int8": "s8",
    "torch.int32": "s32",
}
_torch_kinds: Dict[Any, str] = {}  # by PyTorch's type itself, which costs no text
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "s8": 1, "s32": 4}


class View(NamedTuple):
    """An array as it lies in device memory."""

    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # elements
    type: str
    device: int  # -1: the array does not say
    owner: Any  # keeps the memory


class _Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


def _contiguous(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _from_torch(array: Any) -> View:
    if not array.is_cuda:
        raise ValueError("the tensor is not in device memory")
    kind = _torch_kinds.get(array.dtype)
    if kind is None:
        kind = _TORCH.get(str(array.dtype))
        if kind is None:
            raise TypeError(f"no type that gemmtune computes with: {array.dtype}")
        _torch_kinds[array.dtype] = kind
    index = array.device.index
    return View(array.data_ptr(), tuple(array.shape), tuple(array.stride()), kind, index or 0, array)


def _ordinal(array: Any) -> int:
    """CUDA's number of the device; -1: the array does not say.  JAX's ids count the devices of all processes."""
    if _package(array) == "cupy":
        return int(array.device.id)
    if hasattr(array, "__dlpack_device__"):
        where, device = array.__dlpack_device__()
        return int(device) if where in (KDL_CUDA, KDL_CUDA_MANAGED) else -1
    return -1


def _from_interface(array: Any) -> View:
    interface = array.__cuda_array_interface__
    kind = _TYPESTR.get(interface["typestr"])
    if kind is None:
        raise TypeError(f"no type that gemmtune computes with: {interface['typestr']}")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = _contiguous(shape)
    else:
        if any(stride % SIZES[kind] for stride in strides):
            raise ValueError("the strides are no whole numbers of elements")
        strides = tuple(stride // SIZES[kind] for stride in strides)
    return View(interface["data"][0], shape, strides, kind, _ordinal(array), array)


def _from_dlpack(array: Any, stream: int) -> View:
    where, device = array.__dlpack_device__()
    if where not in (KDL_CUDA, KDL_CUDA_MANAGED):
        raise ValueError("the array is not in device memory")
    capsule = array.__dlpack__(stream=stream or 1)  # 1: the legacy default stream
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, (ctypes.py_object, c_char_p)
    tensor = ctypes.cast(get(capsule, b"dltensor"), POINTER(_Tensor)).contents
    kind = _DLPACK.get((tensor.dtype.code, tensor.dtype.bits))
    if kind is None or tensor.dtype.lanes != 1:
        raise TypeError(
            f"no type that gemmtune computes with: DLPack's {tensor.dtype.code}, {tensor.dtype.bits} bits"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else _contiguous(shape)
    # The capsule is not renamed: it stays the owner, and its destructor gives the memory back.
    return View((tensor.data or 0) + tensor.byte_offset, shape, strides, kind, int(device), (array, capsule))


_packages: Dict[type, str] = {}


def _package(array: Any) -> str:
    kind = type(array)
    package = _packages.get(kind)
    if package is None:
        package = _packages[kind] = kind.__module__.split(".")[0]
    return package


def view(array: Any, stream: int) -> View:
    """Where the array lies; TypeError and ValueError say what is wrong with it."""
    if _package(array) == "torch":
        return _from_torch(array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_interface(array)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array, stream)
    raise TypeError(f"{type(array).__name__} has neither __cuda_array_interface__ nor __dlpack__")


def current_stream(array: Any) -> int:
    """The stream that the array's library works on; 0: the default one."""
    package = _package(array)
    if package == "torch":
        import torch

        return torch.cuda.current_stream(array.device).cuda_stream
    if package == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return 0


def can_make(array: Any) -> bool:
    """Whether `make` can make arrays of this library."""
    return _package(array) in ("torch", "cupy")


def working_on(array: Any, stream: int) -> ContextManager[Any]:
    """Lets the array's library work on the stream: memory that it hands out meanwhile is free there, and
    what is given back is handed out again only behind what the stream still has to do."""
    if not can_make(array) or current_stream(array) == stream:
        return contextlib.nullcontext()
    default = stream in (0, 1)  # 1: CUDA's other name for it
    if _package(array) == "torch":
        import torch

        at = array.device
        return torch.cuda.stream(
            torch.cuda.default_stream(at) if default else torch.cuda.ExternalStream(stream, device=at)
        )
    import cupy

    return cupy.cuda.Stream.null if default else cupy.cuda.ExternalStream(stream)


def make(array: Any, shape: Tuple[int, ...], kind: Optional[str]) -> Any:
    """A new array of the same library and device; kind None: of the array's type; "bytes"."""
    if _package(array) == "torch":
        import torch

        types = {None: array.dtype, "s32": torch.int32, "bytes": torch.uint8}
        return torch.empty(shape, dtype=types[kind], device=array.device)
    import cupy

    return cupy.empty(shape, dtype={None: array.dtype, "s32": "int32", "bytes": "uint8"}[kind])
