"""The speed of a device in two lines at the most."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ..account import Account, Efficiency, ProductRate
from .console import ReportConsole
from .units import rate_text, share_text, shortened

_MOST_PRECISIONS = 2
# From this share of the time of products on something is said of it.
_WORTH_SAYING = 0.05


def print_efficiency(console: ReportConsole, account: Account) -> None:
    """Print what products and elementwise operators of one device reached."""
    efficiency = account.efficiency
    if efficiency is None:
        return
    lines = [*_products(efficiency), *_elementwise(efficiency)]
    for line in lines:
        console.show(Text(shortened(f"  {line}", console.room(console.width)), "dim"))
    if lines:
        console.show()


def _products(efficiency: Efficiency) -> Iterator[str]:
    counted_ns = sum(each.time_ns for each in efficiency.products)
    all_ns = counted_ns + efficiency.uncounted_ns
    if not counted_ns:
        return
    utilization = efficiency.model_flops_utilization
    partly = efficiency.uncounted_ns > _WORTH_SAYING * all_ns
    known = f"sizes of {share_text(counted_ns / all_ns)} of their time known"
    large = [each for each in efficiency.products if each.time_ns >= _WORTH_SAYING * all_ns]
    if not large:
        yield f"products: {known}, too little to say how fast they are"
        return
    said = [_rate(each) for each in large[:_MOST_PRECISIONS]]
    if utilization is not None:
        said.append(f"MFU {'at least ' if partly else ''}{share_text(utilization)}")
    if efficiency.rates is None:
        said.append("the peak of this device is not known")
    if partly:
        said.append(known)
    yield "products reach " + "; ".join(said)


def _rate(each: ProductRate) -> str:
    said = f"{rate_text(each.flops_per_s, 'FLOP')} in {each.precision}"
    if not each.on_matrix_cores and "16" in each.precision:
        said += " on ordinary cores"
    if not each.peak_flops_per_s:
        return said
    return f"{said} ({share_text(each.flops_per_s / each.peak_flops_per_s)} of the peak)"


def _elementwise(efficiency: Efficiency) -> Iterator[str]:
    nbytes_per_s = efficiency.nbytes_per_s
    if nbytes_per_s is None:
        return
    said = f"elementwise operators reach {rate_text(nbytes_per_s, 'B')}"
    if efficiency.rates is not None:
        said += f" ({share_text(nbytes_per_s / efficiency.rates.nbytes_per_s)} of the peak)"
    yield said
