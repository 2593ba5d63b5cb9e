"""`dragoman pipeline`: from raw text to a small model, in steps that resume."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

from dragoman.base.errors import ConfigError
from dragoman.base.machine import usable_cores
from dragoman.base.tables import aligned
from dragoman.cli.options import Data, Flag, Json, Quiet, argument
from dragoman.cli.outcome import tell


def pipeline(
    file: Annotated[Path, argument("FILE", "The steps (TOML).")],
    output: Annotated[Path, Flag("The folder for all results.", flag="--output -o", metavar="FOLDER")],
    data: Data = None,
    jobs: Annotated[
        int | None, Flag("Steps at a time. [default: 2, or 1 on one core]", metavar="N", at_least=1)
    ] = None,
    plan: Annotated[bool, Flag("Print the steps with their expected time, and run none.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a pipeline: commands that need each other's results, two at a time.

    Repeat the command to resume. A step runs again if its command, the files that it reads, or a step that it
    needs have changed; its old result is moved to FOLDER/old. Each step has a log in FOLDER/logs, and is a
    command that also runs by hand. dragoman studio FOLDER shows the steps.

    \b
      dragoman pipeline recipes/pipeline-en-de.toml --data ~/corpora -o work --plan
      dragoman pipeline recipes/pipeline-en-de.toml --data ~/corpora -o work
    """
    from dragoman.pipeline.graph import Pipeline

    if as_json and not plan:
        raise ConfigError("--json without --plan", hint="the record of a run is FOLDER/pipeline.json")
    data = data or (Path(os.environ["DRAGOMAN_DATA"]) if os.environ.get("DRAGOMAN_DATA") else None)
    steps = Pipeline.read(file, output, data)
    if plan:
        from dragoman.pipeline.forecast import forecast

        found = forecast(steps)
        print(json.dumps(found, indent=1) if as_json else "\n".join(_table(found)))
        return
    from dragoman.cli.signals import raising
    from dragoman.pipeline.running import run_pipeline

    output.mkdir(parents=True, exist_ok=True)
    with raising():
        rows = run_pipeline(
            steps, jobs=jobs or min(2, usable_cores()), say=lambda text: tell(text, quiet=quiet)
        )
    tell(f"{output}: all {len(rows)} steps are done", quiet=quiet)


def _table(found: list[dict[str, Any]]) -> list[str]:
    def shown(value: float | None, unit: str, scale: float = 1.0) -> str:
        return "?" if value is None else f"{value / scale:,.{0 if value >= scale * 10 else 1}f} {unit}"

    rows = [["step", "state", "time", "memory", "needs"]]
    for one in found:
        figures = shown(one["seconds"], "min", 60), shown(one["memory_mb"], "MB")
        rows.append([one["name"], one["state"], *figures, ", ".join(one["needs"])])
    total = sum(one["seconds"] or 0.0 for one in found)
    unknown = sum(one["seconds"] is None for one in found)
    return [*aligned(rows, right={2, 3}), "", f"in all {total / 60:,.0f} min; {unknown} steps not counted"]
