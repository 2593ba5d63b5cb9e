"""Contenders in turns, and what is said of them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, TrainingError
from dragoman.bench import contenders, report, training, workload
from dragoman.bench.contenders import Conditions, Contender, Rate
from dragoman.cli.bench import train
from dragoman.text import toy


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Conditions:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = workload.make(toy.pairs(count=200), title="toy", batch_tokens=200, batches=4)
    return Conditions(workload=made, preset="tiny", threads=1, steps=1, warm=1)


def contender(name: str, *, stock: bool = False, precision: str = "fp32") -> Contender:
    return Contender(name=name, about="about it", precision=precision, file="ours.py", stock=stock)


def rate(tokens: float) -> Rate:
    return Rate(tokens_per_second=tokens, operations_per_second=tokens * 1e6)


def test_the_shape_is_the_preset_s_with_the_paper_s_norm_and_dropout(conditions: Conditions) -> None:
    shape = conditions.shape

    assert (shape.d_model, shape.encoder_layers, shape.target_vocab) == (128, 4, workload.VOCAB)
    assert (shape.norm, shape.dropout) == ("post", 0.1)


def test_turns_go_round(conditions: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is always first; a median is of a contender's own turns; who fails is left out, and said."""
    order: list[str] = []
    rates = {"a": iter([100.0, 300.0, 200.0]), "b": iter([50.0, 50.0, 80.0])}

    def turn(self: Contender, _: Conditions) -> Rate:
        order.append(self.name)
        if self.name == "broken":
            raise TrainingError("broken: no such thing")
        return rate(next(rates[self.name]))

    monkeypatch.setattr(Contender, "turn", turn)
    monkeypatch.setattr(training, "_ceiling", lambda _: {"fp32": 1e9, "bf16": 4e9})
    named = [contender("a", precision="bf16"), contender("b", stock=True), contender("broken")]
    comparison = training.compare(named, conditions, rounds=3)
    text = report.to_text(comparison)
    table = json.loads(json.dumps(comparison.to_table()))

    assert order == ["a", "b", "broken", "b", "a", "a", "b"]
    assert [entry["tokens_per_second"] for entry in table["contenders"]] == [200, 50, None]
    assert "left out: broken: no such thing" in text
    (line,) = (line for line in text.splitlines() if line.startswith("a "))
    assert "4.00" in line  # times the best stock peer, b
    assert "100-300" in line
    assert "5%" in line  # 0.2 of 4 GFLOP/s


def test_a_disturbed_turn_is_marked(conditions: Conditions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Contender, "turn", lambda *_: rate(1))
    monkeypatch.setattr(training, "_ceiling", lambda _: {"fp32": 1e9, "bf16": 1e9})
    works = iter([(0.0, 0.0, 0.0), (10.0, 21.0, 19.5), (20.0, 40.0, 30.0), (30.0, 60.0, 49.5)])
    monkeypatch.setattr(training, "_others", lambda: next(works))

    comparison = training.compare([contender("a")], conditions, rounds=2)

    assert comparison.results[0].busy == pytest.approx([0.15, 0.05])
    assert comparison.results[0].disturbed == 1
    assert "a *" in report.to_text(comparison)


@pytest.mark.parametrize("processes", [1, 2])
def test_ours_takes_a_turn(conditions: Conditions, processes: int) -> None:
    """The real thing, in a process of its own and in two."""
    ours = Contender(name="dragoman", about="", precision="fp32", file="ours.py", processes=processes)
    few = Conditions(workload=conditions.workload, preset="tiny", threads=processes, steps=1, warm=0)

    turn = ours.turn(few)

    assert turn.tokens_per_second > 1
    assert turn.parameters == 4 * (131_968 + 197_760) + workload.VOCAB * 128  # one embedding for all
    assert turn.version.startswith("dragoman ")


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
        training._ceiling(one)

    assert [env["CUDA_VISIBLE_DEVICES"] for _, env in ran] == ["", "", "7", "7"]
    assert [next(w for w in command if "--device" in w) for command, _ in ran] == [
        "--device=cpu", "--device=cpu", "--device=cuda", "--device=cuda"
    ]  # fmt: skip


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="finds no GPU"):
        train(contenders=["dragoman"], device="cuda")


def test_what_goes_wrong_in_a_turn_is_said(conditions: Conditions) -> None:
    missing = Contender(name="it", about="", precision="fp32", file="no-such-file.py")

    with pytest.raises(TrainingError, match="it: .*no-such-file"):
        missing.turn(conditions)


def test_who_takes_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert {one.environment for one in contenders.choose(None)} == {""}  # no peer is installed
    with pytest.raises(ConfigError, match="no contender is called hff"):
        contenders.choose(["hff"])
    with pytest.raises(ConfigError, match="hf is not installed") as caught:
        contenders.choose(["hf"])
    assert "dragoman bench peers huggingface" in str(caught.value.hint)
    contenders.python_of("huggingface").parent.mkdir(parents=True)
    contenders.python_of("huggingface").touch()
    assert [one.name for one in contenders.choose(["hf", "dragoman"])] == ["hf", "dragoman"]
    assert "hf-tuned" in {one.name for one in contenders.choose(None)}
    assert [one.name for one in contenders.choose(["hf", "dragoman"], "cuda")] == ["hf", "dragoman"]
    with pytest.raises(ConfigError, match="joeynmt is measured on a CPU only"):
        contenders.choose(["joeynmt"], "cuda")
    assert "joeynmt" not in {one.name for one in contenders.choose(None, "cuda")}


def test_every_environment_is_pinned() -> None:
    """Whatever a contender runs in can be installed, and torch is the one that is measured everywhere."""
    assert {one.environment for one in contenders.CONTENDERS} - {""} == set(contenders.requirements())
    for path in contenders.requirements().values():
        lines = path.read_text(encoding="utf-8").split()
        assert all("==" in line for line in lines), path
        assert "torch==2.13.0" in lines or path.stem == "marian"  # which is a program of its own
    for one in contenders.CONTENDERS:
        assert (contenders.PEERS / one.file).exists()


def test_peers_import_nothing_of_ours() -> None:
    for path in contenders.PEERS.glob("*.py"):
        if path.name not in ("ours.py", "__init__.py"):
            assert "dragoman" not in path.read_text(encoding="utf-8").partition('"""\n')[2], path


def test_an_environment_that_cannot_be_made_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(command: list[str], **_: object) -> None:
        if "pip" in command:
            raise subprocess.CalledProcessError(1, command)
        contenders.python_of("huggingface").parent.mkdir(parents=True)
        contenders.python_of("huggingface").touch()

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ConfigError, match="huggingface cannot be installed"):
        contenders.install("huggingface")
    with pytest.raises(ConfigError, match="no peers' environment is called hugo"):
        contenders.install("hugo")
    assert not contenders.python_of("huggingface").exists()


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ["bench", "train", "dragoman", "--preset", "tiny", "--steps", "1", "--warm", "0", "--rounds", "1",
             "--batch-tokens", "300", "--threads", "1", "--busy", "--json"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", *words], capture_output=True, text=True, check=False, timeout=300
    )

    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    assert table["contenders"][0]["tokens_per_second"] > 0
    assert table["ceiling"]["fp32"] > 1e8
    assert "round 1: dragoman" in done.stderr
