"""Steps run in processes: once, again after a change, and after a kill with the same end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.jobs import Lock
from dragoman.pipeline import running
from dragoman.pipeline.graph import Pipeline
from dragoman.pipeline.running import RECORD, read_rows, run_pipeline
from dragoman.text import toy

DIAMOND = """
[[steps]]
name = "a"
shell = "sort {data}/x > {out}.part && mv {out}.part {out}"
[[steps]]
name = "b"
shell = "tr a-z A-Z < {a} > {out}.part && mv {out}.part {out}"
[[steps]]
name = "c"
shell = "wc -l < {a} > {out}.part && mv {out}.part {out}"
[[steps]]
name = "d"
shell = "cat {b} {c} > {out}.part && mv {out}.part {out}"
"""


def pipeline(tmp_path: Path, text: str = DIAMOND, out: str = "out") -> Pipeline:
    if not (tmp_path / "x").exists():
        (tmp_path / "x").write_text("b\na\n")
    (tmp_path / "p.toml").write_text(text)
    return Pipeline.read(tmp_path / "p.toml", tmp_path / out, tmp_path)


def run(tmp_path: Path, text: str = DIAMOND, jobs: int = 2) -> list[str]:
    """Run the steps and return what was said."""
    said: list[str] = []
    (tmp_path / "out").mkdir(exist_ok=True)
    run_pipeline(pipeline(tmp_path, text), jobs=jobs, say=said.append)
    return said


def test_each_step_runs_once(tmp_path: Path) -> None:
    said = run(tmp_path)
    assert (tmp_path / "out" / "d").read_text().split() == ["A", "B", "2"]
    assert next(text.split(":")[0] for text in said if "started" in text) == "a"
    assert sum("done" in text for text in said) == 4
    rows = read_rows(tmp_path / "out")
    assert {row["state"] for row in rows.values()} == {"done"}
    assert rows["d"]["needs"] == ["b", "c"]
    assert run(tmp_path) == []


def test_what_changed_and_what_needs_it_runs_again(tmp_path: Path) -> None:
    run(tmp_path)
    said = run(tmp_path, DIAMOND.replace("wc -l", "wc -c"))
    assert [text.split(":")[0] for text in said if "started" in text] == ["c", "d"]
    assert (tmp_path / "out" / "old" / "c-1").read_text().strip() == "2"
    (tmp_path / "x").write_text("c\n")
    assert sum("started" in text for text in run(tmp_path, DIAMOND.replace("wc -l", "wc -c"))) == 4
    assert (tmp_path / "out" / "d").read_text().split() == ["C", "2"]


def test_a_failed_step_stops_only_what_needs_it(tmp_path: Path) -> None:
    broken = DIAMOND.replace('"tr a-z A-Z < {a}', '"echo oh no >&2; false < {a}')
    with pytest.raises(DragomanError, match=r"b failed: (.|\n)*oh no(.|\n)*waiting for it: d") as caught:
        run(tmp_path, broken)
    assert "b.log" in str(caught.value.hint)
    assert {name: row["state"] for name, row in read_rows(tmp_path / "out").items()} == {
        "a": "done", "b": "failed", "c": "done", "d": "waiting",
    }  # fmt: skip
    assert [text.split(":")[0] for text in run(tmp_path) if "started" in text] == ["b", "d"]


def test_a_result_of_another_hand_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("mine")
    with pytest.raises(ConfigError, match="out/a: not made by this pipeline"):
        run(tmp_path)
    assert (tmp_path / "out" / "a").read_text() == "mine"


def test_a_result_by_hand_is_moved_unless_the_record_says_that_it_is_done(tmp_path: Path) -> None:
    text = '[[steps]]\nname = "a"\nshell = "test -e {data}/go; cp {data}/x {out}"\n'
    with pytest.raises(DragomanError, match="a failed"):
        run(tmp_path, text.replace("{data}/go", str(tmp_path / "go")))
    (tmp_path / "go").touch()
    (tmp_path / "out" / "a").write_text("mine")
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    run(tmp_path, text.replace("{data}/go", str(tmp_path / "go")))
    assert (tmp_path / "out" / "a").read_text() == "b\na\n"
    assert (tmp_path / "out" / "old" / "a-1").read_text() == "mine"

    (tmp_path / "out" / "a").write_text("mine")
    record["steps"]["a"]["state"] = "done"
    (tmp_path / "out" / RECORD).write_text(json.dumps(record))
    assert run(tmp_path, text.replace("{data}/go", str(tmp_path / "go"))) == []
    assert (tmp_path / "out" / "a").read_text() == "mine"


def test_what_a_changed_command_left_unfinished_is_deleted(tmp_path: Path) -> None:
    """A command that resumes would refuse to go on with what another began."""
    text = (
        '[[steps]]\nname = "a"\nshell = "cp {data}/x {out}"\n[[steps]]\nname = "ab"\nshell = "true > {out}"\n'
    )
    run(tmp_path, text)
    for name in ("a", "ab"):
        (tmp_path / "out" / f"{name}.unfinished").touch()
        (tmp_path / "out" / f"{name}.unfinished.parts").mkdir()
    run(tmp_path, text.replace("cp ", "cp -p "))
    left = sorted(path.name for path in (tmp_path / "out").glob("*.unfinished*"))
    assert left == ["ab.unfinished", "ab.unfinished.parts"]


def test_a_step_that_is_left_out_for_a_while_is_still_done(tmp_path: Path) -> None:
    run(tmp_path)
    run(tmp_path, DIAMOND.split('[[steps]]\nname = "d"')[0])
    assert run(tmp_path) == []


def test_a_step_that_was_left_out_runs_again_if_what_it_needs_was_made_anew(tmp_path: Path) -> None:
    run(tmp_path)
    without = DIAMOND.split('[[steps]]\nname = "d"')[0]
    (tmp_path / "out" / "b").unlink()
    run(tmp_path, without)
    assert "d: started" in run(tmp_path)

    record = tmp_path / "out" / RECORD
    record.write_text(record.read_text().replace('"done"', '"running"'))
    run(tmp_path, without)
    assert json.loads(record.read_text())["steps"]["d"]["state"] == "waiting"


def test_one_command_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_WAIT", 0.0)
    (tmp_path / "out").mkdir()
    with Lock(tmp_path / "out" / f"{RECORD}.lock"), pytest.raises(ConfigError, match="out"):
        run(tmp_path)


def test_a_damaged_record_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for content in (
        b"\xff",
        b"[]",
        b'{"steps": 3}',
        b'{"steps": {"a": 1}}',
        b'{"steps": {"a": {}}}',
        b'{"steps": {"a": {"state": "done", "seconds": "x"}}}',
    ):
        (tmp_path / "out" / RECORD).write_bytes(content)
        assert read_rows(tmp_path / "out") == {}


def test_a_part_of_a_result_is_not_met_again(tmp_path: Path) -> None:
    """As of `export`, which writes a new folder: the command would refuse."""
    text = '[[steps]]\nname = "a"\nshell = "test ! -e {out}/x; echo 1 > {out}/x; test -e {data}/go"\n'
    with pytest.raises(DragomanError, match="a failed"):
        (tmp_path / "go").touch()
        (tmp_path / "go").rename(tmp_path / "stop")
        run(tmp_path, text.replace("{data}/go", str(tmp_path / "go")))
    (tmp_path / "go").touch()
    run(tmp_path, text.replace("{data}/go", str(tmp_path / "go")))
    assert (tmp_path / "out" / "a" / "x").read_text() == "1\n"


def test_a_result_that_is_gone_is_made_again_with_what_needs_it(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "out" / "b").unlink()
    assert [text.split(":")[0] for text in run(tmp_path) if "started" in text] == ["b", "d"]
    assert (tmp_path / "out" / "d").read_text().split() == ["A", "B", "2"]


def test_a_command_in_the_middle_that_fails_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(DragomanError, match="a failed"):
        run(tmp_path, '[[steps]]\nname = "a"\nshell = "false\\necho after > {out}"\n')


def test_missing_text_is_found_before_anything_runs(tmp_path: Path) -> None:
    text = DIAMOND.replace("cat {b} {c}", "cat {b} {c} {data}/absent.en")
    with pytest.raises(DataError, match=r"d: .*absent\.en: no such file"):
        run(tmp_path, text)
    assert not (tmp_path / "out" / "a").exists()


def test_a_step_gets_the_text_and_its_share_of_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "usable_cores", lambda: 8)
    monkeypatch.setenv("DRAGOMAN_DATA", "/elsewhere")
    text = "".join(
        f'[[steps]]\nname = "{name}"\n'
        f'shell = "echo $OMP_NUM_THREADS $DRAGOMAN_DATA {needs} {{data}} > {{out}}"\n'
        for name, needs in [("a", ""), ("b", "{a}"), ("c", "{a}")]
    )
    run(tmp_path, text)
    found = {name: (tmp_path / "out" / name).read_text().split()[:2] for name in "abc"}
    assert found == {"a": ["8", str(tmp_path)], "b": ["4", str(tmp_path)], "c": ["4", str(tmp_path)]}


@pytest.mark.skipif(sys.platform != "linux", reason="flock")
def test_a_program_that_outlives_a_killed_pipeline_is_waited_for(tmp_path: Path) -> None:
    """A shell dies with its pipeline, but not the program that it has started."""
    text = '[[steps]]\nname = "a"\nshell = "touch {out}; sleep 2; echo $$ >> {out}; true"\n'
    pipeline(tmp_path, text)
    command = [sys.executable, "-m", "dragoman", "pipeline", "p.toml", "--data", ".", "-o", "out", "--quiet"]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        while not (tmp_path / "out" / "a").exists():
            time.sleep(0.02)
        process.kill()
    lock = Lock(tmp_path / "out" / f"{RECORD}.lock")
    with pytest.raises(ConfigError):
        lock.acquire()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert len((tmp_path / "out" / "a").read_text().splitlines()) == 1


@pytest.mark.parametrize("moment", ["starts", "ends"])
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
def test_a_signal_while_a_step_starts_or_ends_loses_no_step(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, finish, fresh = subprocess.Popen, running._Run._finish, [True]
    begun: list[subprocess.Popen[bytes]] = []

    def interrupt() -> None:
        if fresh:
            fresh.clear()
            signal.raise_signal(signal.SIGINT)

    def popen(*args: Any, **options: Any) -> Any:
        begun.append(process := begin(*args, **options))
        if moment == "starts":
            interrupt()
        return process

    def ended(*args: Any, **options: Any) -> None:
        if moment == "ends":
            interrupt()
        finish(*args, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(running._Run, "_finish", ended)
    monkeypatch.setattr(running, "_PATIENCE", 30.0)
    slow = 'shell = "cat {data}/x > {out}; sleep 10"\n'
    quick = 'shell = "cat {data}/x > {out}"\n'
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, f'[[steps]]\nname = "slow"\n{slow}[[steps]]\nname = "quick"\n{quick}', jobs=2)
    states = {name: row["state"] for name, row in read_rows(tmp_path / "out").items()}
    assert states["slow"] == "waiting"
    assert states["quick"] == ("done" if moment == "ends" else "waiting")
    assert all(process.poll() is not None for process in begun)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="a killed pipeline ends its steps on Linux")
def test_ten_kills_change_nothing(tmp_path: Path) -> None:
    slow = DIAMOND.replace('shell = "', 'shell = "sleep 0.2; ')
    pipeline(tmp_path, slow)
    command = [sys.executable, "-m", "dragoman", "pipeline", "p.toml", "--data", ".", "-o", "out", "--quiet"]
    draw = random.Random(1)
    for number in range(10):
        process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
        time.sleep(draw.uniform(0.1, 0.9))
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        process.wait()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "out" / "d").read_text().split() == ["A", "B", "2"]
    assert json.loads((tmp_path / "out" / RECORD).read_text())["steps"]["d"]["state"] == "done"
    assert not [name for name in os.listdir(tmp_path / "out") if name.endswith(".part")]


SMALL = """--preset tiny model.d_model=32 model.d_ff=32 model.encoder_layers=1 model.decoder_layers=1
    training.batch_tokens=500 training.max_updates=120 training.validate_every=40
    training.warmup=10 data.placeholders=0 -o {out}"""
TRAINED = f"""
[[steps]]
name = "backward"
run = '''train {{data}}/train.de {{data}}/train.en --valid {{data}}/valid.de {{data}}/valid.en
    tokenizer.vocab_size=500 {SMALL}'''
