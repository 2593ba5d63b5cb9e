"""A measured process: CTranslate2. It never imports torch, whose OpenMP runtime would slow it down."""

from __future__ import annotations

import json
import sys
from typing import Any

from dragoman.bench.decoding.job import Job
from dragoman.bench.decoding.measured import measure_program


class TimedCTranslate2:
    """Pieces in, pieces out."""

    def __init__(self, job: Job) -> None:
        for name in ("torch", "transformers"):
            sys.modules[name] = None  # type: ignore[assignment]  # an import fails, as if not installed
        import ctranslate2

        self.version = f"CTranslate2 {ctranslate2.__version__}"
        settings = job.settings
        self._translator = ctranslate2.Translator(
            str(job.model_folder),
            compute_type=job.dtype,
            inter_threads=settings["inter"],
            intra_threads=settings["intra"],
        )
        self._source, self._target = _vocabularies(job)
        self._ids = {piece: i for i, piece in enumerate(self._target)}
        self._options: dict[str, Any] = {
            "beam_size": job.beam,
            "length_penalty": 1.0,
            "max_decoding_length": job.limit,
            "min_decoding_length": job.limit if job.forced else 0,
            "batch_type": settings.get("batch_type", "examples"),
            "max_batch_size": settings.get("batch_size", 0),
        }

    def encode(self, sources: list[list[int]]) -> list[list[str]]:
        return [[self._source[i] for i in source] for source in sources]

    def translate(self, sources: list[list[str]]) -> list[Any]:
        return list(self._translator.translate_batch(sources, **self._options))

    def decode(self, answers: list[Any]) -> list[list[int]]:
        return [[self._ids[piece] for piece in answer.hypotheses[0]] for answer in answers]


def _vocabularies(job: Job) -> tuple[list[str], list[str]]:
    """The pieces of source and target by id."""

    def read(name: str) -> list[str]:
        pieces: list[str] = json.loads((job.model_folder / name).read_text(encoding="utf-8"))
        return pieces

    if (job.model_folder / "shared_vocabulary.json").exists():
        return (read("shared_vocabulary.json"),) * 2
    return read("source_vocabulary.json"), read("target_vocabulary.json")


if __name__ == "__main__":
    measure_program(TimedCTranslate2)
