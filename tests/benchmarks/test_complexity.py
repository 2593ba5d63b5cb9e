"""The measurement of table 1: that what is measured is the layer, and what is fitted the exponent."""

from __future__ import annotations

import json
from typing import Any

import complexity
import pytest
import torch
from complexity import (
    LAWS,
    Cost,
    Setting,
    exponent,
    exponents,
    measure_costs,
    to_html,
    to_table,
    to_text,
)

SMALL = Setting(lengths=(8, 16, 32, 64), width=8, heads=2, neighbours=4, rounds=1)


@pytest.fixture(scope="module")
def costs() -> list[Cost]:
    return measure_costs(SMALL)


def test_every_layer_is_measured_at_every_length(costs: list[Cost]) -> None:
    assert {(c.layer, c.length) for c in costs} == {(law.name, n) for law in LAWS for n in SMALL.lengths}
    assert all(c.forward > 0 and c.train > 0 and c.step > 0 for c in costs)


def test_memory_is_what_was_held_at_once() -> None:
    x = torch.zeros(1000)

    def work() -> None:
        y = x + 1  # 4,000 bytes
        z = y + 1  # and 4,000 more
        del y
        w = z + 1  # in the place of the first
        del z, w

    assert 8000 <= complexity._peak(work) <= 8100  # and the ones, wrapped in tensors


def test_memory_of_all_against_all_grows_with_the_square(costs: list[Cost]) -> None:
    """The weights of attention, n x n for each head, are held; in a window they are not."""
    by_length = {(c.layer, c.length): c.forward_bytes for c in costs}
    whole = [by_length["self-attention", n] for n in (32, 64)]
    window = [by_length["restricted self-attention", n] for n in (32, 64)]

    assert whole[1] > 2.8 * whole[0]
    assert whole[1] >= 64 * 64 * 2 * 4
    assert window[1] < 2.2 * window[0]


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_the_exponent_of_a_power_is_found(power: float) -> None:
    lengths = [10.0, 30.0, 100.0]

    assert exponent(lengths, [7 * n**power for n in lengths]) == pytest.approx(power, abs=1e-9)


def test_operations_are_counted_as_table_1_has_them() -> None:
    """Where n is large, those of self-attention grow as n^2 and the others as n."""
    setting = Setting(width=8)
    grown = {law.name: law.operations(setting, 20_000) / law.operations(setting, 10_000) for law in LAWS}

    assert grown["self-attention"] == pytest.approx(4, rel=0.01)
    for name in ("recurrent", "convolutional", "restricted self-attention"):
        assert grown[name] == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("kind", [law.name for law in LAWS])
def test_operations_are_those_that_run(kind: str) -> None:
    """Against PyTorch's own count of the products in a forward pass."""
    from torch.utils.flop_counter import FlopCounterMode

    setting = Setting(width=16, heads=2, neighbours=32, batch=2)
    layer = complexity._Layer(kind, setting)
    (law,) = (law for law in LAWS if law.name == kind)
    n = 64  # a whole number of blocks
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer.whole(torch.randn(2, n, 16))

    assert law.operations(setting, n) == counter.get_total_flops()


def test_a_step_costs_what_it_says() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    setting = Setting(width=16, heads=2, neighbours=4, batch=3)
    for law in LAWS:
        step = complexity._Layer(law.name, setting).after(40)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            step()
        seen = 41 if law.name == "self-attention" else 40  # with the new one itself
        assert law.step(setting, seen) == counter.get_total_flops(), law.name


def test_text_page_and_json_hold_the_figures(costs: list[Cost]) -> None:
    text, page = to_text(SMALL, costs), to_html(SMALL, costs)
    table: dict[str, Any] = json.loads(json.dumps(to_table(SMALL, costs)))

    assert len(table["costs"]) == len(costs)
    fitted = exponents(costs, "recurrent", "forward_bytes")
    assert table["exponents"]["recurrent"]["forward_bytes"] == fitted
    for law in LAWS:
        assert law.name in text
        assert law.complexity in page
    assert f"{fitted:.2f}" in text
    assert page.count("<svg") == 5
