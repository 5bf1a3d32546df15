# _matmul.py - products of arrays: from shapes and strides to a problem, a plan and a launch.
"""``matmul`` for arrays of any library."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ._arrays import View, bytes_of, can_make, current_stream, make, view, working_on, writable
from ._library import NOT_FOUND, Error, Unfit
from ._memory import keep_apart
from ._streams import same, wait
from ._tables import Plan, Tables

_lock = threading.Lock()
_default: Optional[Tables] = None
_plans: Dict[Tuple[int, str, int], Plan] = {}
_known: Dict[Tuple[Any, ...], Plan] = {}  # by shapes, strides and types: no text need be made


def default_tables() -> Tables:
    """The tables that are used where none are given: opened once, with all defaults."""
    global _default
    with _lock:
        if _default is None:
            _default = Tables()
        return _default


class Layout(NamedTuple):
    """A matrix as the library sees it."""

    transposed: bool
    leading: int
    batch_stride: int


def _layout(array: View, name: str) -> Layout:
    """Rows or columns must be contiguous; strides of dimensions of size 1 mean nothing."""
    rows, columns = array.shape[-2:]
    row, column = array.strides[-2:]
    batch = array.strides[0] if len(array.shape) == 3 else 0
    if column == 1 or columns <= 1:
        leading = row if rows > 1 else columns
        if leading >= columns:
            return Layout(False, max(leading, 1), batch)
    if row == 1 or rows <= 1:
        leading = column if columns > 1 else rows
        if leading >= rows:
            return Layout(True, max(leading, 1), batch)
    raise Unfit(f"{name}: neither its rows nor its columns are contiguous; copy it first")


def _alignment(*arrays: Optional[View]) -> int:
    bits = 16
    for array in arrays:
        if array is not None:
            bits |= array.address
    return bits & -bits


def _device(*arrays: Optional[View]) -> int:
    """The one device that all of them are on, as far as they say."""
    devices = {array.device for array in arrays if array is not None and array.device >= 0}
    if len(devices) > 1:
        raise Unfit(f"the arrays are on several devices: {sorted(devices)}")
    return devices.pop() if devices else 0


def _sizes(a: View, b: View) -> Tuple[int, int, int, int]:
    """m, n, k and the batch."""
    if len(a.shape) not in (2, 3) or len(a.shape) != len(b.shape):
        raise Unfit("both operands must be matrices, or both batches of matrices")
    batch = a.shape[0] if len(a.shape) == 3 else 1
    if len(a.shape) == 3 and b.shape[0] != batch:
        raise Unfit(f"batches of {batch} and {b.shape[0]} matrices")
    if a.shape[-1] != b.shape[-2]:
        raise Unfit(f"inner sizes differ: {a.shape[-1]} and {b.shape[-2]}")
    return a.shape[-2], b.shape[-1], a.shape[-1], batch


def problem_of(
    a: View, b: View, d: View, *, c: Optional[View] = None, bias: Optional[View] = None,
    activation: Optional[str] = None, accuracy: Optional[str] = None, beta: float = 0.0,
    scales: Tuple[str, ...] = (),
) -> str:
    """The problem's text (tuner/README.md, "Problems")."""
    m, n, k, batch = _sizes(a, b)
    la, lb, ld = _layout(a, "a"), _layout(b, "b"), _layout(d, "out")
    if activation not in (None, "relu", "gelu"):
        raise ValueError(f"activation is {activation!r}; there are relu and gelu")
    if accuracy and accuracy not in ("strict", "f32", "tf32"):
        raise ValueError(f"accuracy is {accuracy!r}; there are strict, f32 and tf32")
    if a.type != b.type:
        raise TypeError(f"operands of two types: {a.type} and {b.type}")
    if ld.transposed:  # also where there is one row: its elements lie apart
        raise Unfit("out: its rows must be contiguous")
    if d.shape != (a.shape[:-2] + (m, n)):
        raise Unfit(f"out is {d.shape}, expected {a.shape[:-2] + (m, n)}")
    if c is not None and (c.type != d.type or c.shape != d.shape or c.strides != d.strides):
        raise Unfit("c must have out's type, shape and strides")
    kind = "tf32" if a.type == "f32" and accuracy == "tf32" else a.type
    parts = [f"{m}x{n}x{k}", kind, ("t" if la.transposed else "n") + ("t" if lb.transposed else "n")]
    parts += [f"out={d.type}", f"lda={la.leading}", f"ldb={lb.leading}", f"ldc={max(ld.leading, n)}"]
    if batch != 1:
        parts.append(f"batch={batch}")
        parts += [f"sa={la.batch_stride}", f"sb={lb.batch_stride}", f"sc={ld.batch_stride}"]
    epilogue = "+".join(word for word in ("bias" if bias is not None else None, activation) if word)
    if epilogue:
        parts.append(f"epi={epilogue}")
    if accuracy and kind == "f32":
        parts.append(f"accuracy={accuracy}")
    if beta:
        parts.append("beta=1")
    parts += scales
    align = _alignment(a, b, d, c, bias)
    if align < 16:
        parts.append(f"align={align}")
    return ":".join(parts)


