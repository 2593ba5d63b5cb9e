"""The progress of a run as JSON: the counts, sums and validations that resuming needs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.base.files import digest_of_table

DAMAGED = "restore it from a copy, or remove the folder of checkpoints to train from the start"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A checkpoint and how it validated. The final weights are chosen among the candidates."""

    step: int
    score: float  # the measure that ranks candidates; higher is better
    loss: float | None = None  # nats a token
    perplexity: float | None = None
    bleu: float | None = None
    chrf: float | None = None
    chrf_words: float | None = None  # chrF++, if the run goes by it
    directions: dict[str, dict[str, float]] = field(default_factory=dict)  # of several: scores by name

    @property
    def measured(self) -> bool:
        """Whether there was text to validate with. If not, later candidates rank higher."""
        return self.loss is not None or self.bleu is not None

    def measure(self, name: str) -> float | None:
        """The measure that options call `name`: loss, perplexity, bleu, chrf or chrf++."""
        value: float | None = getattr(self, "chrf_words" if name == "chrf++" else name)
        return value


@dataclass
class Totals:
    """Sums over the updates since the last report."""

    loss: float = 0.0  # nats, with label smoothing
    nll: float = 0.0  # nats, without
    tokens: int = 0  # targets
    real: int = 0  # source and target positions that hold a token
    slots: int = 0  # positions, padding included
    seconds: float = 0.0
    gradient_norm: float = 0.0  # of the last update


@dataclass
class Progress:
    """The progress of a run. Resuming needs only this, the weights and the optimizer's state, because
    every random choice is a function of the seed and these counts."""

    step: int = 0  # updates made
    epoch: int = 0
    cursor: int = 0  # updates made in this epoch
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # time spent, validation included
    corpus: str = ""  # fingerprint of the training text
    processes: int = 1  # in each update
    finished: bool = False
    history: list[Candidate] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)  # updates of the history whose weights cannot be averaged
    skipped: int = 0  # updates skipped in a row because their loss or gradient was not finite
    totals: Totals = field(default_factory=Totals)

    @property
    def candidates(self) -> list[Candidate]:
        """Candidates in the history for the final weights."""
        return [candidate for candidate in self.history if candidate.step not in self.lost]

    def to_json(self) -> str:
        """The JSON that `read_progress` reads. The totals keep the key they had in version 0.1."""
        table = asdict(self)
        table["window"] = table.pop("totals")
        return json.dumps(table | {"digest": digest_of_table(table)})


def read_progress(path: Path) -> Progress:
    """The progress in `path`. Raises ModelError if the file is missing or damaged."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        digest = table.pop("digest", None)
        if digest is not None and digest != digest_of_table(table):
            raise ValueError("changed since it was written")
        history = [Candidate(**entry) for entry in table.pop("history", [])]
        totals = Totals(**table.pop("window", {}))
        progress = Progress(**table, history=history, totals=totals)
        for name, default in vars(Progress()).items():
            value = getattr(progress, name)
            if type(value) is not type(default):
                raise ValueError(f"{name} = {value!r} cannot be used")
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path}: damaged ({error})", hint=DAMAGED) from error
    return progress
