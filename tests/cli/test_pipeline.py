"""`dragoman pipeline`: how many steps run at a time."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.cli import pipeline
from dragoman.pipeline import running


@pytest.mark.parametrize(("cores", "jobs"), [(1, 1), (8, 2)])
def test_steps_at_a_time_go_by_the_cores_that_may_be_used(dragoman_, tmp_path, monkeypatch, cores, jobs):
    asked: list[Any] = []
    monkeypatch.setattr(pipeline, "usable_cores", lambda: cores)
    monkeypatch.setattr(running, "run_pipeline", lambda steps, *, jobs, say: asked.append(jobs) or {})
    (tmp_path / "p.toml").write_text('[[steps]]\nname = "a"\nshell = "true"\n')
    assert dragoman_("pipeline", tmp_path / "p.toml", "-o", tmp_path / "out").code == 0
    assert asked == [jobs]
