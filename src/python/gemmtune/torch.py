# torch.py - operators for PyTorch: gemmtune::matmul and gemmtune::linear, with fake kernels and gradients.
"""gemmtune in PyTorch: ``matmul`` and ``linear`` with gradients, in CUDA graphs and ``torch.compile``.

    >>> import gemmtune.torch
    >>> y = gemmtune.torch.linear(x, weight, bias)
    >>> gemmtune.torch.use(module)               # every nn.Linear of a module multiplies through it
    >>> gemmtune.torch.use_in_inductor()         # a candidate of torch.compile(mode="max-autotune")

A product that gemmtune cannot compute (types, devices, no kernel, no compiler), or one that a CUDA
graph captures before it was ever run, is computed by PyTorch; ``counts`` says how many of each.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor

from . import _library as c
from ._library import Error
from ._matmul import multiply
from ._tables import Plan, Tables

if not hasattr(torch.library, "custom_op"):
    raise ImportError(f"gemmtune.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

counts: Dict[str, int] = {"gemmtune": 0, "pytorch": 0}
_tables: Optional[Tables] = None
_warned = False

# What products that were run before need now, by shapes, strides and types: see "small products" below.
_ready: Dict[Tuple[Any, ...], Callable[[Tensor, Tensor, Optional[Tensor]], Optional[Tensor]]] = {}


def use_tables(tables: Optional[Tables]) -> None:
    """Where winners come from, for instance ``Tables("winners.gt")``; None: the default tables."""
    global _tables
    _tables = tables
    _ready.clear()


def _fit(matrix: Tensor) -> Tensor:
    """The matrix, or a copy of it whose rows are contiguous."""
    rows, columns = matrix.stride(-2), matrix.stride(-1)
    if columns == 1 and rows >= matrix.size(-1) or rows == 1 and columns >= matrix.size(-2):
        return matrix
    return matrix.contiguous()


def _accuracy(a: Tensor, asked: str) -> Optional[str]:
    if asked or a.dtype != torch.float32:
        return asked or None
    return "strict" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def _warn_once(error: Error) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(f"gemmtune: {error}; such products are left to PyTorch", stacklevel=3)


def _compute(
    a: Tensor, b: Tensor, bias: Optional[Tensor], accuracy: str, out: Optional[Tensor] = None
) -> Tuple[Tensor, Optional[Plan]]:
    """a @ b + bias of matrices or batches, by gemmtune where it can; with the plan of these very arrays."""
    if a.is_cuda and a.numel() and b.numel():
        capturing = torch.cuda.is_current_stream_capturing()
        fit_a, fit_b = _fit(a), _fit(b)
        try:
            result, plan = multiply(
                fit_a, fit_b, out, None, bias, None, _accuracy(a, accuracy), 1.0, 0.0, None, None,
                _tables, not capturing,
            )
            counts["gemmtune"] += 1
            return result, plan if fit_a is a and fit_b is b and result.dtype is a.dtype else None
        except Error as error:
            if not capturing:
                _warn_once(error)
        except TypeError:  # a type that gemmtune does not compute with
            pass
    counts["pytorch"] += 1
    if bias is None:
        return (torch.matmul(a, b, out=out) if out is not None else torch.matmul(a, b)), None
    result = torch.matmul(a, b) + bias
    return (out.copy_(result) if out is not None else result), None


@torch.library.custom_op("gemmtune::matmul", mutates_args=())
def _matmul_op(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    return _compute(a, b, None, accuracy)[0]


@_matmul_op.register_fake
def _(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    return a.new_empty(a.shape[:-1] + b.shape[-1:])


@torch.library.custom_op("gemmtune::linear", mutates_args=())
def _linear_op(x: Tensor, weight: Tensor, bias: Optional[Tensor], accuracy: str = "") -> Tensor:
    return _compute(x, weight.t(), bias, accuracy)[0]


@_linear_op.register_fake
def _(x: Tensor, weight: Tensor, bias: Optional[Tensor], accuracy: str = "") -> Tensor:
    return x.new_empty((x.shape[0], weight.shape[0]))


def _keep_matmul(ctx: Any, inputs: Any, output: Tensor) -> None:
    a, b, ctx.accuracy = inputs
    ctx.save_for_backward(a, b)


def _matmul_gradients(ctx: Any, grad: Tensor) -> Any:
    a, b = ctx.saved_tensors
    da = _matmul_op(grad, b.mT, ctx.accuracy) if ctx.needs_input_grad[0] else None
    db = _matmul_op(a.mT, grad, ctx.accuracy) if ctx.needs_input_grad[1] else None
    return da, db, None


def _keep_linear(ctx: Any, inputs: Any, output: Tensor) -> None:
    x, weight, _, ctx.accuracy = inputs
    ctx.save_for_backward(x, weight)


def _linear_gradients(ctx: Any, grad: Tensor) -> Any:
    x, weight = ctx.saved_tensors
    dx = _matmul_op(grad, weight, ctx.accuracy) if ctx.needs_input_grad[0] else None
    dw = _matmul_op(grad.t(), x, ctx.accuracy) if ctx.needs_input_grad[1] else None
    return dx, dw, grad.sum(0) if ctx.needs_input_grad[2] else None, None


_matmul_op.register_autograd(_matmul_gradients, setup_context=_keep_matmul)
_linear_op.register_autograd(_linear_gradients, setup_context=_keep_linear)


# ---- small products: without the dispatcher, which costs 75 us a call, and without views ----

_PLAIN = (Tensor, torch.nn.Parameter)
_CAN_TELL = all(
    hasattr(torch._C, name)
    for name in ("_len_torch_dispatch_stack", "_are_functorch_transforms_active", "_cuda_getCurrentRawStream")
) and hasattr(torch.autograd.forward_ad, "_current_level")


def _nobody_looks() -> bool:
    """Whether no compiler, no mode and no transform of functions wants to see the operator."""
    return (
        _CAN_TELL
        and not torch.compiler.is_compiling()
        and not torch._C._len_torch_dispatch_stack()
        and not torch._C._are_functorch_transforms_active()
        and torch.autograd.forward_ad._current_level < 0
    )


def _key(a: Tensor, b: Tensor, bias: Optional[Tensor], accuracy: str) -> Optional[Tuple[Any, ...]]:
    """What a product without a gradient is known by; None: somebody wants to see it."""
    if not (type(a) in _PLAIN and type(b) in _PLAIN and _nobody_looks()):
        return None
    if torch.is_autocast_enabled("cuda"):
        return None
    grads = torch.is_grad_enabled()
    if grads and (a.requires_grad or b.requires_grad):
        return None
    key = (
        a.shape, b.shape, a.stride(), b.stride(), a.dtype, b.dtype, a.get_device(), b.get_device(),
        accuracy, torch.get_float32_matmul_precision(),
    )
    if bias is None:
        return key
    if type(bias) not in _PLAIN or grads and bias.requires_grad:
        return None
    return key + (bias.shape, bias.stride(), bias.dtype, bias.get_device())


def _make_ready(key: Optional[Tuple[Any, ...]], plan: Optional[Plan], out: Tensor) -> None:
    """Keeps what the next product of these shapes, strides and types needs."""
    if key is None or plan is None:
        return
    shape, needed, device = out.shape, plan.answer.workspace_bytes, out.get_device()
    pack, launch, size, stream = (
        c.pack_operands, c.launch, c.OPERANDS_SIZE, torch._C._cuda_getCurrentRawStream,
    )

    def run(a: Tensor, b: Tensor, bias: Optional[Tensor]) -> Optional[Tensor]:
        handle = plan._handle
        at_a, at_b, at_bias = a.data_ptr(), b.data_ptr(), 0 if bias is None else bias.data_ptr()
        d = a.new_empty(shape)
        at_d = d.data_ptr()
        if (at_a | at_b | at_bias | at_d) & 15 or not handle:
            return None  # another problem; the tables were closed
        workspace = a.new_empty(needed, dtype=torch.uint8) if needed else None
        operands = pack(
            size, at_a, at_b, 0, at_d, at_bias, 0 if workspace is None else workspace.data_ptr(), 1.0, 0.0
        )
        if launch(handle, stream(device), operands, None):
            return None  # the longer way says why
        counts["gemmtune"] += 1
        return d

    _ready[key] = run


class _Product(torch.autograd.Function):
    """a @ b with gradients, where nobody looks."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, accuracy: str) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.accuracy = accuracy
        return matmul(a, b, accuracy)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        a, b = ctx.saved_tensors
        da = matmul(grad, b.mT, ctx.accuracy) if ctx.needs_input_grad[0] else None
        db = matmul(a.mT, grad, ctx.accuracy) if ctx.needs_input_grad[1] else None
        return da, db, None


