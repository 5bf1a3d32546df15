# _tables.py - look-ups and plans: struct gt, struct gt_plan and struct gt_answer as Python objects.
"""Tables of winners, the answers they give, and plans that run."""

from __future__ import annotations

import ctypes
import enum
import glob
import os
import sys
import weakref
from ctypes import POINTER, byref, c_char_p, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Tuple, Union

from . import _library as c
from ._memory import block, keep_apart
from ._names import parse as parse_arch

PathLike = Union[str, "os.PathLike[str]"]


class Tier(enum.IntEnum):
    """How good an answer is, best first."""

    EXACT = 0  #: this problem was tuned on this device
    NEAR = 1  #: the nearest tuned problem's winner, adapted
    FAMILY = 2  #: a default point, or the winner of a less similar problem
    NONE = 3  #: nothing serves it


@dataclass(frozen=True)
class Answer:
    """What a look-up says of a problem; the members of ``struct gt_answer`` (``gemmtune.h``)."""

    tier: Tier
    kernel: Optional[str]
    point: Optional[str]
    device: Optional[str]
    tuned_for: Optional[str]
    predicted: bool
    us: float
    expected_loss: float
    grid: Tuple[int, ...]
    block: Tuple[int, ...]
    shared_bytes: int
    workspace_bytes: int
    tuned_us: float
    expected_us: float
    passed_over: Optional[str]
    baseline_us: float
    varies: bool
    contested: bool
    trials: int
    cublaslt: Optional[str]
    measured: int
    ranking: Optional[str]
    in_f32: bool

    @property
    def ratio(self) -> float:
        """cuBLASLt's time over the kernel's, timed in turns on this very problem; 0: not known."""
        return self.baseline_us / self.us if self.us > 0 else 0.0


def _answer(raw: c.CAnswer) -> Answer:
    values = {}
    for field in c.CAnswer._fields_:
        name, kind = field[:2]
        value = getattr(raw, name)
        if kind is c_char_p:
            value = c.text(value)
        elif name in ("grid", "block"):
            value = tuple(value)
        elif name in ("predicted", "varies", "contested", "in_f32"):
            value = bool(value)
        values[name] = value
    values["tier"] = Tier(values["tier"])
    return Answer(**values)


def _find_nvrtc() -> None:
    """Names the compiler that the wheels of CUDA bring, if the user has named none."""
    if "GEMMTUNE_LIBNVRTC" in os.environ:
        return
    for place in sys.path:
        found = sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib", "libnvrtc.so.1[23]")))
        if found:
            os.environ["GEMMTUNE_LIBNVRTC"] = found[-1]
            return


