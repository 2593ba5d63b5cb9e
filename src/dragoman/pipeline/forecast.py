"""The time of each step of a pipeline, before it runs.

A step that ran before takes as long as then. A training takes at most `training.max_minutes`; tuning has such
a limit by default.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dragoman.pipeline.graph import Pipeline, PipelineStep
from dragoman.pipeline.running import read_rows
from dragoman.training.runs.recipe import resolve
from dragoman.training.runs.tuning.recipe import MINUTES


def forecast(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Return what each step takes, in order. None is unknown: it did not run before, and has no limit."""
    rows, digests, found = read_rows(pipeline.folder), pipeline.digests(), []
    for name, step in pipeline.steps.items():
        row = rows.get(name, {})
        done = row.get("state") == "done"  # perhaps of other inputs
        found.append(
            {
                "name": name,
                "state": row.get("state", "waiting") if row.get("digest") == digests[name] else "waiting",
                "needs": [*pipeline.needs(step)],
                "seconds": row.get("seconds") if done else _limit(pipeline, step),
                "memory_mb": row.get("most_memory_mb") if done else None,
            }
        )
    return found


def _limit(pipeline: Pipeline, step: PipelineStep) -> float | None:
    """The seconds that a training takes at most, if it says so."""
    if not step.trains:
        return None
    words = [one for word in pipeline.words(step) for one in word.split("=", int(word.startswith("--")))]
    value = {name: words[i + 1] for i, name in enumerate(words[:-1]) if name in ("--recipe", "--preset")}
    path = Path(value["--recipe"]) if "--recipe" in value else None
    if path is not None and not path.exists():  # an earlier step makes it
        return None
    overrides = [word for word in words if re.match(r"[a-z_.]+=", word)]
    if step.words[0] == "distil":
        overrides.append('teacher.models=["of the pipeline"]')
    minutes = resolve(preset=value.get("--preset"), recipe=path, overrides=overrides).training.max_minutes
    if minutes is None and "--from" in words:
        minutes = float(MINUTES)
    runs = words[words.index("--seeds") + 1] if "--seeds" in words[:-1] else "1"
    return None if minutes is None or not runs.isdecimal() else 60 * minutes * int(runs)