def plan_for(
    problem: str, device: int, tables: Optional[Tables] = None, may_plan: bool = True
) -> Plan:
    """The plan, made when it is first asked for and kept: graphs that were captured need its code.

    may_plan False: one that was not asked for before is an Error (NOT_FOUND).
    """
    tables = tables or default_tables()
    key = (id(tables), problem, device)
    plan = _plans.get(key)
    if plan is None and not may_plan:
        raise Error(NOT_FOUND, f"{problem} was not planned before the capture of a CUDA graph")
    if plan is None:
        plan = _plans.setdefault(key, Plan(tables, problem, device))  # of two threads' the first one stays
    return plan


def matmul(
    a: Any, b: Any, out: Any = None, *, c: Any = None, bias: Any = None,
    activation: Optional[str] = None, accuracy: Optional[str] = None, alpha: float = 1.0,
    beta: float = 0.0, workspace: Any = None, stream: Optional[int] = None,
    tables: Optional[Tables] = None, may_plan: bool = True,
) -> Any:
    """out = activation(alpha * a @ b + beta * c + bias), by the best kernel that is known.

    a, b: matrices, or batches of them, in device memory: tensors of PyTorch, or anything with
    ``__cuda_array_interface__`` or ``__dlpack__``.  A transposed view is no copy.  out: where the
    result goes; None: a new array (PyTorch, CuPy).  It must not share memory with the operands, except
    that c may be out itself.  bias: one element for each column.
    activation: None, "relu" or "gelu".  accuracy: for FP32 "strict" (FP32 arithmetic, the
    default), "f32" (tensor cores, with FP32's error) or "tf32".  stream: None is the one that a's
    library works on; where ``__cuda_array_interface__`` names another one, the product waits for it.
    The memory of a new array belongs to the stream, and that of arrays that are given must not be
    given back before the product has ended.

    The first product of a problem looks it up, and loads or compiles its kernel; later ones only
    launch.  Run a product once before it is captured in a CUDA graph; with may_plan=False a
    product that was not run before raises Error.
    """
    return multiply(
        a, b, out, c, bias, activation, accuracy, alpha, beta, workspace, stream, tables, may_plan, False
    )[0]


