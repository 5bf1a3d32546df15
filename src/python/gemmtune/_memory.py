# _memory.py - the bytes that an operand takes, and whether two operands have one in common: slices of one
# buffer may lie between each other without meeting.
"""Which operands overlap."""

from __future__ import annotations

from functools import lru_cache
from typing import Iterable, NamedTuple, Sequence, Tuple

from ._library import Unfit


class Block(NamedTuple):
    """`width` bytes side by side, and that again along each of `steps`: (stride, count), outermost first."""

    width: int
    steps: Tuple[Tuple[int, int], ...]
    extent: int  # from the first byte to the one behind the last


def _block(width: int, steps: Tuple[Tuple[int, int], ...]) -> Block:
    return Block(width, steps, width + sum(stride * (count - 1) for stride, count in steps))


@lru_cache(4096)
def block(shape: Sequence[int], strides: Sequence[int], size: int) -> Block:
    """Of an array of elements of `size` bytes; its strides count elements and are not negative."""
    if 0 in shape:
        return _block(0, ())
    steps = sorted(((s * size, n) for n, s in zip(shape, strides) if n > 1 and s), reverse=True)
    width = size
    while steps and steps[-1][0] <= width:
        stride, count = steps.pop()
        width += stride * (count - 1)
    return _block(width, tuple(steps))


def _meet(x: Block, y: Block, apart: int) -> bool:
    """Whether x and y, which begins `apart` bytes behind it, have a byte in common."""
    if apart >= x.extent or -apart >= y.extent or not x.width or not y.width:
        return False
    if not x.steps and not y.steps:
        return True
    if not y.steps or x.steps and x.steps[0][0] > y.steps[0][0]:
        return _meet(y, x, -apart)
    stride, count = y.steps[0]
    inner, first = _block(y.width, y.steps[1:]), 0
    if x.steps and x.steps[0][0] == stride:  # rows of one buffer: their distance alone decides
        first = 1 - x.steps[0][1]
        x = _block(x.width, x.steps[1:])
    first = max(first, (-apart - inner.extent) // stride + 1)
    last = min(count - 1, (x.extent - apart - 1) // stride)
    return any(_meet(x, inner, apart + i * stride) for i in range(first, last + 1))


meet = lru_cache(4096)(_meet)


def keep_apart(written: str, at: int, own: Block, others: Iterable[Tuple[str, int, Block]]) -> None:
    """Refuses memory that is written where another operand lies: kernels read and write in any order."""
    for name, address, other in others:
        if address and meet(own, other, address - at):
            raise Unfit(
                f"{written} overlaps {name}: a kernel writes {written} while it still reads {name}, so they "
                f"must not share memory" + ("; c may only be out itself" if name == "c" else "")
            )
