"""The machine's rates, from times that are known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from dragoman.training import rates


def take(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> list[int]:
    """Let the calls take these times, the last again and again; return the threads that each saw."""
    threads: list[int] = []
    times = iter(seconds)

    def timed(work: Callable[[], object], device: torch.device) -> float:
        threads.append(torch.get_num_threads())
        return next(times, seconds[-1])

    monkeypatch.setattr(rates, "_timed", timed)
    return threads


def test_a_product_is_two_operations_for_each_pair_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 100 x 100; the first call is not timed."""
    take(monkeypatch, 9.0, 0.004, 0.001, 0.002)

    assert rates.product_rates(torch.float32, size=100, seconds=0.005) == pytest.approx(2e9)


def test_a_slow_call_is_repeated_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = take(monkeypatch, 5.0)

    assert rates.product_rates(torch.float32, size=10, seconds=0.1) == 2 * 10**3 / 5.0
    assert len(calls) == 1 + 3


@pytest.mark.parametrize(("rate", "size"), [(1e12, 2048), (1e10, 1024), (1e9, 512), (1e7, 256)])
def test_products_are_smaller_if_the_type_is_slow(
    rate: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest whose first call and three more take at most three times the seconds; 256 at least."""
    sizes: list[int] = []

    def timed(work: Callable[[], object], device: torch.device) -> float:
        sizes.append(len(work()))  # type: ignore[arg-type]
        return 2 * sizes[-1] ** 3 / rate

    monkeypatch.setattr(rates, "_timed", timed)
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: a)

    assert rates.product_rates(torch.float32, seconds=1.0) == pytest.approx(rate)
    assert (max(sizes), sizes[-1]) == (size, size)


def test_threads_are_set_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    seen = take(monkeypatch, 1.0)

    rates.product_rates(torch.float32, size=10, threads=before + 1)

    assert set(seen) == {before + 1}
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_measures(dtype: torch.dtype) -> None:
    assert 1e7 < rates.product_rates(dtype, size=128, seconds=0.01) < 1e14
