# _library.py - the shared library through ctypes: its structures as src/gemmtune.h has them, and the
# sentence of a failed call as an exception.
"""The C interface of libgemmtune (``gemmtune.h``), for the other modules of this package."""

from __future__ import annotations

import ctypes
import os
import struct
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64
from ctypes import c_size_t, c_ubyte, c_uint, c_void_p
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Optional

PACKAGE = Path(__file__).resolve().parent
DTYPES = (
    "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "s8", "s32", "f64", "c64", "c128", "s4", "u4", "e2m1",
)
SIZES = (4, 4, 2, 2, 1, 1, 1, 4, 8, 8, 16, 1, 1, 1)  # bytes of an element of each
PROBLEM_TEXT_MAX = 640


class Error(RuntimeError):
    """A call of the library failed; the text is its sentence, ``code`` one of ``gt_error``."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Unfit(ValueError):
    """Arrays of which gemmtune makes no product."""


NOT_FOUND = -12  # GT_ENOTFOUND: no kernel serves the problem, or its code is not stored


class CErr(ctypes.Structure):
    _fields_ = [("code", c_int), ("msg", c_char * 1020)]


class CScale(ctypes.Structure):
    _fields_ = [(name, c_ubyte) for name in ("kind", "rows", "depth", "type", "order", "tensor")]


class CProblem(ctypes.Structure):
    _fields_: ClassVar[Any] = (
        [("version", c_uint)]
        + [(name, c_int64) for name in ("m", "n", "k", "lda", "ldb", "ldc", "batch")]
        + [(name, c_int64) for name in ("stride_a", "stride_b", "stride_c")]
        + [(name, c_int) for name in ("type", "out", "acc")]
        + [(name, c_ubyte) for name in ("trans_a", "trans_b", "epilogue", "align")]
        + [("accuracy", c_int)]
        + [(name, c_double) for name in ("alpha", "beta", "alpha_im", "beta_im")]
        + [("scale_a", CScale), ("scale_b", CScale)]
        + [(name, c_int64) for name in ("lsa", "lsb", "groups")]
        + [("type_b", c_int), ("bias", c_int)]
        + [(name, c_ubyte) for name in ("by", "sizes", "sums", "gate", "conj_a", "conj_b", "zero_a", "zero_b")]
        + [("scale_d", CScale), ("symmetric", c_ubyte), ("same_bits", c_ubyte), ("reserved", c_int64 * 4)]
    )


class COptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("user_db", c_char_p),
        ("system_db", c_char_p),
        ("data_dir", c_char_p),
        ("cubin_dir", c_char_p),
        ("log_path", c_char_p),
        ("allow_nvrtc", c_int),
        ("kernels_dirs", POINTER(c_char_p)),
        ("include_dirs", c_char_p),
        ("allow_cublaslt", c_int),
        ("plan_mode", c_int),
    ]


class CAnswer(ctypes.Structure):
    _fields_ = [
        ("tier", c_int),
        ("kernel", c_char_p),
        ("point", c_char_p),
        ("device", c_char_p),
        ("tuned_for", c_char_p),
        ("predicted", c_int),
        ("us", c_double),
        ("expected_loss", c_double),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared_bytes", c_uint),
        ("workspace_bytes", c_size_t),
        ("tuned_us", c_double),
        ("expected_us", c_double),
        ("passed_over", c_char_p),
        ("baseline_us", c_double),
        ("varies", c_int),
        ("contested", c_int),
        ("trials", c_int64),
        ("cublaslt", c_char_p),
        ("measured", c_int),
        ("ranking", c_char_p),
        ("in_f32", c_int),
    ]


class COperands(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, c_void_p) for name in ("a", "b", "c", "d", "bias", "workspace")
    ] + [
        (name, c_double) for name in ("alpha", "beta", "alpha_im", "beta_im")
    ] + [
        (name, c_void_p)
        for name in ("scale_a", "scale_b", "scale_a_tensor", "scale_b_tensor", "zero_a", "zero_b", "scale_d", "sizes")
    ]


# The same as bytes, which takes a fifth of the time: pack(SIZE, a, b, c, d, bias, workspace, alpha, beta).
OPERANDS_SIZE = ctypes.sizeof(COperands)
pack_operands = struct.Struct(f"@N6Pdd{OPERANDS_SIZE - COperands.alpha_im.offset}x").pack
pack_scaled = struct.Struct("@N6P2d16x2P48x").pack  # with scale_a and scale_b behind them
FLOAT_MAX = 3.4028234663852886e38  # float32's largest number


def _load() -> ctypes.CDLL:
    """$GEMMTUNE_LIBRARY, else the one of this package, else the loader's."""
    named = os.environ.get("GEMMTUNE_LIBRARY")
    inside = PACKAGE / "lib" / "libgemmtune.so.1"
    path = named or (str(inside) if inside.exists() else "libgemmtune.so.1")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the library of gemmtune cannot be loaded: {error}") from None
    handle, err, problem = c_void_p, POINTER(CErr), POINTER(CProblem)
    for name, result, arguments in (
        ("gt_version", c_uint, ()),
        ("gt_problem_parse", c_int, (problem, c_char_p, err)),
        ("gt_problem_format", None, (problem, c_char_p)),
        ("gt_open", c_int, (POINTER(handle), POINTER(COptions), err)),
        ("gt_close", None, (handle,)),
        ("gt_lookup", c_int, (handle, c_int, c_char_p, problem, POINTER(POINTER(CAnswer)), err)),
        ("gt_plan", c_int, (POINTER(handle), handle, c_int, problem, err)),
        ("gt_plan_free", None, (handle,)),
        ("gt_plan_answer", POINTER(CAnswer), (handle,)),
        ("gt_run", c_int, (handle, c_void_p, POINTER(COperands), err)),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


library = _load()

# gt_run with operands as bytes; NULL for gt_err: whoever wants the sentence calls it again.
launch = library["gt_run"]
launch.restype, launch.argtypes = c_int, (c_void_p, c_void_p, c_char_p, c_void_p)


def check(code: int, err: CErr) -> None:
    """Raises the library's sentence."""
    if code:
        raise Error(code, err.msg.decode(errors="replace"))


def text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode(errors="replace")


def chars(words: bytes) -> bytes:
    """What C reads whole: it would end at a null character."""
    if b"\0" in words:
        raise ValueError(f"{words!r} has a null character")
    return words


def number(value: int, name: str) -> int:
    """An int of C, of which ctypes would keep the lower 32 bits."""
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} {value} is outside the allowed numbers")
    return value


