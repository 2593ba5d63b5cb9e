"""A measured process: its job, the clock around a program, and its answer.

It needs the standard library only, because some programs are slowed down by the imports of others: two OpenMP
runtimes in one process wait for the same cores.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from dragoman.base.machine import peak_memory

Measure = Literal["throughput", "latency"]
Settings = dict[str, Any]  # how a program uses the machine: threads, batches

SENTENCES = "sentences.json"  # ids of each source, without the end
WARMING = 64  # sentences that are translated before the clock runs
COMPARED = 1000  # sentences whose translations are compared with those of other programs
_ENOUGH = 5.0  # seconds of measured work after which no other pass begins
_FIRST = 5  # sentences that are translated one by one before the clock runs


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


class Clock:
    """Measures each use as a context: the seconds, and the seconds that this process kept cores busy."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.work: list[float] = []

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds.append(time.perf_counter() - self._began[0])
        self.work.append(time.process_time() - self._began[1])


class TimedProgram(Protocol):
    """A program with a model loaded. Its input and output are prepared outside the clock."""

    version: str

    def encode(self, sources: list[list[int]]) -> list[Any]:
        """The sources as the program reads them: one item for each."""
        ...

    def translate(self, sources: list[Any]) -> list[Any]:
        """The best translation of each source, as the program writes it."""
        ...

    def decode(self, answers: list[Any]) -> list[list[int]]:
        """The ids of each translation, without the end."""
        ...


def measure_program(open_program: Callable[[Job], TimedProgram], job: Job) -> None:
    """Do the job. Answer with seconds, the peak of memory in bytes, and the version.

    `seconds` are of each pass or sentence, `work` the seconds of all cores together in the same time.
    """
    program = open_program(job)
    sources = program.encode(job.sentences())
    if job.measure == "latency":
        clock, answers = _one_by_one(program, sources)
    else:
        clock, answers = _all_at_once(program, sources, job.passes)
    facts = {
        "seconds": clock.seconds,
        "work": clock.work,
        "peak_memory": peak_memory(),
        "version": program.version,
    }
    if job.answers is not None:
        rows = program.decode(answers[:COMPARED])
        Path(job.answers).write_text(json.dumps(rows), encoding="utf-8")
    sys.stdout.write(json.dumps(facts) + "\n")


def _all_at_once(program: TimedProgram, sources: list[Any], passes: int) -> tuple[Clock, list[Any]]:
    """Measure each pass over the sources, and return the translations of the last."""
    program.translate(sources[:WARMING])
    clock = Clock()
    answers: list[Any] = []
    while not answers or (len(clock.seconds) < passes and sum(clock.seconds) < _ENOUGH):
        with clock:
            answers = program.translate(sources)
    return clock, answers


def _one_by_one(program: TimedProgram, sources: list[Any]) -> tuple[Clock, list[Any]]:
    """Measure each source alone, and return the translations."""
    for source in sources[:_FIRST]:
        program.translate([source])
    clock = Clock()
    answers = []
    for source in sources:
        with clock:
            answers += program.translate([source])
    return clock, answers