[[steps]]
name = "synthetic"
run = "back-translate {{backward}} {{data}}/valid.de --how sample -o {{out}}/pairs.en-de.tsv"
[[steps]]
name = "mixed"
shell = '''
paste {{data}}/train.en {{data}}/train.de > {{out}}/real
cat {{out}}/real {{synthetic}}/* > {{out}}/pairs.en-de.tsv'''
[[steps]]
name = "student"
run = '''distil {{teacher}} {{mixed}}/pairs.en-de.tsv --valid {{data}}/valid.en {{data}}/valid.de
    teacher.outputs=none teacher.words=0.5 {SMALL}'''
[[steps]]
name = "teacher"
run = '''train {{data}}/train.en {{data}}/train.de --valid {{data}}/valid.en {{data}}/valid.de
    tokenizer.vocab_size=500 tokenizer.placeholders=0 {SMALL}'''
[[steps]]
name = "translated"
run = "translate {{student}} {{data}}/valid.en -o {{out}}/text.de"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a killed pipeline ends its steps on Linux")
def test_ten_kills_of_trainings_change_no_weight(tmp_path: Path) -> None:
    """At random moments, by SIGTERM and by SIGKILL."""
    for seed, part in enumerate(("train", "valid"), 1):
        for side, lines in zip(("en", "de"), zip(*toy.pairs(seed=seed, count=400), strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (tmp_path / f"{part}.{side}").write_text(text, encoding="utf-8")
    (tmp_path / "p.toml").write_text(TRAINED)
    words = [sys.executable, "-m", "dragoman", "pipeline", "p.toml", "--data", ".", "--quiet"]
    began = time.monotonic()
    subprocess.run([*words, "-o", "whole"], cwd=tmp_path, check=True)
    took, draw = time.monotonic() - began, random.Random(3)
    for number in range(10):
        process = subprocess.Popen([*words, "-o", "killed"], cwd=tmp_path)
        time.sleep(draw.uniform(0.5, took / 4))
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        process.wait()
        while _locked(tmp_path / "killed"):
            time.sleep(0.1)
    subprocess.run([*words, "-o", "killed"], cwd=tmp_path, check=True)
    for name in ("student/model.safetensors", "mixed/pairs.en-de.tsv", "translated/text.de"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes(), name


def _locked(folder: Path) -> bool:
    try:
        with Lock(folder / f"{RECORD}.lock"):
            return False
    except ConfigError:
        return True


def test_a_step_that_was_interrupted_begins_anew_with_what_it_needs(tmp_path: Path) -> None:
    run(tmp_path)
    record = tmp_path / "out" / RECORD
    rows = json.loads(record.read_text())
    rows["steps"]["d"]["state"] = "running"
    record.write_text(json.dumps(rows))
    (tmp_path / "out" / "b").unlink()
    assert any(text.startswith("d: changed; the old result is") for text in run(tmp_path))
