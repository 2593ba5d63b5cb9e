"""Contenders in turns: the order, the figures, what is marked and what is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import training_speed
from measuring import turns
from training import contenders, contest, workload
from training.contenders import Conditions, Contender, Turn

from dragoman.base import machine
from dragoman.base.errors import ConfigError, TrainingError
from dragoman.models.operations import training_step
from dragoman.text import toy

SCRIPT = training_speed

ONE_SECOND = 'print(\'{"seconds": [1.0], "peak_memory": 7000000}\')'


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Conditions:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    four = workload.make(toy.pairs(count=200), title="toy", batch_tokens=200, batches=4)
    return Conditions(workload=four, preset="tiny", threads=1, steps=1, warm=1)


@pytest.fixture
def known_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "ceiling", lambda _: {"fp32": 1e9, "bf16": 4e9})


@pytest.fixture(autouse=True)
def unknown_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others do on this machine must not mark a turn as disturbed."""
    monkeypatch.setattr(turns, "_work", lambda: None)


def contender(name: str, *, stock: bool = False, precision: str = "fp32", **options) -> Contender:
    return Contender(name=name, about="about it", precision=precision, stock=stock, **options)  # type: ignore[arg-type]


def turn(tokens: float, peak_memory: int | None = None) -> Turn:
    return Turn(tokens_per_second=tokens, operations_per_second=tokens * 1e6, peak_memory=peak_memory)


def cells(text: str, name: str) -> list[str]:
    """The cells of the first line that begins with `name`."""
    return next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()


def test_the_shape_is_the_preset_s_with_the_paper_s_norm_and_dropout(conditions: Conditions) -> None:
    shape = conditions.shape

    assert (shape.d_model, shape.encoder_layers, shape.target_vocab) == (128, 4, workload.VOCAB)
    assert (shape.norm, shape.dropout) == ("post", 0.1)


def test_work_is_of_the_timed_steps_without_padding(conditions: Conditions) -> None:
    """One step after one to warm up is the second batch."""
    source, target = conditions.workload.batches[1]
    lengths = [[int((row != 0).sum()) for row in side] for side in (source, target)]

    assert conditions.work() == (sum(lengths[1]), training_step(conditions.shape, *lengths))
    assert sum(lengths[1]) < target.size


def test_turns_go_round(conditions: Conditions, monkeypatch: pytest.MonkeyPatch, known_ceiling: None) -> None:
    """Nobody is always first; a median is of a contender's own turns; who fails is left out."""
    order: list[str] = []
    rates = {"a": iter([100.0, 300.0, 200.0]), "b": iter([50.0, 50.0, 80.0])}

    def take(self: Contender, _: Conditions) -> Turn:
        order.append(self.name)
        if self.name == "broken":
            raise TrainingError("broken: no such thing")
        return turn(next(rates[self.name]), 5_000_000 * len(order))

    monkeypatch.setattr(Contender, "turn", take)
    said: list[str] = []
    named = [contender("a", precision="bf16"), contender("b", stock=True), contender("broken")]
    held = contest.hold(named, conditions, rounds=3, say=said.append)
    text = contest.to_text(held)
    table = json.loads(json.dumps(held.to_table()))

    assert order == ["a", "b", "broken", "b", "a", "a", "b"]
    assert said[2:4] == ["round 1: broken is left out: broken: no such thing", "round 2: b 50 tokens/s"]
    assert [entry["tokens_per_second"] for entry in table["contenders"]] == [200, 50, None]
    assert [entry["peak_memory"] for entry in table["contenders"]] == [30_000_000, 35_000_000, None]
    assert [one["peak_memory"] for one in table["contenders"][1]["turns"]] == [10e6, 20e6, 35e6]
    assert "left out: broken: no such thing" in text
    # Times the fastest stock peer, b; times itself; 0.2 of 4 GFLOP/s; the most of its turns.
    assert cells(text, "a") == ["a", "bf16", "200", "100-300", "4.00", "1.00", "0", "5%", "30"]
    assert cells(text, "b") == ["b", "fp32", "50", "50-80", "1.00", "0.25", "0", "5%", "35"]


def test_ratios_need_another_toolkit(
    conditions: Conditions, monkeypatch: pytest.MonkeyPatch, known_ceiling: None
) -> None:
    """Nobody is measured against ours, and unknown memory is shown as such."""
    monkeypatch.setattr(Contender, "turn", lambda *_: turn(10))
    held = contest.hold([contender("dragoman", precision="bf16")], conditions, rounds=1)

    assert cells(contest.to_text(held), "dragoman")[4:] == ["-", "-", "0", "0%", "-"]


