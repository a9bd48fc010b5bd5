"""The first pattern that each of many names fits: what `re.search` says of one after the other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.account.first_fitting import FirstFitting

_PATTERNS = (
    r"^triton_(red|per)_|^tem_fused(_\d+|)$|^(void )?(nccl\w*kernel|rccl)",
    r"(?<!sub)tensorop|[hs]\d*(884|1688)\w*(gemm|conv)|(884|1688)[dw]grad",
    r"^(?!.*tf32).*gemm_f32|conv(?!ert)\w*(2d|3d)|soft_?max|(ge|re)lu|cub::device(scan|reduce)",
    r"gemm|compute_(grad_)?(bias|weight)|adaptive_.*pool|(adam\w*|sgd)(math)?(functor|kernel)",
)
_PIECES = st.sampled_from(
    "triton_ red_ _per tem_fused _12 void  nccl rccl kernel sub tensorop h s 16 884 1688 gemm "
    "conv ert dgrad wgrad tf32 gemm_f32 2d 3d soft max _ ge relu cub:: device scan reduce "
    "compute_ grad_ bias adaptive_ pool adam w sgd math functor é \0 \n".split(" ")
)
_NAMES = st.lists(st.lists(_PIECES, max_size=6).map("".join), max_size=5)


@given(_NAMES)
def test_it_is_the_first_that_is_found(names: list[str]) -> None:
    first = [
        next((at for at, each in enumerate(_PATTERNS) if re.search(each, name)), len(_PATTERNS))
        for name in names
    ]
    assert FirstFitting(_PATTERNS).find(names) == first


@pytest.mark.parametrize("pattern", [r"gemm|\w+_x", "ab", r"gemm|ab?c"])
def test_an_alternative_without_a_text_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="no text"):
        FirstFitting([pattern])
