"""Where an update's time goes: parts, their work, their floors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import update_profile
from update_profile import UPDATES, WARM, Machine, Profile, measure, part_of, summarise, to_text, work_of

from dragoman.text import toy
from dragoman.training import rates
from dragoman.training.runs.folder import RunFolder

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


def test_a_profile_of_known_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two products of a known size an update: their operations, their floor, and a whole."""
    machine = Machine(operations_per_second=1e9, bytes_per_second=1e9)
    monkeypatch.setattr(update_profile, "measure", lambda *_: machine)
    a, b = torch.randn(256, 300), torch.randn(300, 200)
    profile = Profile("fp32", CPU)

    for update in range(WARM + UPDATES + 3):
        assert bool(profile.parts) == (update >= WARM + UPDATES)
        with profile.around():
            (a @ b).relu()
            a @ b

    parts = {part.name: part for part in profile.parts}
    assert parts["products"].operations == pytest.approx(2 * 2 * 256 * 300 * 200)
    assert parts["products"].calls == pytest.approx(2)
    assert parts["products"].floor == pytest.approx(2 * 2 * 256 * 300 * 200 / 1e9)
    assert parts["elementwise"].bytes >= 4 * 2 * 256 * 200
    assert sum(part.seconds for part in profile.parts) == pytest.approx(profile.seconds)
    text = to_text(profile.parts, profile.seconds, machine)
    assert "products" in text
    assert "all floors together" in text


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


def test_a_copy_reads_and_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_timed", lambda *_: 0.5)

    assert update_profile.copy_rates() == 2 * 2**26 / 0.5


@pytest.mark.slow
def test_the_script_profiles_a_run_and_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that ended before is an error, and so are wrong options."""
    text = tmp_path / "text.en-de.tsv"
    text.write_text("".join(f"{a}\t{b}\n" for a, b in toy.pairs(count=200)), encoding="utf-8")

    def profile(*words: str) -> None:
        flags = ["-o", str(tmp_path / "run"), "--preset", "tiny", "--data", str(tmp_path)]
        options = [f'data.train=["{text.name}"]', "model.d_model=32", "training.batch_tokens=300", *words]
        monkeypatch.setattr(sys, "argv", ["update_profile.py", *flags, *options])
        update_profile.main()

    with pytest.raises(SystemExit, match="error: .*max_update"):
        profile("training.max_update=100")
    profile("training.max_updates=100")
    assert capsys.readouterr().out.startswith("one update: ")
    assert RunFolder(tmp_path / "run").checkpoints.resumable
    with pytest.raises(SystemExit, match="error: the run ended before 15 updates"):
        profile("training.max_updates=16")
