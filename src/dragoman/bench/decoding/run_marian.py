"""A measured process: Marian, through pymarian, in float32."""

from __future__ import annotations

import json
import statistics
from importlib import import_module
from typing import Any

from dragoman.bench.decoding.job import Job
from dragoman.bench.decoding.measured import measure_program


class TimedMarian:
    """Pieces in, pieces out. Its limit is a multiple of the length of the source, so no length is forced."""

    def __init__(self, job: Job) -> None:
        import pymarian

        self.version = f"Marian {pymarian.__version__}"
        folder = job.model_folder
        self._source, self._target = (
            json.loads((folder / f"{side}.json").read_text(encoding="utf-8")) for side in ("source", "target")
        )
        self._ids = {piece: i for i, piece in enumerate(self._target)}
        self._limit = job.limit
        yaml: Any = import_module("yaml")  # pymarian needs it, too
        exported = yaml.safe_load((folder / "decoder.yml").read_text(encoding="utf-8"))
        vocabularies = " ".join(str(folder / name) for name in exported["vocabs"])
        # The export asks for batches of one sentence if Marian mistranslates larger ones.
        alone = exported["mini-batch"] == 1
        factor = job.limit / statistics.mean(map(len, job.sentences()))
        self._translator = pymarian.Translator(
            f"--models {folder / 'model.npz'} --vocabs {vocabularies} "
            "--no-spm-encode --no-spm-decode --allow-unk --allow-special --quiet --workspace 512 "
            f"--beam-size {job.beam} --normalize 1 --max-length 100000 --max-length-factor {factor:.2f} "
            f"--cpu-threads {job.settings['threads']} --maxi-batch 100 --maxi-batch-sort src "
            f"--mini-batch {1 if alone else job.settings.get('batch_size', 1)}"
        )

    def encode(self, sources: list[list[int]]) -> list[str]:
        return [" ".join(self._source[i] for i in source) for source in sources]

    def translate(self, sources: list[str]) -> list[str]:
        return list(self._translator.translate(sources))

    def decode(self, answers: list[str]) -> list[list[int]]:
        return [[self._ids[piece] for piece in answer.split()][: self._limit] for answer in answers]


if __name__ == "__main__":
    measure_program(TimedMarian)
