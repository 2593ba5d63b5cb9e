"""What a pipeline will take, before it runs."""

from __future__ import annotations

from pathlib import Path

from dragoman.pipeline.forecast import forecast
from dragoman.pipeline.graph import Pipeline
from dragoman.pipeline.running import run_pipeline
from dragoman.training.runs.tuning.recipe import MINUTES

TEXT = """
[[steps]]
name = "copy"
shell = "cp {data}/x {out}"
[[steps]]
name = "model"
run = "train {data}/x {data}/y --preset tiny training.max_updates=100 -o {out}"
[[steps]]
name = "limited"
run = "train {data}/x {data}/y --preset tiny training.max_minutes=3 -o {out}"
[[steps]]
name = "tuned"
run = "train --from {model} {data}/x {data}/y -o {out}"
[[steps]]
name = "tuned-longer"
run = "train --from {model} {data}/x {data}/y training.max_minutes=30 -o {out}"
[[steps]]
name = "seeds"
run = "train {data}/x {data}/y --preset tiny training.max_minutes=3 --seeds 3 -o {out}"
[[steps]]
name = "translation"
run = "translate {model} {data}/x -o {out}"
"""


def test_a_training_takes_its_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a b\n" * 50)
    (tmp_path / "p.toml").write_text(TEXT)
    pipeline = Pipeline.read(tmp_path / "p.toml", tmp_path / "out", tmp_path)
    (tmp_path / "out").mkdir()
    found = {one["name"]: one for one in forecast(pipeline)}
    assert found["copy"]["seconds"] is None
    assert found["model"]["seconds"] is None
    assert found["limited"]["seconds"] == 180
    assert found["tuned"]["seconds"] == 60 * MINUTES
    assert found["tuned-longer"]["seconds"] == 1800
    assert found["seeds"]["seconds"] == 540
    assert found["translation"]["seconds"] is None


def test_options_may_hold_their_values_and_paths_an_equals_sign(tmp_path: Path) -> None:
    folder = tmp_path / "lang=en"
    folder.mkdir()
    (folder / "x").write_text("a\n")
    train = 'run = "train {data}/x --preset=tiny training.max_minutes=3 -o {out} --seeds'
    text = f'[[steps]]\nname = "a"\n{train}=3"\n[[steps]]\nname = "b"\n{train} three"\n'
    (tmp_path / "p.toml").write_text(text)
    found = forecast(Pipeline.read(tmp_path / "p.toml", tmp_path / "out", folder))
    assert [one["seconds"] for one in found] == [540, None]


def test_a_recipe_that_a_step_writes_has_no_limit_yet(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    text = '[[steps]]\nname = "r"\nshell = "cp {data}/x {out}"\n[[steps]]\nname = "m"\n'
    (tmp_path / "p.toml").write_text(text + 'run = "train --recipe {r}/r.toml {data}/x -o {out}"\n')
    found = forecast(Pipeline.read(tmp_path / "p.toml", tmp_path / "out", tmp_path))
    assert [one["seconds"] for one in found] == [None, None]


def test_what_ran_before_has_its_real_time(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    (tmp_path / "p.toml").write_text(TEXT.split('[[steps]]\nname = "model"')[0])
    pipeline = Pipeline.read(tmp_path / "p.toml", tmp_path / "out", tmp_path)
    (tmp_path / "out").mkdir()
    rows = run_pipeline(pipeline, jobs=1)
    (only,) = forecast(pipeline)
    assert (only["state"], only["seconds"]) == ("done", rows["copy"]["seconds"])
    (tmp_path / "x").write_text("another\n")
    (only,) = forecast(Pipeline.read(tmp_path / "p.toml", tmp_path / "out", tmp_path))
    assert (only["state"], only["seconds"]) == ("waiting", rows["copy"]["seconds"])
