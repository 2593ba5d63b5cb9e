"""What one measured process does, as JSON on its command line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Measure = Literal["throughput", "latency"]
Settings = dict[str, Any]  # how a program uses the machine: threads, batches

SENTENCES = "sentences.json"  # ids of each source, without the end
WARMING = 64  # sentences that are translated before the clock runs
COMPARED = 1000  # sentences whose translations are compared with those of other programs


@dataclass(frozen=True, kw_only=True)
class Job:
    """Translate the first `lines` sentences of the material in `folder`."""

    folder: str
    model: str  # name of the folder inside `folder` that has the model in the program's format
    measure: Measure
    lines: int
    beam: int
    limit: int  # most tokens of a translation
    forced: bool  # every translation has exactly `limit` tokens
    dtype: str
    settings: Settings = field(default_factory=dict)
    passes: int = 3  # over all sentences, unless they take long
    answers: str | None = None  # the file to write translations to, as ids

    @property
    def model_folder(self) -> Path:
        """The folder that the program reads."""
        return Path(self.folder) / self.model

    def to_json(self) -> str:
        """The job as one line."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        """The job that `to_json` wrote."""
        return Job(**json.loads(text))

    def sentences(self) -> list[list[int]]:
        """The ids of each source."""
        sources: list[list[int]] = json.loads((Path(self.folder) / SENTENCES).read_text(encoding="utf-8"))
        return sources[: self.lines]
