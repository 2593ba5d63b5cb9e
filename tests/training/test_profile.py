"""Where an update's time goes: parts, their work, their floors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from dragoman.training.profile import UPDATES, WARM, Machine, Profile, measure, part_of, summarise, work_of

CPU = torch.device("cpu")


def test_the_work_of_a_product_is_counted_from_its_shapes() -> None:
    assert work_of("aten::mm", [[2, 3], [3, 5]]) == (60, 6 + 15 + 10)
    assert work_of("aten::addmm", [[5], [2, 3], [3, 5], [], []]) == (60, 6 + 15 + 10)
    assert work_of("aten::bmm", [[7, 2, 3], [7, 3, 5]]) == (420, 7 * (6 + 15 + 10))
    assert work_of("aten::mul", [[4, 4], [4, 4]]) == (0, 48)
    assert work_of("aten::transpose", [[4, 4], [], []]) == (0, 0)
    assert work_of("_Dropout", [[4, 4], [4, 4], []]) == (0, 48)
    assert work_of("MmBackward0", [[4, 4]]) == (0, 0)
    assert work_of("_Attention", [[1, 2, 3, 4], [1, 2, 5, 4], [1, 2, 5, 4]]) == (480, 2 * (24 + 40))


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        ("aten::mm", "products"),
        ("aten::native_layer_norm_backward", "layer norm"),
        ("_Dropout", "dropout"),
        ("_AttentionBackward", "attention"),
        ("aten::_fused_adamw_", "optimizer"),
        ("aten::mul", "elementwise"),
        ("aten::copy_", "copies"),
        ("LinearCrossEntropy", "softmax and loss"),
        ("MmBackward0", "autograd"),
        ("aten::threshold_backward", "ReLU"),
    ],
)
def test_every_operation_has_a_part(operation: str, part: str) -> None:
    assert part_of(operation) == part


def test_a_profile_of_known_work(tmp_path: Path) -> None:
    """Two products of a known size an update: their operations, a floor below the time, and a whole."""
    a, b = torch.randn(256, 300), torch.randn(300, 200)
    said: list[str] = []
    profile = Profile(tmp_path / "profile.txt", "fp32", CPU, said.append)

    for update in range(WARM + UPDATES + 3):
        assert (tmp_path / "profile.txt").exists() == (update >= WARM + UPDATES)
        with profile.around():
            (a @ b).relu()
            a @ b

    table = json.loads((tmp_path / "profile.json").read_text(encoding="utf-8"))
    parts = {part["name"]: part for part in table["parts"]}
    assert parts["products"]["operations"] == pytest.approx(2 * 2 * 256 * 300 * 200)
    assert parts["products"]["calls"] == pytest.approx(2)
    assert 0 < parts["products"]["floor"] < 3 * parts["products"]["seconds"]
    assert parts["elementwise"]["bytes"] >= 4 * 2 * 256 * 200
    assert sum(part["seconds"] for part in parts.values()) == pytest.approx(table["seconds"])
    text = (tmp_path / "profile.txt").read_text(encoding="utf-8")
    profile.end()
    assert len(said) == 1
    assert "products" in text
    assert "all floors together" in text
    assert len(said) == 1


def test_a_floor_is_the_greater_of_the_two() -> None:
    class Event:
        key, self_cpu_time_total = "aten::mm", 3e6

        def __init__(self, *shapes: list[int]) -> None:
            self.input_shapes = shapes

    machine = Machine(operations_per_second=60.0, bytes_per_second=31 * 4 / 2.0)
    (part, rest) = summarise([Event([2, 3], [3, 5])], 1, 4.0, 4, machine)

    assert (part.floor, part.bound) == (2.0, "bytes")
    assert (rest.name, rest.seconds) == ("Python and the rest", 1.0)
    slower = Machine(operations_per_second=20.0, bytes_per_second=31 * 4 / 2.0)
    (part, _) = summarise([Event([2, 3], [3, 5])], 1, 4.0, 4, slower)
    assert (part.floor, part.bound) == (3.0, "operations")


def test_the_machine_is_measured() -> None:
    machine = measure(torch.float32, CPU)

    assert machine.operations_per_second > 1e9
    assert machine.bytes_per_second > 1e8


@pytest.mark.parametrize("updates", [0, WARM + 2])
def test_too_few_updates_for_a_profile_are_reported(tmp_path: Path, updates: int) -> None:
    said: list[str] = []
    profile = Profile(tmp_path / "profile.txt", "fp32", CPU, said.append)
    for _ in range(updates):
        with profile.around():
            torch.zeros(2).relu()
    profile.end()

    assert said == [
        f"profile.txt is not written: it needs 15 updates of one command, and this one made {updates}"
    ]
    assert not (tmp_path / "profile.txt").exists()
