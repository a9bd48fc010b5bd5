"""Peak rates of the devices that traces name, and which data sheet each figure is from.

Rates are those of the boost clock, dense, a multiplication and an addition counting as two, and of
half precision with sums in float32, as PyTorch's products have them. `tidy.runtime` has the same
figures of the devices that it models; a test holds both together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

# Teraflops; a dash where a device has no such path. The names are expressions, of which the first
# that is found in a device's name counts. A matrix path is that of Tensor Cores, of Matrix Cores on
# AMD; bandwidth is in GB/s.
_ORDINARY = "float64 float32 float16 bfloat16"
_MATRIX = "float64 float32 tf32 float16 bfloat16 float8"
_TABLE = r"""
Generic.CUDA      10 20 40 40           | - - 80 160 160 -                 | 1000 | tidy's model
GB200|B200        40 80 160 160         | 40 - 1100 2250 2250 4500         | 8000 | Blackwell brief
\bH200            33.5 66.9 133.8 133.8 | 66.9 - 494.7 989.4 989.4 1978.9  | 4800 | H200 sheet
GH200             33.5 66.9 133.8 133.8 | 66.9 - 494.7 989.4 989.4 1978.9  | 4000 | GH200 sheet
H100.NVL          30 60 120 120         | 60 - 417.5 835.5 835.5 1670.5    | 3900 | H100 sheet
H100.PCIe         26 51 102 102         | 51 - 378 756 756 1513            | 2000 | H100 sheet
H100              33.5 66.9 133.8 133.8 | 66.9 - 494.7 989.4 989.4 1978.9  | 3350 | H100 paper
A100.80GB.PCIe    9.7 19.5 78 39        | 19.5 - 156 312 312 -             | 1935 | A100 sheet
A100.*80GB        9.7 19.5 78 39        | 19.5 - 156 312 312 -             | 2039 | A100 paper
A100              9.7 19.5 78 39        | 19.5 - 156 312 312 -             | 1555 | A100 paper
A30\b             5.2 10.3 41.2 20.6    | 10.3 - 82 165 165 -              | 933  | A30 sheet
A10G              0.492 31.5 31.5 31.5  | - - 35 70 70 -                   | 600  | A10G sheet
A10\b             0.488 31.2 31.2 31.2  | - - 62.5 125 125 -               | 600  | A10 sheet
A40\b             0.585 37.4 37.4 37.4  | - - 74.8 149.7 149.7 -           | 696  | A40 sheet
RTX.A6000         0.605 38.7 38.7 38.7  | - - 77.4 154.8 154.8 -           | 768  | A6000 sheet
L40S              1.431 91.6 91.6 91.6  | - - 183 362 362 733              | 864  | L40S sheet
L40\b             1.414 90.5 90.5 90.5  | - - 90.5 181 181 362             | 864  | L40 sheet
L4\b              0.4733 30.3 30.3 30.3 | - - 60 121 121 242.5             | 300  | L4 sheet
RTX.4090          1.29 82.6 82.6 82.6   | - - 82.6 165.2 165.2 330.3       | 1008 | Ada paper
RTX.3090(?!.Ti)   0.556 35.6 35.6 35.6  | - - 35.6 71 71 -                 | 936  | GA102 paper
RTX.2080.Ti       0.42 13.4 26.9 13.4   | - - - 53.8 - -                   | 616  | Turing paper
T4\b              0.2544 8.1 16.2 8.1   | - - - 65 - -                     | 320  | T4 sheet
V100.*PCIE        7 14 28 14            | - - - 112 - -                    | 900  | V100 sheet
V100              7.8 15.7 31.4 15.7    | - - - 125 - -                    | 900  | V100 sheet
\bP100.*PCIE      4.7 9.3 18.7 9.3      | - - - - - -                      | 732  | P100 sheet
\bP100            5.3 10.6 21.2 10.6    | - - - - - -                      | 732  | P100 sheet
GP100             5.2 10.3 20.7 10.3    | - - - - - -                      | 717  | GP100 sheet
MI300X  81.7 163.4 163.4 163.4 | 163.4 163.4 653.7 1307.4 1307.4 2614.9 | 5300 | MI300X sheet
MI250X  23.95 23.95 23.95 23.95 | 47.85 47.85 - 191.5 191.5 - | 1600 | MI250X sheet, half
"""
# Parts of a name that say that a device is slower than the one that it is named after.
_SLOWER = re.compile(r"Laptop|Max-Q|Mobile| MIG ")


@dataclass(frozen=True, slots=True)
class DeviceRates:
    """What a model of device can do at the most.

    Attributes:
        ordinary: operations a second of its ordinary cores, by dtype.
        matrix: the same of Tensor Cores (Matrix Cores on AMD); a dtype that they have no path for
            is not in it.
        nbytes_per_s: bandwidth of its memory.
        source: the vendor's document that has the figures.
    """

    ordinary: Mapping[str, float]
    matrix: Mapping[str, float]
    nbytes_per_s: float
    source: str

    def peak(self, precision: str, on_matrix_cores: bool) -> float | None:
        """Operations a second at the most in a precision; None where there is no such path."""
        return (self.matrix if on_matrix_cores else self.ordinary).get(precision)


@lru_cache(maxsize=64)
def rates_of(device_name: str) -> DeviceRates | None:
    """Return the rates of a device by the name that the profiler wrote; None for one not in the
    table.
    """
    if _SLOWER.search(device_name):
        return None
    return next((rates for name, rates in _RATES if name.search(device_name)), None)


def _by_dtype(dtypes: str, figures: str) -> dict[str, float]:
    pairs = zip(dtypes.split(), figures.split(), strict=True)
    return {dtype: float(figure) * 1e12 for dtype, figure in pairs if figure != "-"}


def _parsed(line: str) -> tuple[re.Pattern[str], DeviceRates]:
    name, rest = line.split(None, 1)
    ordinary, matrix, bandwidth, source = (part.strip() for part in rest.rsplit("|", 3))
    by_dtype = _by_dtype(_ORDINARY, ordinary), _by_dtype(_MATRIX, matrix)
    return re.compile(name), DeviceRates(*by_dtype, float(bandwidth) * 1e9, source)


_RATES = [_parsed(line) for line in _TABLE.strip().splitlines()]
