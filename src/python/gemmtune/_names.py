# _names.py - the arch of a GPU whose name somebody types.  tuner/console/gpu_names.c knows the same names.
from __future__ import annotations

import re
from typing import Optional, Tuple, Union

_OLD = "is older than sm_75, the first that NVRTC 13 compiles for"
_ADVICE = (
    ("ampere", "names several: type sm_80 for A100 or A30, sm_86 for A10, A40 or RTX 30, sm_87 for Orin"),
    ("blackwell", "names several: type sm_100 for B200, sm_103 for B300, sm_110 for Thor, sm_120 for RTX 50, "
                  "sm_121 for Spark"),
    ("volta|pascal|maxwell|v100|p100|p40|p4|m40|k80|titan[vx]|10[3-9]0", _OLD),
)
_FAMILIES = {"turing": 75, "ada": 89, "lovelace": 89, "hopper": 90}
# Models, and the four digits of GeForce; no further digit follows.
_MODELS = (
    (75, "t4|t[4-6]00|t550|(quadro)?t[12]000|t1200|mx[45]50|titanrtx|quadrortx([34568]000)?|16[3-9][0-9]|20[346-9]0"),
    (80, "a100|a800|a30"),
    (86, "mx570|a500|a1000|a2|a10|a16|a40|a[2-6]000|a[45]500|2050|30[3-9]0"),
    (87, "orin"),
    (89, "l2|l4|l20|l40|([2-6]000|[34]500|4000sff|5880)ada|40[3-9]0"),
    (90, "g?h200|h100|h800|h20"),
    (100, "b100|g?b200"),
    (103, "g?b300"),
    (110, "thor"),
    (120, "pro([1-6]000|500|4500)|50[3-9]0"),
    (121, "gb10|spark"),
)


def _is(pattern: str, name: str) -> bool:
    return re.match(f"(?:{pattern})(?![0-9])", name) is not None


def parse(arch: Union[int, str]) -> Tuple[int, Optional[str]]:
    """The number of an arch (86, "86", "sm_86", "sm_90a", "8.6"), and of the name of a GPU ("h100",
    "rtx4090") the name, too, where it is one device's."""
    text = str(arch)
    number = re.fullmatch(r"(?:sm_?|compute_)?([0-9]+)(?:\.([0-9]))?[af]?", text.lower(), re.ASCII)
    name = re.sub(r"(?<=[0-9])[ _-]+(?=[0-9])", "\t", text.lower())  # "h100 80gb": two words
    name = re.sub("[ _-]", "", name)
    name = re.sub("^(nvidia)?(geforce)?(tesla)?(jetson)?(agx)?(dgx)?(rtx)?(gtx)?", "", name)
    if isinstance(arch, str):
        for cc, models in _MODELS:
            if _is(models, name):
                return cc, text
        for family, cc in _FAMILIES.items():
            if _is(family, name):
                return cc, None
        for names, advice in _ADVICE:
            if _is(names, name):
                raise ValueError(f'arch "{text}" {advice}')
    if not number:
        raise ValueError(f'no arch: "{text}"; it is written sm_90 or 90, or a GPU is named, such as h100 or "RTX 4090"')
    cc = int(number[1]) if number[2] is None else 10 * int(number[1]) + int(number[2])
    if cc < 75 and cc not in (8, 9):
        raise ValueError(f'arch "{text}" {_OLD}')
    return cc, None
