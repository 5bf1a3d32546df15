# _arrays.py - arrays of other libraries: where they are, how they lie there, and new ones of their kind.
"""Arrays in device memory: PyTorch, ``__cuda_array_interface__`` and DLPack."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, ContextManager, Dict, NamedTuple, Optional, Tuple

from ._memory import Block, block

KDL_CUDA = 2
KDL_CUDA_MANAGED = 13

# By (kind, bits) of DLPack, by typestr of __cuda_array_interface__, by name of PyTorch's type.
_DLPACK = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 8): "s8", (0, 32): "s32", (2, 64): "f64"}
_TYPESTR = {"<f4": "f32", "<f2": "f16", "|i1": "s8", "<i4": "s32", "<f8": "f64"}
_TORCH = {
    "torch.float32": "f32",
    "torch.float64": "f64",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float8_e4m3fn": "e4m3",
    "torch.float8_e5m2": "e5m2",
    "torch.float64": "f64",
    "torch.int8": "s8",
    "torch.int32": "s32",
}
_torch_kinds: Dict[Any, str] = {}  # by PyTorch's type itself, which costs no text
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1, "s8": 1, "s32": 4, "f64": 8, "bytes": 1}


class View(NamedTuple):
    """An array as it lies in device memory."""

    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # elements
    type: str
    device: int  # -1: the array does not say
    owner: Any  # keeps the memory
    read_only: bool = False
    ready_on: Optional[int] = None  # the stream on which its values are ready; None: on the one it was asked for


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


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


def _contiguous(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _as_bytes(
    address: int, shape: Tuple[int, ...], strides: Tuple[int, ...], size: int, *more: Any
) -> View:
    """An array of elements of `size` bytes whose type does not matter."""
    return View(address, (*shape, size), (*(stride * size for stride in strides), 1), "bytes", *more)


def _from_torch(array: Any, any_type: bool) -> View:
    if not array.is_cuda:
        raise ValueError("the tensor is not in device memory")
    index, shape, strides = array.device.index or 0, tuple(array.shape), tuple(array.stride())
    kind = _torch_kinds.get(array.dtype)
    if kind is None:
        kind = _TORCH.get(str(array.dtype))
        if kind is None and any_type:
            return _as_bytes(array.data_ptr(), shape, strides, array.element_size(), index, array)
        if kind is None:
            raise TypeError(f"no type that gemmtune computes with: {array.dtype}")
        _torch_kinds[array.dtype] = kind
    return View(array.data_ptr(), shape, strides, kind, index, array)


def _ordinal(array: Any) -> int:
    """CUDA's number of the device; -1: the array does not say.  JAX's ids count the devices of all processes."""
    if _package(array) == "cupy":
        return int(array.device.id)
    if hasattr(array, "__dlpack_device__"):
        where, device = array.__dlpack_device__()
        return _on_device(where, device)
    return -1


def _on_device(where: int, device: int) -> int:
    if where not in (KDL_CUDA, KDL_CUDA_MANAGED):
        raise ValueError("the array is not in device memory")
    return int(device)


def _ready_on(interface: Dict[str, Any]) -> Optional[int]:
    """The stream that whoever reads or writes the array has to wait for."""
    stream = interface.get("stream")
    if stream is not None and not (isinstance(stream, int) and 0 <= stream < 2**64):
        raise ValueError(f"the array's stream is {stream!r}; it is None, 1, 2 or an address")
    return stream


def _from_interface(array: Any, interface: Dict[str, Any], any_type: bool) -> View:
    if interface.get("mask") is not None:
        raise ValueError("the array is masked: a product knows no masks; fill the array, or give its data alone")
    kind, size = _TYPESTR.get(interface["typestr"]), int(interface["typestr"][2:])
    if kind is None and not any_type:
        raise TypeError(f"no type that gemmtune computes with: {interface['typestr']}")
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = _contiguous(shape)
    else:
        if any(stride % size for stride in strides):
            raise ValueError("the strides are no whole numbers of elements")
        strides = tuple(stride // size for stride in strides)
    address, read_only = interface["data"]
    more = _ordinal(array), array, bool(read_only), _ready_on(interface)
    if kind is None:
        return _as_bytes(address, shape, strides, size, *more)
    return View(address, shape, strides, kind, *more)


def _capsule(array: Any, stream: int) -> Tuple[Any, _Tensor, bool]:
    """What the array hands over for the stream, and whether it may not be written, which DLPack says since 1.0."""
    get, named = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    get.restype, get.argtypes = c_void_p, (ctypes.py_object, c_char_p)
    named.restype, named.argtypes = ctypes.c_int, (ctypes.py_object, c_char_p)
    stream = stream or 1  # 1: the legacy default stream
    try:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # from before 1.0
        capsule = array.__dlpack__(stream=stream)
    if not named(capsule, b"dltensor_versioned"):
        return capsule, ctypes.cast(get(capsule, b"dltensor"), POINTER(_Tensor)).contents, False
    versioned = ctypes.cast(get(capsule, b"dltensor_versioned"), POINTER(_Versioned)).contents
    if versioned.major != 1:
        raise ValueError(f"the array hands over DLPack {versioned.major}; gemmtune reads version 1")
    return capsule, versioned.tensor, bool(versioned.flags & 1)


def _from_dlpack(array: Any, stream: int, any_type: bool) -> View:
    where, device = array.__dlpack_device__()
    device = _on_device(where, device)
    capsule, tensor, read_only = _capsule(array, stream)
    kind = _DLPACK.get((tensor.dtype.code, tensor.dtype.bits)) if tensor.dtype.lanes == 1 else None
    if kind is None and not any_type:
        raise TypeError(
            f"no type that gemmtune computes with: DLPack's {tensor.dtype.code}, {tensor.dtype.bits} bits"
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else _contiguous(shape)
    # The capsule is not renamed: it stays the owner, and its destructor gives the memory back.
    address, more = (tensor.data or 0) + tensor.byte_offset, (device, (array, capsule), read_only)
    if kind is None:
        size = -(-tensor.dtype.bits * tensor.dtype.lanes // 8)
        return _as_bytes(address, shape, strides, size, *more)
    return View(address, shape, strides, kind, *more)


_packages: Dict[type, str] = {}


def _package(array: Any) -> str:
    kind = type(array)
    package = _packages.get(kind)
    if package is None:
        package = _packages[kind] = kind.__module__.split(".")[0]
    return package


def _interface(array: Any) -> Optional[Dict[str, Any]]:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None and not (isinstance(interface, dict) and {"shape", "typestr", "data"} <= interface.keys()):
        raise TypeError(f"__cuda_array_interface__ of {type(array).__name__} is no dict with shape, typestr and data")
    return interface


def view(array: Any, stream: int, any_type: bool = False) -> View:
    """Where the array lies; TypeError and ValueError say what is wrong with it."""
    if _package(array) == "torch":
        return _from_torch(array, any_type)
    interface = _interface(array)
    if interface is not None:
        return _from_interface(array, interface, any_type)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(array, stream, any_type)
    raise TypeError(f"{type(array).__name__} has neither __cuda_array_interface__ nor __dlpack__")


def bytes_of(array: View) -> Block:
    return block(array.shape, array.strides, SIZES[array.type])


def writable(array: Any, name: str, stream: int, any_type: bool = False) -> View:
    """As view, of an array that is written."""
    found = view(array, stream, any_type)
    if found.read_only:
        raise ValueError(f"{name} is read-only, and a product writes it")
    return found


def current_stream(array: Any) -> int:
    """The stream that the array's library works on, as far as it says; 0: the default one."""
    package = _package(array)
    if package == "torch":
        import torch

        return torch.cuda.current_stream(array.device).cuda_stream
    if package == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return _ready_on(_interface(array) or {}) or 0


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
