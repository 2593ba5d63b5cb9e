"""The best rates of this machine: matrix products and copies, measured.

It is in this package because `profile.py` needs the rates and may not import `bench/`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from dragoman.models.operations import product

_LEAST = 3  # calls that are timed, however long they take
_SMALL, _TRIAL = 256, 0.05  # rows of the first products, and the seconds to measure these
_PATIENCE = 3  # times the seconds that a caller wants to spend
_COPIED = 2**24  # numbers of 4 bytes: 64 MiB, more than a cache holds


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Rates of repeated calls, each a second.

    `best` is the limit of the machine, because other programs can only slow a call down. `median` is the
    rate of a typical call during the measurement.
    """

    best: float
    median: float


def product_rates(
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    *,
    size: int | None = None,
    threads: int | None = None,
    seconds: float = 1.0,
) -> Rates:
    """Operations per second of (size x size) products in `dtype`, for about `seconds`.

    `size` defaults to 2,048 on a CPU and 8,192 elsewhere, large enough to keep the device busy. Products are
    smaller if those would take several times as long as `seconds`, as in bf16 on many processors. `threads`
    defaults to the number that torch uses in this process. Raises RuntimeError if torch cannot multiply this
    type.
    """
    device = torch.device(device)
    most = size or (2048 if device.type == "cpu" else 8192)
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        number = min(most, _SMALL)
        while number < most:
            trial = _rates(_product(number, dtype, device), product(number, number, number), device, _TRIAL)
            larger = min(2 * number, most)
            if (1 + _LEAST) * product(larger, larger, larger) / trial.best > _PATIENCE * seconds:
                break
            number = larger
        return _rates(_product(number, dtype, device), product(number, number, number), device, seconds)
    finally:
        torch.set_num_threads(before)


def _product(size: int, dtype: torch.dtype, device: torch.device) -> Callable[[], object]:
    if dtype == torch.int8:
        a, b = (torch.randint(-127, 128, (size, size), dtype=dtype, device=device) for _ in range(2))
        return lambda: torch._int_mm(a, b)
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return lambda: a @ b


def copy_rates(device: torch.device | str = "cpu") -> Rates:
    """Bytes per second of copying a large tensor: each of its bytes is read and written."""
    device = torch.device(device)
    x, y = (torch.empty(_COPIED, device=device) for _ in range(2))
    return _rates(lambda: y.copy_(x), 2.0 * x.nbytes, device, 0.2)


def _rates(work: Callable[[], object], amount: float, device: torch.device, seconds: float) -> Rates:
    times: list[float] = []
    with torch.inference_mode():
        _timed(work, device)  # the first call chooses a kernel
        while len(times) < _LEAST or sum(times) < seconds:
            times.append(_timed(work, device))
    return Rates(best=amount / min(times), median=amount / statistics.median(times))


def _timed(work: Callable[[], object], device: torch.device) -> float:
    began = time.perf_counter()
    work()
    if device.type == "cuda":  # calls return before the GPU has finished
        torch.cuda.synchronize(device)
    return time.perf_counter() - began
