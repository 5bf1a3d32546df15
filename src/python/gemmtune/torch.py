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
from typing import Any, Dict, Optional

import torch
from torch import Tensor

from ._library import Error
from ._matmul import matmul as _matmul
from ._tables import Tables

if not hasattr(torch.library, "custom_op"):
    raise ImportError(f"gemmtune.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

counts: Dict[str, int] = {"gemmtune": 0, "pytorch": 0}
_tables: Optional[Tables] = None
_warned = False


def use_tables(tables: Optional[Tables]) -> None:
    """Where winners come from, for instance ``Tables("winners.gt")``; None: the default tables."""
    global _tables
    _tables = tables


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
) -> Tensor:
    """a @ b + bias of matrices or batches, by gemmtune where it can."""
    if a.is_cuda and a.numel() and b.numel():
        capturing = torch.cuda.is_current_stream_capturing()
        try:
            result = _matmul(
                _fit(a), _fit(b), out, bias=bias, accuracy=_accuracy(a, accuracy),
                tables=_tables, may_plan=not capturing,
            )
            counts["gemmtune"] += 1
            return result
        except Error as error:
            if not capturing:
                _warn_once(error)
        except TypeError:  # a type that gemmtune does not compute with
            pass
    counts["pytorch"] += 1
    if bias is None:
        return torch.matmul(a, b, out=out) if out is not None else torch.matmul(a, b)
    result = torch.matmul(a, b) + bias
    return out.copy_(result) if out is not None else result


@torch.library.custom_op("gemmtune::matmul", mutates_args=())
def _matmul_op(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    return _compute(a, b, None, accuracy)


@_matmul_op.register_fake
def _(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    return a.new_empty(a.shape[:-1] + b.shape[-1:])


@torch.library.custom_op("gemmtune::linear", mutates_args=())
def _linear_op(x: Tensor, weight: Tensor, bias: Optional[Tensor], accuracy: str = "") -> Tensor:
    return _compute(x, weight.t(), bias, accuracy)


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


def _nobody_looks(*tensors: Optional[Tensor]) -> bool:
    """Whether the product may be computed without the dispatcher, which costs 75 us: no gradient, no
    compiler, no mode and no transform of functions wants to see the operator."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
        return False
    if torch._C._are_functorch_transforms_active():
        return False
    grads = torch.is_grad_enabled()
    return all(
        t is None or (type(t) in (Tensor, torch.nn.Parameter) and not (grads and t.requires_grad))
        for t in tensors
    )


if not hasattr(torch._C, "_len_torch_dispatch_stack") or not hasattr(
    torch._C, "_are_functorch_transforms_active"
):

    def _nobody_looks(*tensors: Optional[Tensor]) -> bool:  # noqa: F811
        return False


def _autocast(*tensors: Optional[Tensor]) -> Any:
    if not torch.is_autocast_enabled("cuda"):
        return tensors
    kind = torch.get_autocast_dtype("cuda")
    return [t if t is None or t.dtype == torch.float64 else t.to(kind) for t in tensors]


def _direct(a: Tensor, b: Tensor, accuracy: str) -> Tensor:
    return _compute(a, b, None, accuracy)


def matmul(a: Tensor, b: Tensor, accuracy: str = "") -> Tensor:
    """a @ b of matrices, of batches of them, or of any leading dimensions and one matrix b.

    accuracy, for FP32: "strict", "f32" or "tf32"; "": as torch.set_float32_matmul_precision says.
    """
    a, b = _autocast(a, b)
    product = _direct if _nobody_looks(a, b) else _matmul_op
    if a.dim() == 2 and b.dim() == 2 or a.dim() == 3 and b.dim() == 3 and a.shape[0] == b.shape[0]:
        return product(a, b, accuracy)
    if b.dim() == 2 and a.dim() > 2:
        flat = product(a.reshape(-1, a.shape[-1]), b, accuracy)
        return flat.reshape(a.shape[:-1] + b.shape[-1:])
    return torch.matmul(a, b)


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, accuracy: str = "") -> Tensor:
    """x @ weight^T + bias, as torch.nn.functional.linear, in one kernel."""
    x, weight, bias = _autocast(x, weight, bias)
    flat = x.reshape(-1, x.shape[-1])
    if _nobody_looks(x, weight, bias):
        flat = _compute(flat, weight.t(), bias, accuracy)
    else:
        flat = _linear_op(flat, weight, bias, accuracy)
    return flat.reshape(x.shape[:-1] + weight.shape[:1])


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