def _cache_dir() -> Path:
    own, xdg = os.environ.get("GEMMTUNE_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own)
    return (Path(xdg) if xdg else Path.home() / ".cache") / "gemmtune"


class Tables:
    """An open set of tables.  It may be used by any number of threads, and as a context manager.

    db: your database, or a file of ``tune export --format deploy``; None: ``$GEMMTUNE_DB``, else
    where ``tune`` writes; "": none.  system_db: the shipped table; None: that of this package.
    compile: plans may compile what ``cubin_dir`` (None: the cache of ``tune``) does not have.
    cublaslt: plans may run cuBLASLt's algorithm where that was faster than every kernel.  It takes
        only operands at multiples of 256 bytes, as new arrays are; other products are an Error.
    measure: a plan of an untuned problem times its first candidates once and takes the fastest.
    """

    def __init__(
        self,
        db: Optional[PathLike] = None,
        *,
        system_db: Optional[PathLike] = None,
        cubin_dir: Optional[PathLike] = None,
        compile: bool = True,
        cublaslt: bool = False,
        measure: bool = False,
        log: Optional[PathLike] = None,
    ) -> None:
        self._handle = c_void_p()
        self._plans: "weakref.WeakSet[Plan]" = weakref.WeakSet()
        err = c.CErr()
        if compile:
            _find_nvrtc()
        options = c.COptions(
            size=ctypes.sizeof(c.COptions),
            user_db=c.path_bytes(db),
            system_db=c.path_bytes(system_db),
            data_dir=c.path_bytes(c.data_dir()),
            cubin_dir=c.path_bytes(cubin_dir if cubin_dir is not None else _cache_dir()),
            log_path=c.path_bytes(log),
            allow_nvrtc=int(compile),
            allow_cublaslt=int(cublaslt),
            plan_mode=int(measure),
        )
        c.check(c.library.gt_open(byref(self._handle), byref(options), byref(err)), err)

    def close(self) -> None:
        """Closes the tables and frees their plans, none of which may be in use."""
        if self._handle:
            for plan in list(self._plans):
                plan._free()
            c.library.gt_close(self._handle)
            self._handle = c_void_p()

    def __enter__(self) -> "Tables":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and c is not None:
            self.close()

    def __reduce__(self) -> Any:
        """Two objects would close the same tables."""
        raise TypeError("tables cannot be copied or pickled: open them again")

    def _open(self) -> c_void_p:
        if not self._handle:
            raise ValueError("the tables are closed")
        return self._handle

    def lookup(
        self, problem: str, arch: Union[int, str], device: Optional[str] = None
    ) -> Answer:
        """The best known kernel for a problem such as ``"4096x4096x4096:bf16:nt"``; no GPU is needed.

        arch: 90, "sm_90", or a GPU's name, "h100" or "RTX 4090", which is the device asked about then,
        unless `device` names another one.  Nothing that serves it is an answer (``Tier.NONE``), not an error.
        """
        parsed, err, answer = c.parse(problem), c.CErr(), POINTER(c.CAnswer)()
        number, named = parse_arch(arch)
        name = named if device is None else device
        code = c.library.gt_lookup(
            self._open(), c.number(number, "arch"), None if name is None else c.chars(name.encode()),
            byref(parsed), byref(answer), byref(err)
        )
        c.check(code, err)
        return _answer(answer.contents)

    def plan(self, problem: str, device: int = 0) -> "Plan":
        """Makes the answer for the problem ready on the CUDA device of that number."""
        return Plan(self, problem, device)


class Plan:
    """A kernel that is ready to run.  Several threads may run it at once."""

    def __init__(self, tables: Tables, problem: str, device: int = 0) -> None:
        self._handle = c_void_p()
        self._tables = tables  # must stay open as long as the plan
        parsed, err = c.parse(problem), c.CErr()
        code = c.library.gt_plan(
            byref(self._handle), tables._open(), c.number(device, "device"), byref(parsed), byref(err)
        )
        c.check(code, err)
        self.problem: str = c.format_problem(parsed)
        self.device: int = device
        self.answer: Answer = _answer(c.library.gt_plan_answer(self._handle).contents)
        self._measure(parsed)
        tables._plans.add(self)

    def _measure(self, p: c.CProblem) -> None:
        """How much memory each operand takes."""
        size, out = c.SIZES[p.type], c.SIZES[p.out]
        self._doubles = c.DTYPES[p.acc] == "f64"
        a = (p.k, p.m) if p.trans_a else (p.m, p.k)
        b = (p.n, p.k) if p.trans_b else (p.k, p.n)
        self._a = block((p.batch, *a), (p.stride_a, p.lda, 1), size)
        self._b = block((p.batch, *b), (p.stride_b, p.ldb, 1), size)
        self._d = block((p.batch, p.m, p.n), (p.stride_c, p.ldc, 1), out)
        self._bias, self._workspace = block((p.n,), (1,), out), block((self.answer.workspace_bytes,), (1,), 1)

    def _keep_apart(self, a: int, b: int, c_: int, d: int, bias: int, workspace: int) -> None:
        """What is written must share no memory with anything else, but c may be d itself."""
        read = [("a", a, self._a), ("b", b, self._b), ("bias", bias, self._bias)]
        if c_ != d:
            read.append(("c", c_, self._d))
        keep_apart("out", d, self._d, [*read, ("workspace", workspace, self._workspace)])
        if workspace:
            keep_apart("workspace", workspace, self._workspace, [*read, ("c", c_, self._d)])

    def __reduce__(self) -> Any:
        raise TypeError("a plan cannot be copied or pickled: make it again")

    def _free(self) -> None:
        if self._handle:
            c.library.gt_plan_free(self._handle)
            self._handle = c_void_p()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and c is not None:
            self._free()

    def run(
        self,
        a: int,
        b: int,
        d: int,
        *,
        c_: int = 0,
        bias: int = 0,
        workspace: int = 0,
        alpha: float = 1.0,
        beta: float = 0.0,
        stream: int = 0,
        scale_a: int = 0,
        scale_b: int = 0,
    ) -> None:
        """Enqueues the product on a stream: addresses in device memory, 0 for none.

        It neither blocks nor allocates, and may be captured in a CUDA graph.  ``workspace`` has
        ``answer.workspace_bytes`` bytes.  stream: 0 is the default stream.  d shares no memory with the
        operands, except that c_ may be d.
        """
        if not self._handle:
            raise ValueError("the tables of this plan are closed")
        operands = c.operands(
            a, b, c_, d, bias, workspace, alpha, beta, stream, scale_a, scale_b, self._doubles
        )
        if (
            c_ or bias or workspace
            or a < d + self._d.extent and d < a + self._a.extent
            or b < d + self._d.extent and d < b + self._b.extent
        ):
            self._keep_apart(a, b, c_, d, bias, workspace)
        if c.launch(self._handle, stream, operands, None):
            self._explain(operands, stream)

    def _explain(self, operands: bytes, stream: int) -> None:
        """Runs what has failed once more, for the sentence."""
        err = c.CErr()
        c.check(c.launch(self._handle, stream, operands, byref(err)), err)