@pytest.mark.parametrize(("native", "precision"), [(True, "bf16"), (False, "fp32")])
def test_everybody_has_the_precision_of_the_processor(
    native: bool, precision: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without native bf16 a tuned toolkit in bf16 would take a hundred times as long."""
    monkeypatch.setattr(contenders, "multiplies_bf16", lambda _: native)
    monkeypatch.setattr(contenders, "python_of", lambda _: tmp_path)
    chosen = contenders.choose_contenders(["dragoman", "dragoman-fp32", "hf", "hf-tuned"])

    assert [one.precision for one in chosen] == [precision, "fp32", "fp32", precision]
    everybody = [one.name for one in contenders.choose_contenders(None)]
    assert (
        ("dragoman-fp32" in everybody) == ("hf-tuned" in everybody) == native
    )  # else as dragoman, as hf-onednn
    assert {"dragoman", "dragoman-2", "hf", "hf-onednn"} < set(everybody)


def test_tuned_ones_are_compared_in_any_precision(
    conditions: Conditions, monkeypatch: pytest.MonkeyPatch, known_ceiling: None
) -> None:
    rates = {"dragoman": 40.0, "hf-tuned": 20.0, "hf": 10.0}
    monkeypatch.setattr(Contender, "turn", lambda self, _: turn(rates[self.name]))
    named = [contender("dragoman"), contender("hf-tuned"), contender("hf", stock=True)]

    assert cells(contest.to_text(contest.hold(named, conditions, rounds=1)), "dragoman")[4:6] == [
        "4.00",
        "2.00",
    ]


def test_the_ceiling_is_the_median_over_the_rounds(
    conditions: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = iter([{"fp32": rate} for rate in (1.0, 9.0, 2.0)])
    monkeypatch.setattr(contest, "ceiling", lambda _: next(rates))
    monkeypatch.setattr(Contender, "turn", lambda *_: turn(1))

    assert contest.hold([contender("a")], conditions, rounds=2).ceiling == {"fp32": 2.0}


def test_a_disturbed_turn_is_marked(
    conditions: Conditions, monkeypatch: pytest.MonkeyPatch, known_ceiling: None
) -> None:
    monkeypatch.setattr(Contender, "turn", lambda *_: turn(1))
    # Time, work of all cores, our own work: others do 1.5 of 10 seconds, then 0.5.
    works = iter([(0.0, 0.0, 0.0), (10.0, 21.0, 19.5), (20.0, 40.0, 30.0), (30.0, 60.0, 49.5)])
    monkeypatch.setattr(turns, "_work", lambda: next(works))

    held = contest.hold([contender("a")], conditions, rounds=2)

    assert held.results[0].busy == pytest.approx([0.15, 0.05])
    assert held.results[0].disturbed == 1
    assert "a *" in contest.to_text(held)
    assert turns.NOTE in contest.to_text(held)
    held.results[0].busy = [0.1, None]
    assert held.results[0].disturbed == 0
    assert "*" not in contest.to_text(held)


def test_all_may_fail(conditions: Conditions, monkeypatch: pytest.MonkeyPatch, known_ceiling: None) -> None:
    """Also for a reason that is not an error of ours."""

    def fail(*_: object) -> Turn:
        raise FileNotFoundError("no python")

    monkeypatch.setattr(Contender, "turn", fail)
    held = contest.hold([contender("a")], conditions, rounds=2)

    assert held.results[0].failure == "no python"
    assert "left out: no python" in contest.to_text(held)
    assert held.to_table()["contenders"][0]["tokens_per_second"] is None


@pytest.mark.thorough
@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ours_takes_a_turn(conditions: Conditions, processes: int) -> None:
    """The real thing, in a process of its own and in two."""
    ours = contender("dragoman", processes=processes)

    measured = ours.turn(replace(conditions, threads=processes, warm=0))

    assert measured.tokens_per_second > 1
    assert measured.parameters == 4 * (131_968 + 197_760) + workload.VOCAB * 128  # one embedding for all
    assert measured.version.startswith("dragoman ")
    assert measured.peak_memory is not None
    assert 1e8 < measured.peak_memory < 1e10


def test_a_driver_takes_a_turn(conditions: Conditions, tmp_path: Path) -> None:
    """Seconds become tokens per second; memory is that of all processes."""
    driver = tmp_path / "driver.py"
    driver.write_text(f"print('a log')\n{ONE_SECOND}\nprint('the end')", encoding="utf-8")
    tokens, operations = conditions.work()

    measured = contender("it", file=str(driver)).turn(conditions)

    assert measured.tokens_per_second == tokens
    assert measured.operations_per_second == operations
    assert measured.peak_memory == 7_000_000
    assert "--steps=1" in contender("it", file=str(driver)).command(conditions)


@pytest.mark.thorough
def test_what_is_measured_on_a_gpu_sees_it(conditions: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU no contender may use the GPU; on the GPU each is told to."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    ran: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append((command, env))
        return subprocess.CompletedProcess(command, 0, '{"seconds": [1.0], "fp32": 1, "bf16": 1}', "")

    monkeypatch.setattr(subprocess, "run", run)
    for one in (conditions, replace(conditions, device="cuda")):
        contender("a").turn(one)
        contest.ceiling(one)

    assert [env["CUDA_VISIBLE_DEVICES"] for _, env in ran] == ["", "", "7", "7"]
    assert [next(w for w in command if "--device" in w) for command, _ in ran] == [
        "--device=cpu", "--device=cpu", "--device=cuda", "--device=cuda"
    ]  # fmt: skip


def test_a_missing_gpu_is_an_error(script_: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    ended = script_("dragoman", "--device", "cuda")

    assert (ended.code, "finds no GPU" in ended.err) == (2, True), ended.err


def test_a_busy_machine_is_refused(script_: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "busy_cores", lambda _: 0.7)

    ended = script_("dragoman")

    assert (ended.code, "busy: other processes use 0.7 cores" in ended.err) == (2, True), ended.err
    assert "vast" in script_("dragoman", "--preset", "vast").err  # before any look at the machine


def test_training_on_a_recipe_of_several_texts(script_: Callable[..., Any], tmp_path: Path) -> None:
    """All of its text is read: here it is too little, and the message says how much there was."""
    (tmp_path / "a.tsv").write_text("A dog.\tEin Hund.\n" * 3, encoding="utf-8")
    (tmp_path / "b.en-de.tsv").write_text("A cat sleeps.\tEine Katze schläft.\n" * 4, encoding="utf-8")
    recipe = tmp_path / "r.toml"
    head = 'title = "mixed"\npreset = "tiny"\n'
    texts = [
        f'[[data.corpora]]\nname = "{name}"\ntrain = ["{file}"]\n'
        for name, file in (("a", "a.tsv"), ("b", "b.en-de.tsv"))
    ]
    recipe.write_text(head + "".join(texts), encoding="utf-8")
    words = "dragoman", "--busy", "--recipe", recipe, "--data", tmp_path

    refused = script_(*words)

    assert (refused.code, "mixed: 7 pairs fill" in refused.err) == (3, True), refused.err
    recipe.write_text(head, encoding="utf-8")
    assert "no training text" in script_(*words).err


def test_a_failure_says_what_went_wrong(conditions: Conditions) -> None:
    with pytest.raises(TrainingError, match="it: .*no-such-file"):
        contender("it", file="no-such-file.py").turn(conditions)


def test_who_takes_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(contenders, "multiplies_bf16", lambda _: True)

    def choose_contenders(*names: str, device: contenders.Device = "cpu") -> list[str]:
        return [one.name for one in contenders.choose_contenders(names or None, device)]

    ours = ["dragoman", "dragoman-2", "dragoman-fp32", "dragoman-fp32-2"]
    assert choose_contenders() == ours  # no peer is installed
    with pytest.raises(ConfigError, match="unknown contender hff"):
        choose_contenders("hff")
    with pytest.raises(ConfigError, match="hf is not installed") as caught:
        choose_contenders("hf")
    assert "python benchmarks/peers/install.py huggingface" in str(caught.value.hint)
    contenders.python_of("huggingface").parent.mkdir(parents=True)
    contenders.python_of("huggingface").touch()
    assert choose_contenders("hf", "dragoman") == ["hf", "dragoman"]
    assert "hf-tuned" in choose_contenders()
    assert choose_contenders("hf", "dragoman", device="cuda") == ["hf", "dragoman"]
    with pytest.raises(ConfigError, match="joeynmt can be measured on a CPU only"):
        choose_contenders("joeynmt", device="cuda")
    assert "joeynmt" not in choose_contenders(device="cuda")


@pytest.mark.slow
def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["dragoman", "--preset", "tiny", "--steps", "1", "--warm", "0", "--rounds", "1",
             "--batch-tokens", "300", "--threads", "1", "--busy", "--json"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, training_speed.__file__, *words],
        capture_output=True, text=True, check=False, timeout=300, env=dict(os.environ),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert table["contenders"][0]["tokens_per_second"] > 0
    assert table["contenders"][0]["peak_memory"] > 1e8
    assert table["processor"] == machine.processor()
    assert table["ceiling"]["fp32"] > 1e8
    assert "round 1: dragoman" in done.stderr
