"""The measured processes: `python benchmarks/decoding/programs.py PROGRAM JOB`.

A program is imported by its class alone: two OpenMP runtimes in one process wait for the same cores.
"""

from __future__ import annotations

import copy
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[1]))

from decoding.measured import Job, TimedProgram, measure_program

from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.translation.search.engine import Engine, Hypothesis
    from dragoman.translation.search.options import Beam


class Ours:
    """An engine of dragoman, native or pytorch. Its requests are made inside the clock."""

    version = f"dragoman {__version__}"

    def __init__(self, job: Job) -> None:
        from dragoman.translation.folder.config import read_config
        from dragoman.translation.search.engine import Request
        from dragoman.translation.search.rules import MinimumLength

        generation = read_config(job.model_folder).generation
        self._how = how_to_search(generation, job.beam)
        self._rules = (MinimumLength(job.limit),) if job.forced else ()
        self._request, self._limit = Request, job.limit
        self._engine = _engine(job)

    def encode(self, sources: list[list[int]]) -> list[list[int]]:
        return sources

    def translate(self, sources: list[list[int]]) -> list[Hypothesis]:
        requests = (
            self._request(source=source, how=self._how, max_tokens=self._limit, rules=self._rules)
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
        from dragoman.translation.native.native import NativeEngine

        return NativeEngine.load(job.model_folder, dtype=job.dtype, threads=threads)
    import torch

    from dragoman.models.folder.bundle import load
    from dragoman.models.search.engine import PyTorchEngine

    torch.set_num_threads(threads)
    return PyTorchEngine(load(job.model_folder).model)


class HuggingFace:
    """`generate` of transformers in float32: ids in, ids out.

    Batches are sorted by length and padded inside the clock.
    """

    def __init__(self, job: Job) -> None:
        torch: Any = import_module("torch")
        transformers: Any = import_module("transformers")
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        torch.set_num_threads(job.settings["threads"])
        self._torch, self.version = torch, f"transformers {transformers.__version__}"
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(job.model_folder, dtype=torch.float32)
        self._model: Any = model.eval()
        self._rows = job.settings.get("batch_size", 1)
        self._how = copy.deepcopy(self._model.generation_config)
        self._how.update(
            do_sample=False,
            num_beams=job.beam,
            length_penalty=1.0,
            early_stopping=job.beam > 1,
            max_length=None,
            max_new_tokens=job.limit if job.forced else job.limit + 1,  # the end counts as a token
            min_new_tokens=job.limit if job.forced else None,
            forced_eos_token_id=None,
        )
        self._pad, self._end = self._how.pad_token_id, self._how.eos_token_id

    def encode(self, sources: list[list[int]]) -> list[list[int]]:
        return [[*source, self._end] for source in sources]

    def translate(self, sources: list[list[int]]) -> list[list[int]]:
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        answers: list[list[int]] = [[] for _ in sources]
        for first in range(0, len(order), self._rows):
            batch = order[first : first + self._rows]
            for i, row in zip(batch, self._generate([sources[i] for i in batch]), strict=True):
                answers[i] = row
        return answers

    def decode(self, answers: list[list[int]]) -> list[list[int]]:
        return [row[: row.index(self._end)] if self._end in row else row for row in answers]

    def _generate(self, sources: list[list[int]]) -> list[list[int]]:
        """The rows that the model generates, without the start."""
        longest = max(map(len, sources))
        padding = [longest - len(source) for source in sources]
        rows = [[*source, *[self._pad] * n] for source, n in zip(sources, padding, strict=True)]
        seen = [[1] * (longest - n) + [0] * n for n in padding]
        with self._torch.inference_mode():
            ids = self._model.generate(
                input_ids=self._torch.tensor(rows),
                attention_mask=self._torch.tensor(seen),
                generation_config=self._how,
            )
        generated: list[list[int]] = ids[:, 1:].tolist()
        return generated


class TimedCTranslate2:
    """CTranslate2: pieces in, pieces out. It never imports torch, whose OpenMP runtime would slow it down."""

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


class TimedMarian:
    """Marian in float32, through pymarian: pieces in, pieces out.

    Its limit is a multiple of the length of the source, so no length is forced.
    """

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


class TimedFxtranslate:
    """fxtranslate: text in, text out, and so with its tokenizer inside the clock."""

    def __init__(self, job: Job) -> None:
        import fxtranslate
        from decoding.material import LINES

        from dragoman.interop.marian import files
        from dragoman.text.tokenizers.tokenizer import Tokenizer

        self.version = f"fxtranslate {version('fxtranslate')}"
        found = files.find(job.model_folder)
        paths = [found.model, *found.vocabularies, *([found.shortlist] if found.shortlist else [])]
        self._translator = fxtranslate.Translator(*(path.read_bytes() for path in paths))
        texts = (Path(job.folder) / LINES).read_text(encoding="utf-8").splitlines()
        self._texts = dict(zip(map(tuple, job.sentences()), texts, strict=False))
        self._tokenizer = Tokenizer.load(Path(job.folder) / "dragoman")

    def encode(self, sources: list[list[int]]) -> list[str]:
        return [self._texts[tuple(source)] for source in sources]

    def translate(self, sources: list[str]) -> list[str]:
        return [self._translator.translate(source) for source in sources]

    def decode(self, answers: list[str]) -> list[list[int]]:
        return self._tokenizer.encode_target(answers)


PROGRAMS: dict[str, Callable[[Job], TimedProgram]] = {
    "ours": Ours,
    "ctranslate2": TimedCTranslate2,
    "huggingface": HuggingFace,
    "marian": TimedMarian,
    "fxtranslate": TimedFxtranslate,
}

if __name__ == "__main__":
    measure_program(PROGRAMS[sys.argv[1]], Job.from_json(sys.argv[2]))