class _LinearProduct(torch.autograd.Function):
    """x @ weight^T + bias of matrices with gradients, where nobody looks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Optional[Tensor], accuracy: str) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.accuracy = accuracy
        return linear(x, weight, bias, accuracy)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        dx = matmul(grad, weight, ctx.accuracy) if ctx.needs_input_grad[0] else None
        dw = matmul(grad.t(), x, ctx.accuracy) if ctx.needs_input_grad[1] else None
        return dx, dw, grad.sum(0) if ctx.needs_input_grad[2] else None, None


def _autocast(*tensors: Optional[Tensor]) -> Any:
    if not torch.is_autocast_enabled("cuda"):
        return tensors
    kind = torch.get_autocast_dtype("cuda")
    return [t if t is None or t.dtype == torch.float64 else t.to(kind) for t in tensors]


def _are_plain(*tensors: Optional[Tensor]) -> bool:
    return all(t is None or type(t) in _PLAIN for t in tensors)


def _product(a: Tensor, b: Tensor, accuracy: str, key: Optional[Tuple[Any, ...]]) -> Tensor:
    """a @ b of matrices, or of as many of them."""
    if key is not None:
        out, plan = _compute(a, b, None, accuracy)
        _make_ready(key, plan, out)
        return out
    if _are_plain(a, b) and _nobody_looks():
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            return _Product.apply(a, b, accuracy)
        return _compute(a, b, None, accuracy)[0]
    return _matmul_op(a, b, accuracy)


def matmul(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    """a @ b of matrices, of batches of them, or of any leading dimensions and one matrix b.

    accuracy, for FP32: "strict", "f32" or "tf32"; "": as torch.set_float32_matmul_precision says.
    """
    key = _key(a, b, None, accuracy)
    if key is not None:
        run = _ready.get(key)
        result = None if run is None else run(a, b, None)
        if result is not None:
            return result
    a, b = _autocast(a, b)
    if a.dim() == 2 and b.dim() == 2 or a.dim() == 3 and b.dim() == 3 and a.shape[0] == b.shape[0]:
        return _product(a, b, accuracy, key)
    if b.dim() == 2 and a.dim() > 2:
        flat = _product(a.reshape(-1, a.shape[-1]), b, accuracy, None)
        return flat.reshape(a.shape[:-1] + b.shape[-1:])
    return torch.matmul(a, b)


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, accuracy: str = "") -> Tensor:
    """x @ weight^T + bias, as torch.nn.functional.linear, in one kernel."""
    key = _key(x, weight, bias, accuracy)
    if key is not None:
        key += ("linear",)
        run = _ready.get(key)
        result = None if run is None else run(x, weight, bias)
        if result is not None:
            return result
    x, weight, bias = _autocast(x, weight, bias)
    flat = x.reshape(-1, x.shape[-1])
    shape = x.shape[:-1] + weight.shape[:1]
    if key is not None:
        result, plan = _compute(flat, weight.t(), bias, accuracy)
        result = result.reshape(shape)
        _make_ready(key, plan if flat.data_ptr() == x.data_ptr() else None, result)
        return result
    if not (_are_plain(x, weight, bias) and _nobody_looks()):
        return _linear_op(flat, weight, bias, accuracy).reshape(shape)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias)):
        return _LinearProduct.apply(flat, weight, bias, accuracy).reshape(shape)
    return _compute(flat, weight.t(), bias, accuracy)[0].reshape(shape)


class Linear(torch.nn.Linear):
    """torch.nn.Linear that multiplies through gemmtune."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def use(module: torch.nn.Module) -> int:
    """Lets each nn.Linear inside the module multiply through gemmtune; returns how many there are."""
    found = 0
    for child in module.modules():
        if type(child) is torch.nn.Linear:
            child.__class__ = Linear
            found += 1
    return found


def external_matmul(a: Tensor, b: Tensor, out: Tensor) -> None:
    """out = a @ b, as torch._inductor.config.external_matmul asks for it."""
    _compute(a, b, None, "", out)


def use_in_inductor() -> None:
    """Makes gemmtune a candidate where Inductor tunes products (mode="max-autotune")."""
    from torch._inductor import config

    if external_matmul not in config.external_matmul:
        config.external_matmul.append(external_matmul)