def multiply(
    a: Any, b: Any, out: Any, c: Any, bias: Any, activation: Optional[str],
    accuracy: Optional[str], alpha: float, beta: float, workspace: Any, stream: Optional[int],
    tables: Optional[Tables], may_plan: bool, same_bits: bool,
) -> Tuple[Any, Plan]:
    """As matmul; the result and the plan that made it.  same_bits: no kernel whose last bits may vary."""
    at = current_stream(a) if stream is None else stream
    va, vb = view(a, at), view(b, at)
    vd = None if out is None else writable(out, "out", at)
    vc, vbias = (None if array is None else view(array, at) for array in (c, bias))
    space = workspace if workspace is None or isinstance(workspace, int) else _space(workspace, at)
    with nullcontext() if stream is None else working_on(a, stream):  # memory is made and given back there
        if vd is None:
            out = _new(a, va, vb)
            vd = view(out, at)
        plan = _plan(va, vb, vd, vc, vbias, activation, accuracy, beta, tables or default_tables(), may_plan)
        if same_bits and plan.answer.varies:
            raise Unfit("the kernel's last bits may differ between launches")
        needed = plan.answer.workspace_bytes
        if needed and space is None:
            if not can_make(a):
                raise ValueError(f"this product needs {needed} bytes: give workspace=")
            workspace = make(a, (needed,), "bytes")
            space = view(workspace, at, True).address
        elif isinstance(space, View):
            _check_space(space, needed, va, vb, vd, vc, vbias)
        for array in (va, vb, vd, vc, vbias, space):
            if isinstance(array, View) and array.ready_on is not None and not same(at, array.ready_on):
                wait(at, array.ready_on, plan.device)
        address = 0 if not needed else space.address if isinstance(space, View) else space
        plan.run(
            va.address, vb.address, vd.address, c_=vc.address if vc else 0,
            bias=vbias.address if vbias else 0, workspace=address, alpha=alpha, beta=beta, stream=at,
        )
    return out, plan


