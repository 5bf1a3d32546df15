# __init__.py - what `import gemmtune` offers.
"""gemmtune: the fastest proved GEMM kernel for a shape and an NVIDIA GPU.

    >>> import gemmtune
    >>> gemmtune.lookup("4096x4096x4096:bf16:nt", "sm_90").kernel        # no GPU is needed
    >>> d = gemmtune.matmul(a, b)                     # tensors of PyTorch, arrays of CuPy, DLPack
    >>> plan = gemmtune.Tables("winners.gt").plan("4096x4096x4096:bf16:nt")
    >>> plan.run(a.data_ptr(), b.data_ptr(), d.data_ptr(), stream=stream)

``gemmtune.torch`` has operators for PyTorch, with gradients and ``torch.compile``.
"""

from __future__ import annotations

from typing import Optional, Union

from ._library import Error, library as _c
from ._matmul import default_tables, matmul
from ._tables import Answer, Plan, Tables, Tier

__all__ = ["Answer", "Error", "Plan", "Tables", "Tier", "lookup", "matmul"]
__version__ = "{}.{}.{}".format(*(_c.gt_version() >> shift & 255 for shift in (16, 8, 0)))


def lookup(
    problem: str, arch: Union[int, str], device: Optional[str] = None,
    tables: Optional[Tables] = None,
) -> Answer:
    """The best known kernel for a problem, out of `tables` or of all default ones."""
    return (tables or default_tables()).lookup(problem, arch, device)
