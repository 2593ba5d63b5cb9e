"""metrics.jsonl: every report and every validation of a run, one JSON object a line.

The key `kind` is `train` for a report, `valid` for a validation, `samples` for a few of its translations,
`soup` for an average that was tried, `average` for the final one, and `result` for the scores of the final
model on the validation text. `start`, `stop` and `finish` say when a run of the command began and ended, with
the `time` in seconds since 1970. Tuning adds `interpolation` and `comparison`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dragoman.base.errors import DragomanError, TrainingError
from dragoman.base.files import write_whole
from dragoman.training.checkpoints.progress import Candidate
from dragoman.training.events import Finished, Report, Started, Validation

_AT_THE_END = ("average", "soup", "result", "finish")


@dataclass(frozen=True)
class Metrics:
    """The file of a run's measurements."""

    path: Path

    def append(self, event: Report | Validation | Candidate) -> None:
        """Write one line; a Candidate is the final average. Raises TrainingError if the disk is full.

        The samples of a validation get a line of their own.
        """
        self.add(_row(event))
        if isinstance(event, Validation) and event.samples:
            samples = [asdict(sample) for sample in event.samples]
            self.add({"kind": "samples", "step": event.step, "samples": samples})

    def begin(self, event: Started) -> None:
        """Note that a run of the command begins. Drops lines that a resumed run writes again."""
        self.trim(event.resumed_from)
        self.add({"kind": "start", "step": event.resumed_from, "time": time.time(), **asdict(event)})

    def end(self, outcome: Finished | DragomanError, step: int) -> None:
        """Note that it ended after update `step`: the run is over, or was stopped by a signal or an error."""
        row: dict[str, Any] = {"step": step, "time": time.time()}
        if isinstance(outcome, Finished):
            self.add({"kind": "finish", **asdict(outcome), **row})
        else:
            with suppress(TrainingError):  # the disk may be full, which may be why the run ends
                self.add({"kind": "stop", "reason": str(outcome), **row})

    def add(self, row: Mapping[str, Any]) -> None:
        """Write one line of another kind. One without a `step` is dropped when the run is resumed."""
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                # Only a model of several languages has scores by direction.
                kept = {key: value for key, value in row.items() if key != "directions" or value}
                file.write(json.dumps(_finite(kept), allow_nan=False) + "\n")
        except OSError as error:
            raise TrainingError(
                f"{self.path}: cannot be written ({error.strerror or error})",
                hint="free some space and repeat the command: it resumes from the last checkpoint",
            ) from error

    def result(self) -> dict[str, Any] | None:
        """The scores of the final model, or None before the end: the last line of the kind `result`."""
        results = [row for row in self._rows() if row["kind"] == "result"]
        return results[-1] if results else None

    def trim(self, step: int) -> None:
        """Drop the lines after update `step`, and the final ones. A resumed run writes them again."""
        if self.path.exists():
            lines = self.path.read_bytes().splitlines(keepends=True)  # a crash may have left any bytes
            kept = [line for line in lines if _step_of(line) <= step and line.endswith(b"\n")]
            if len(kept) < len(lines):
                write_whole(self.path, b"".join(kept))

    def validations(self) -> list[Validation]:
        """The validations of the run in order, without samples."""
        names = {field.name for field in fields(Validation)}
        return [
            Validation(
                **{"signature": ""}
                | {key: value for key, value in row.items() if key in names}
                | ({"score": -math.inf} if row["score"] is None else {})
            )
            for row in self._rows()
            if row["kind"] == "valid"
        ]

    def losses(self) -> list[tuple[int, float]]:
        """The update and the training loss of each report, in nats a token without label smoothing."""
        rows = [row for row in self._rows() if row["kind"] == "train"]
        return [(row["step"], row["nll"]) for row in rows if row.get("nll") is not None]

    def _rows(self) -> Iterator[dict[str, Any]]:
        """The lines of the file, except one that a crash has cut short."""
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                if isinstance(row, dict) and "kind" in row:
                    yield row


def _row(event: Report | Validation | Candidate) -> dict[str, Any]:
    table = asdict(event)
    if table.get("chrf_words", 0) is None:
        del table["chrf_words"]
    match event:
        case Report():
            return {"kind": "train", **table}
        case Validation():
            hidden = {"samples"} if event.signature else {"samples", "signature", "search"}
            return {"kind": "valid", **{key: value for key, value in table.items() if key not in hidden}}
        case Candidate():
            del table["score"]
            return {"kind": "average", **table}


def _finite(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _step_of(line: bytes) -> float:
    """The update that a line was written after; infinity if a resumed run writes the line again."""
    try:
        row = json.loads(line)
        return math.inf if row["kind"] in _AT_THE_END else float(row["step"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return math.inf  # cut short by a crash