def _scale(factors: View, operand: str, rows: int, k: int) -> Tuple[str, ...]:
    """What a problem's text says of an operand's factors, by their shape and strides.

    One factor is the whole operand's.  For rows of a, or columns of b, there are so many.  For blocks
    there are (rows, k / 128) of a and (k / 128, columns) of b, or 128 rows or columns share a factor.
    """
    shape = tuple(size for size in factors.shape if size != 1)
    strides = tuple(step for size, step in zip(factors.shape, factors.strides) if size != 1)
    depth = -(-k // 128)
    if factors.type != "f32":
        raise Unfit(f"scale_{operand} is of {factors.type}; it must be of float32")
    if not shape:
        return (f"scale_{operand}=tensor",)
    flat = len(factors.shape) == 1 or factors.shape[1 if operand == "a" else 0] == 1
    if shape == (rows,) and strides == (1,) and flat:
        return (f"scale_{operand}=vector",)
    if len(factors.shape) == 2:
        blocks, of_k = factors.shape if operand == "a" else factors.shape[::-1]
        step, step_k = factors.strides if operand == "a" else factors.strides[::-1]
        high = 1 if blocks == rows else 128 if blocks == -(-rows // 128) else 0
        if high and of_k == depth and 1 in (step, step_k):
            order, line = ("mn", max(step_k, blocks)) if step == 1 or blocks == 1 else ("k", max(step, of_k))
            return (f"scale_{operand}={high}x128/{order}", f"ls{operand}={line}")
    raise Unfit(
        f"scale_{operand} is {tuple(factors.shape)} with strides {factors.strides}; there are one factor, "
        f"{rows} of them, and blocks of 1x128 or 128x128"
    )


def scaled(
    a: Any, b: Any, scale_a: Any, scale_b: Any, out: Any, bias: Any = None, fast: bool = False,
    tables: Optional[Tables] = None, may_plan: bool = True,
) -> Any:
    """out = (scale_a * a) @ (scale_b * b) + bias: operands of 8 bits whose factors are arrays of float32.

    fast: the sums of 8-bit floats may stay in the tensor cores.
    """
    at = current_stream(a)
    va, vb, vd = view(a, at), view(b, at), writable(out, "out", at)
    sa, sb = view(scale_a, at), view(scale_b, at)
    vbias = None if bias is None else view(bias, at)
    m, n, k, batch = _sizes(va, vb)
    if batch != 1:
        raise Unfit("scaled products take matrices, no batches")
    if vbias is not None and (vbias.shape != (n,) or n > 1 and vbias.strides != (1,)):
        raise Unfit(f"bias must be {n} contiguous elements, one for each column")
    key = (
        "scaled", id(tables), va[1:5], vb[1:5], vd[1:5], sa[1:5], sb[1:5],
        None if vbias is None else vbias[3:5], fast, _alignment(va, vb, vd, vbias),
    )
    plan = _known.get(key)
    if plan is None:
        words = _scale(sa, "a", m, k) + _scale(sb, "b", n, k)
        if va.type in ("e4m3", "e5m2") and "x128" not in "".join(words):
            words += ("sums=fast" if fast else "sums=promoted",)
        if vb.type != va.type:
            words += (f"b={vb.type}",)
        if vbias is not None and vbias.type != vd.type:
            words += (f"bias={vbias.type}",)
        problem = problem_of(va, vb._replace(type=va.type), vd, bias=vbias, scales=words)
        device = _device(va, vb, vd, sa, sb, vbias)
        plan = _known[key] = plan_for(problem, device, tables or default_tables(), may_plan)
    for name, factors in (("scale_a", sa), ("scale_b", sb)):
        keep_apart("out", vd.address, bytes_of(vd), [(name, factors.address, bytes_of(factors))])
    needed = plan.answer.workspace_bytes
    workspace = view(make(a, (needed,), "bytes"), at, True) if needed else None
    for array in (va, vb, vd, sa, sb, vbias):
        if array is not None and array.ready_on is not None and not same(at, array.ready_on):
            wait(at, array.ready_on, plan.device)
    plan.run(
        va.address, vb.address, vd.address, bias=vbias.address if vbias else 0,
        workspace=workspace.address if workspace else 0, stream=at, scale_a=sa.address, scale_b=sb.address,
    )
    return out


def _new(a: Any, va: View, vb: View) -> Any:
    """An array for the result, of a's library."""
    m, n, _, _ = _sizes(va, vb)
    if not can_make(a):
        raise TypeError(f"gemmtune cannot make a {type(a).__name__}: give out=")
    return make(a, va.shape[:-2] + (m, n), "s32" if va.type == "s8" else None)


def _plan(
    va: View, vb: View, vd: View, vc: Optional[View], vbias: Optional[View], activation: Optional[str],
    accuracy: Optional[str], beta: float, tables: Tables, may_plan: bool,
) -> Plan:
    """The plan of such arrays: by what it was kept under, else by the problem's text."""
    n = _sizes(va, vb)[1]
    if vbias is not None and (vbias.shape != (n,) or vbias.type != vd.type):
        raise Unfit(f"bias must be {n} elements of out's type, one for each column")
    if vbias is not None and n > 1 and vbias.strides != (1,):
        raise Unfit("bias: its elements must be contiguous")
    if beta and vc is None:
        raise ValueError("beta is not 0, and there is no c")
    key = (
        id(tables), va[1:5], vb[1:5], vd[1:5], None if vc is None else vc[1:5],
        None if vbias is None else vbias.device,
        activation, accuracy, beta != 0, _alignment(va, vb, vd, vc, vbias),
    )
    plan = _known.get(key)
    if plan is None:
        problem = problem_of(
            va, vb, vd, c=vc, bias=vbias, activation=activation, accuracy=accuracy, beta=beta
        )
        plan = _known[key] = plan_for(problem, _device(va, vb, vd, vc, vbias), tables, may_plan)
    return plan


def _space(workspace: Any, stream: int) -> View:
    """Bytes in device memory, of any type, that a kernel may write."""
    space = writable(workspace, "workspace", stream, True)
    if bytes_of(space).steps:
        raise ValueError("workspace: its elements must be contiguous")
    return space


def _check_space(
    space: View, needed: int, a: View, b: View, d: View, c: Optional[View], bias: Optional[View]
) -> None:
    """Whether it is large enough, and, whichever kernel is found, of its own."""
    own = bytes_of(space)
    if own.width < needed:
        raise ValueError(f"workspace has {own.width} bytes; this product needs {needed}")
    given = (("a", a), ("b", b), ("out", d), ("c", c), ("bias", bias))
    keep_apart(
        "workspace", space.address, own,
        [(name, array.address, bytes_of(array)) for name, array in given if array is not None],
    )
