"""The best rates of this machine: what no training step exceeds."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from dragoman.models.operations import product

_LEAST = 3  # calls that are timed, however long they take
_SMALL, _TRIAL = 256, 0.05  # rows of the first products, and the seconds to measure these
_PATIENCE = 3  # times the seconds that a caller wants to spend


def product_rates(
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    *,
    size: int | None = None,
    threads: int | None = None,
    seconds: float = 1.0,
) -> float:
    """The best rate of operations per second of (size x size) products in `dtype`, for about `seconds`.

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
            trial = rate_of(_product(number, dtype, device), product(number, number, number), device, _TRIAL)
            larger = min(2 * number, most)
            if (1 + _LEAST) * product(larger, larger, larger) / trial > _PATIENCE * seconds:
                break
            number = larger
        return rate_of(_product(number, dtype, device), product(number, number, number), device, seconds)
    finally:
        torch.set_num_threads(before)


def _product(size: int, dtype: torch.dtype, device: torch.device) -> Callable[[], object]:
    if dtype == torch.int8:
        a, b = (torch.randint(-127, 128, (size, size), dtype=dtype, device=device) for _ in range(2))
        return lambda: torch._int_mm(a, b)
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return lambda: a @ b


def rate_of(work: Callable[[], object], amount: float, device: torch.device, seconds: float) -> float:
    """The rate a second of the fastest call, which does this amount of work.

    It is called for `seconds`, and several times at least. Other programs can only slow a call down.
    """
    times: list[float] = []
    with torch.inference_mode():
        _timed(work, device)  # the first call chooses a kernel
        while len(times) < _LEAST or sum(times) < seconds:
            times.append(_timed(work, device))
    return amount / min(times)


def _timed(work: Callable[[], object], device: torch.device) -> float:
    began = time.perf_counter()
    work()
    if device.type == "cuda":  # calls return before the GPU has finished
        torch.cuda.synchronize(device)
    return time.perf_counter() - began
