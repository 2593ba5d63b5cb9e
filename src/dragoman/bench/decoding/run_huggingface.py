"""A measured process: `generate` of Hugging Face transformers, in float32."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

from dragoman.bench.decoding.job import Job
from dragoman.bench.decoding.measured import measure_program


class HuggingFace:
    """Ids in, ids out. Batches are sorted by length and padded inside the clock."""

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


if __name__ == "__main__":
    measure_program(HuggingFace)
