"""The measured processes: what they answer, and the real thing on a small model."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import translation_speed
from decoding import material
from decoding.contenders import CONTENDERS, DecodingConditions, choose_translators
from tests.interop.memorised import SOURCES, random_bundle, tokenizer

from dragoman.base.errors import TrainingError
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import MinimumLength


@pytest.fixture(scope="module")
def conditions(tmp_path_factory: pytest.TempPathFactory) -> DecodingConditions:
    """A small random model, in float32, whose translations have 16 tokens."""
    folder = tmp_path_factory.mktemp("material")
    bundle = random_bundle(tokenizer())
    made = material.make_material(folder, bundle, SOURCES, {"dragoman"}, title="toy", forced=True)
    return DecodingConditions(material=made, threads=1)


@pytest.mark.thorough
@pytest.mark.parametrize("beam", [1, 4])
def test_ours_translates_what_the_search_does(
    conditions: DecodingConditions, beam: int, tmp_path: Path
) -> None:
    (ours,) = choose_translators(["dragoman-pytorch"])
    job = ours.job(conditions, "throughput", beam, ours.stages("throughput", 1)[0][0])
    turn = ours.run(replace(job, answers=str(tmp_path / "answers"), passes=1), 1)
    bundle = random_bundle(tokenizer())
    how = Beam(size=beam, length_penalty=1.0, normalization="power", stop="full")
    requests = [
        Request(source=source, how=how, max_tokens=16, rules=(MinimumLength(16),))
        for source in bundle.tokenizer.encode_source(SOURCES)
    ]
    expected = dict(PyTorchEngine(bundle.model).search(requests))

    answers = json.loads((tmp_path / "answers").read_text())
    assert answers == [list(expected[i][0].tokens) for i in range(len(SOURCES))]
    assert {len(answer) for answer in answers} == {16}
    assert turn.value > 1
    assert turn.peak_memory is not None
    assert turn.peak_memory > 1e8  # torch
    assert turn.work is not None
    assert turn.version.startswith("dragoman ")


@pytest.mark.thorough
def test_one_by_one(conditions: DecodingConditions) -> None:
    (ours,) = choose_translators(["dragoman-pytorch"])
    turn = ours.run(ours.job(conditions, "latency", 1, {"engine": "pytorch", "threads": 1}), 1)

    assert turn.p95 is not None
    assert 0 < turn.value <= turn.p95 < 60


def test_a_process_that_fails_says_why(conditions: DecodingConditions) -> None:
    (ours,) = choose_translators(["dragoman-pytorch"])
    job = replace(ours.job(conditions, "latency", 1, {"engine": "pytorch", "threads": 1}), model="nowhere")

    with pytest.raises(TrainingError, match=r"dragoman-pytorch: .*nowhere"):
        ours.run(job, 1)


def start(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(material.__file__).with_name("start.py")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_time_and_memory_of_a_command(tmp_path: Path) -> None:
    """Of the command, not of what starts it."""
    lines = tmp_path / "lines"
    lines.write_text("a\nb\n", encoding="utf-8")
    code = "import sys, time; x = b'1' * 200_000_000; time.sleep(0.2); sys.stdout.write(sys.stdin.read())"
    facts = json.loads(start(str(lines), sys.executable, "-c", code).stdout)
    small = json.loads(start("--first-line", str(lines), "cat").stdout)

    assert 0.2 < facts["seconds"] < 60
    assert 0 < facts["work"] < facts["seconds"]  # it sleeps most of the time
    assert 2e8 < facts["peak_memory"] < 4e8
    assert small["peak_memory"] < 5e7


def test_a_command_that_does_not_translate(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a\nb\n", encoding="utf-8")
    fewer = start(str(lines), "head", "-n1")
    failed = start(str(lines), sys.executable, "-c", "raise SystemExit('no model')")

    assert (fewer.returncode, fewer.stderr) == (1, "no translation\n")
    assert (failed.returncode, failed.stderr) == (1, "no model\n")


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("own", [False, True], ids=["random", "model"])
def test_the_real_thing(own: bool, beam: int, tmp_path: Path) -> None:
    """Everything that is installed, on a small model: all agree with ours in float32."""
    from dragoman.models.folder.bundle import save

    save(random_bundle(tokenizer(), seed=3), tmp_path / "model")
    text = tmp_path / "text"
    text.write_text("\n".join(SOURCES) + "\n", encoding="utf-8")
    command = [
        *(sys.executable, translation_speed.__file__, "--text", str(text), f"--beam={beam}"),
        *(["--model", str(tmp_path / "model")] if own else ["--preset", "tiny"]),
        *("--lines", "12", "--rounds", "1", "--busy", "--json", "--threads", "1"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    table = json.loads(done.stdout)

    names = {one["name"] for one in table["results"]} | set(table["left_out"])
    assert names == {one.name for one in CONTENDERS}
    for one in table["results"]:
        if one["name"] != "ctranslate2-bf16":  # not on every processor
            assert one["failure"] == "", one
            assert one["median"] > 0
    exact = [one for one in table["results"] if one["dtype"] == "float32" and one["measure"] == "throughput"]
    assert {one["different"] for one in exact if (one["name"], one["beam"]) != ("marian", 4)} == {0}
    assert all(one["compared"] == 12 for one in exact)
    assert table["ceiling"]["fp32"] > 1e8
