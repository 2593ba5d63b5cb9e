"""transformers as the other program: the same model, to compare with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.base.errors import DragomanError
from dragoman.base.languages import closest
from dragoman.base.machine import optional_package
from dragoman.interop import verify as comparing
from dragoman.interop.huggingface.files import CLASSES, MULTILINGUAL, JsonTable
from dragoman.interop.verify import Agreement
from dragoman.models.folder.bundle import Bundle
from dragoman.models.layers.positions import sinusoidal
from dragoman.models.search.engine import pad
from dragoman.translation.search.engine import Tokens

_ROWS = 32  # sentences in a batch


class Transformers:
    """The program transformers: the class of the model and its tokenizer, in float32.

    It implements `dragoman.interop.verify.Program`. Padding and start are never generated, as here.
    """

    def __init__(self, folder: Path, *, start: Tokens = ()) -> None:
        """Every translation begins with `start`, the mark of a language, if given.

        Raises DragomanError if transformers is not installed or cannot load the folder.
        """
        self._transformers: Any = optional_package("transformers", "huggingface")
        self.name = f"transformers {self._transformers.__version__}"
        with _quiet(self._transformers):
            try:
                kind = JsonTable.read(folder / "config.json").get("model_type")
                self._many, self._forced = kind in MULTILINGUAL, (*start, None)[0]
                reader = "AutoTokenizer" if self._many else "MarianTokenizer"
                self.tokenizer = getattr(self._transformers, reader).from_pretrained(folder)
                loader = getattr(self._transformers, CLASSES[kind])
                model = loader.from_pretrained(folder, dtype=torch.float32)
            except Exception as error:  # a foreign loader may raise anything for a file that it refuses
                raise DragomanError(
                    f"{folder}: {self.name} cannot load it: {error}", hint="--no-verify skips the comparison"
                ) from error
        self.model = model.eval()
        stated = self.model.generation_config
        self._pad, self._start = stated.pad_token_id, stated.decoder_start_token_id
        if self._start is None:  # generating would begin otherwise than the model was trained
            self._start = model.config.decoder_start_token_id
        self._end = stated.eos_token_id[0] if isinstance(stated.eos_token_id, list) else stated.eos_token_id
        single = [word[0] for word in stated.bad_words_ids or [] if len(word) == 1]
        never = {self._pad, self._start, *single, *(stated.suppress_tokens or [])} - {self._end}
        self._never = sorted(never)
        self._renormalize = bool(stated.renormalize_logits)
        # It would add its other rules, such as no_repeat_ngram_size, which an import leaves out.
        self.model.generation_config = self._transformers.GenerationConfig()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The source ids of each line, without the end."""
        if self._many:
            return list(map(self._encode_marked, lines))
        return [ids[:-1] for ids in self.tokenizer(list(lines))["input_ids"]] if lines else []

    def _encode_marked(self, line: str) -> list[int]:
        mark, _, text = line.partition("<<")
        if not line.startswith(">>"):
            return list(self.tokenizer(line, add_special_tokens=False)["input_ids"])
        self.tokenizer.src_lang = mark.removeprefix(">>")
        return list(self.tokenizer(text.removeprefix(" "))["input_ids"][:-1])

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        """The text of each list of target ids, as transformers' translation pipeline gave it."""
        return [
            str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))
            for ids in map(list, targets)
        ]

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]]:
        found = self.search(sources, beam=1, max_tokens=max(max_tokens, default=0))
        return [rows[0][0][:limit] for rows, limit in zip(found, max_tokens, strict=True)]

    def search(
        self,
        sources: Sequence[Tokens],
        *,
        beam: int,
        max_tokens: int,
        length_penalty: float = 1.0,
        early_stopping: bool | str = False,
    ) -> list[list[tuple[list[int], float]]]:
        """The best translations of each source and their scores: as many as the beam is wide, best first.

        A score is the log-probability in nats divided by length^length_penalty; 0 for a beam of 1. The
        length counts the end token, as here.
        """
        how = self._transformers.GenerationConfig(
            num_beams=beam,
            num_return_sequences=beam,
            do_sample=False,
            max_new_tokens=max_tokens + 1,
            pad_token_id=self._pad,
            eos_token_id=self._end,
            decoder_start_token_id=self._start,
            forced_bos_token_id=self._forced,
            forced_eos_token_id=self._end,
            bad_words_ids=[[token] for token in self._never] or None,
            renormalize_logits=self._renormalize,
            return_dict_in_generate=True,
            output_scores=True,
            **({"length_penalty": length_penalty, "early_stopping": early_stopping} if beam > 1 else {}),
        )
        # Sorted by length, because padding changes the rounding.
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        self._lengthen_positions(max([max_tokens, *map(len, sources)]) + 2)
        found: dict[int, list[tuple[list[int], float]]] = {}
        for first in range(0, len(order), _ROWS):
            batch = order[first : first + _ROWS]
            inputs = self._inputs([sources[i] for i in batch])
            with torch.no_grad(), _quiet(self._transformers):
                output = self.model.generate(**inputs, generation_config=how)
            scores = output.sequences_scores.tolist() if beam > 1 else [0.0] * len(batch)
            rows = list(zip(map(self._cut, output.sequences.tolist()), scores, strict=True))
            found |= {i: rows[n * beam : (n + 1) * beam] for n, i in enumerate(batch)}
        return [found[i] for i in range(len(sources))]

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        totals = []
        for (_, target), logits_TV in zip(pairs, self.logits(pairs), strict=True):
            logp_TV = logits_TV.log_softmax(-1)
            logp_TV[:, self._never] = -math.inf
            if self._renormalize:
                logp_TV = logp_TV.log_softmax(-1)
            predicted_T1 = torch.tensor([[*target, self._end]]).T
            totals.append(math.fsum(logp_TV.gather(1, predicted_T1)[:, 0].tolist()))
        return totals

    def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Iterator[Tensor]:
        """Yield logits_TV of each pair: the scores of every token of the target, then of the end."""
        for first in range(0, len(pairs), _ROWS):
            batch = pairs[first : first + _ROWS]
            rows = [[self._start, *target] for _, target in batch]
            longest = max(map(len, rows))
            target_BT = torch.tensor([[*row, *[self._pad] * (longest - len(row))] for row in rows])
            self._lengthen_positions(max(longest, *(len(source) + 1 for source, _ in batch)))
            inputs = self._inputs([source for source, _ in batch])
            with torch.no_grad():
                logits_BTV = self.model(**inputs, decoder_input_ids=target_BT).logits
            yield from (logits_TV[: len(row)] for logits_TV, row in zip(logits_BTV, rows, strict=True))

    def _lengthen_positions(self, count: int) -> None:
        """Continue the tables of sinusoids, because transformers fails on a text longer than they are."""
        if self._many:
            return
        for part in (self.model.model.encoder, self.model.model.decoder):
            table = part.embed_positions
            known, width = table.weight.shape
            if count > known:
                more = sinusoidal(count - known, width, "sinusoidal-halves", start=known)
                longer = torch.cat((table.weight, more.to(table.weight)))
                table.weight = torch.nn.Parameter(longer, requires_grad=False)

    def _inputs(self, sources: Sequence[Tokens]) -> dict[str, Tensor]:
        source_BS, length_B = pad(sources, self._pad, self._end)
        seen_BS = torch.arange(source_BS.shape[1]) < length_B[:, None]
        return {"input_ids": source_BS, "attention_mask": seen_BS.long()}

    def _cut(self, ids: list[int]) -> list[int]:
        """The tokens between start and end."""
        ids = ids[1:]
        return ids[: ids.index(self._end)] if self._end in ids else ids


def verify(bundle: Bundle, folder: Path, lines: Sequence[str]) -> Agreement:
    """Compare the model with the folder in transformers. Raises DragomanError if they disagree.

    A model that has to be told the target language translates to German, or else to its first language.
    """
    languages = bundle.tokenizer.languages
    start = bundle.tokenizer.target_start(closest("de", languages) or languages[0]) if languages else ()
    return comparing.verify(bundle, Transformers(folder, start=start), lines, start=start)


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence warnings and progress bars of transformers, then restore them."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
