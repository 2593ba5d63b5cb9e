"""A measured process: dragoman. The setting "engine" is native or pytorch."""

from __future__ import annotations

from dataclasses import replace

from dragoman.bench.decoding.job import Job
from dragoman.bench.decoding.measured import measure_program
from dragoman.decoding.engine import Engine, Hypothesis, Request
from dragoman.decoding.options import Beam
from dragoman.decoding.rules import MinimumLength
from dragoman.folder.config import read_config
from dragoman.version import __version__


class Ours:
    """An engine with the model. Its requests are made inside the clock."""

    version = f"dragoman {__version__}"

    def __init__(self, job: Job) -> None:
        generation = read_config(job.model_folder).generation
        self._how = how_to_search(generation, job.beam)
        self._rules = (MinimumLength(job.limit),) if job.forced else ()
        self._limit = job.limit
        self._engine = _engine(job)

    def encode(self, sources: list[list[int]]) -> list[list[int]]:
        return sources

    def translate(self, sources: list[list[int]]) -> list[Hypothesis]:
        requests = (
            Request(source=source, how=self._how, max_tokens=self._limit, rules=self._rules)
            for source in sources
        )
        best = {number: hypotheses[0] for number, hypotheses in self._engine.search(requests)}
        return [best[number] for number in range(len(sources))]

    def decode(self, answers: list[Hypothesis]) -> list[list[int]]:
        return [list(answer.tokens) for answer in answers]


def how_to_search(generation: Beam, beam: int) -> Beam:
    """The search that all programs have: score / length, stopped when `beam` translations have ended."""
    return replace(generation, size=beam, n_best=1, length_penalty=1.0, normalization="power", stop="full")


def _engine(job: Job) -> Engine:
    threads = job.settings["threads"]
    if job.settings["engine"] == "native":
        from dragoman.engine.native import NativeEngine

        return NativeEngine.load(job.model_folder, dtype=job.dtype, threads=threads)
    import torch

    from dragoman.decoding.pytorch import PyTorchEngine
    from dragoman.folder.bundle import load

    torch.set_num_threads(threads)
    return PyTorchEngine(load(job.model_folder).model)


if __name__ == "__main__":
    measure_program(Ours)