def operands(
    a: int, b: int, c: int, d: int, bias: int, workspace: int, alpha: float, beta: float, stream: int,
    scale_a: int = 0, scale_b: int = 0, doubles: bool = False,
) -> bytes:
    """struct gt_operands; of larger numbers, and of the stream's, C would take the lower 64 bits.

    doubles: the product's sums are doubles, and so alpha and beta; else they are rounded to float32.
    """
    try:
        if not doubles and (FLOAT_MAX < abs(alpha) < inf or FLOAT_MAX < abs(beta) < inf):
            raise OverflowError
        if not 0 <= a | b | c | d | bias | workspace | stream | scale_a | scale_b < 2**64:
            raise OverflowError
        if scale_a or scale_b:
            return pack_scaled(OPERANDS_SIZE, a, b, c, d, bias, workspace, alpha, beta, scale_a, scale_b)
        return pack_operands(OPERANDS_SIZE, a, b, c, d, bias, workspace, alpha, beta)
    except (OverflowError, TypeError, struct.error):
        addresses = {"a": a, "b": b, "c": c, "d": d, "bias": bias, "workspace": workspace, "stream": stream}
        for name, value in addresses.items():
            if not hasattr(value, "__index__") or not 0 <= value < 2**64:
                raise ValueError(f"{name} is {value!r}; addresses and streams are whole numbers from 0 to 2^64 - 1")
        raise ValueError(f"alpha is {alpha!r} and beta {beta!r}; they are numbers of {'float64' if doubles else 'float32'}'s range")


def path_bytes(path: "Optional[str | os.PathLike[str]]") -> Optional[bytes]:
    return None if path is None else chars(os.fsencode(path))


def parse(words: str) -> CProblem:
    problem, err = CProblem(), CErr()
    check(library.gt_problem_parse(byref(problem), chars(words.encode()), byref(err)), err)
    return problem


def format_problem(problem: CProblem) -> str:
    buffer = ctypes.create_string_buffer(PROBLEM_TEXT_MAX)
    library.gt_problem_format(byref(problem), buffer)
    return buffer.value.decode()


def data_dir() -> Optional[Path]:
    """Templates, descriptions and the shipped table of this package; None: the library's own."""
    inside = PACKAGE / "share" / "gemmtune"
    return inside if inside.is_dir() and "GEMMTUNE_DATA" not in os.environ else None
