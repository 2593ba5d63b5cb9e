"""The public API of a trained model: text in, text out.

translator = Translator.load("runs/en-de")
translator("A man rides a bike.")
translator.translate(lines, beam=5, n_best=3)
translator.inspect("A man rides a bike.")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import nn

from dragoman.base.errors import ConfigError, DataError
from dragoman.decoding.pytorch import score_all, search_all
from dragoman.decoding.rules import Rule, minimum_length, no_repeated_ngrams
from dragoman.decoding.search import Beam, Hypothesis, Sample
from dragoman.folder import bundle as model_folder
from dragoman.folder.bundle import Bundle
from dragoman.models.mode import evaluating

if TYPE_CHECKING:
    from dragoman.inspection import Trace


@dataclass(frozen=True)
class Translation:
    """A line and its translation."""

    source: str
    text: str
    score: float  # log-probability, normalised for length; translations of one line can be compared
    tokens: tuple[str, ...]  # the text's pieces, as the tokenizer spells them
    token_logp: tuple[float, ...]  # log-probability of each token, then of the end
    truncated: bool  # the source was too long to read whole, or the limit ended the translation
    alternatives: tuple[Translation, ...] = ()  # the next best, best first


class Translator:
    """A model and its tokenizer, ready to translate.

    It runs on the device its model is on, in evaluation mode, and leaves the model as it was.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    @classmethod
    def load(cls, path: str | Path, *, device: str | torch.device | None = None) -> Translator:
        """The translator in a model folder, by default on a GPU if there is one. Raises ModelError."""
        bundle = model_folder.load(Path(path))
        if isinstance(bundle.model, nn.Module):
            bundle.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return cls(bundle)

    @property
    def source_language(self) -> str:
        return self.bundle.source_language

    @property
    def target_language(self) -> str:
        return self.bundle.target_language

    def __call__(self, text: str) -> str:
        """The best translation of one line."""
        return self.translate([text])[0].text

    def translate(
        self,
        lines: Iterable[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        normalization: Literal["gnmt", "power"] | None = None,
        sample: Sample | None = None,
        prefix: str | Iterable[str] | None = None,
        minimum_length: int = 0,
        no_repeat_ngram: int = 0,
        max_extra_tokens: int = 50,
        max_source_tokens: int = 4096,
        batch_tokens: int = 4096,
    ) -> list[Translation]:
        """One Translation a line, in order. A blank line has an empty one, and the model is not asked.

        What is not said (`beam`, `length_penalty`, `normalization`) is as the model folder says.
        `sample` draws instead of searching for the best. `n_best` > 1 fills `alternatives`. Spaces around
        a line do not count.

        `prefix`, one for all lines or one a line, is how translations begin. It is cut into tokens on
        its own and those are forced, so its last word may be carried on ("Ein" as "Eine"); spaces
        around it do not count.

        `minimum_length` is in tokens; `no_repeat_ngram` = n lets no n tokens come twice; either gives
        way to a prefix. A translation has at most as many tokens as its source and
        `max_extra_tokens`, as in section 6.1. A source beyond `max_source_tokens` is cut there.
        Either cut sets `truncated`.

        `batch_tokens` bounds memory: source tokens in a batch, padding and the beam counted.
        Raises ConfigError for options that make no sense, DataError for a prefix that cannot be used.
        """
        if isinstance(lines, str):
            raise TypeError("translate() takes a list of lines; translator(text) translates one")
        lines = list(lines)
        return list(
            self.stream(
                lines,
                beam=beam,
                n_best=n_best,
                length_penalty=length_penalty,
                normalization=normalization,
                sample=sample,
                prefix=prefix,
                minimum_length=minimum_length,
                no_repeat_ngram=no_repeat_ngram,
                max_extra_tokens=max_extra_tokens,
                max_source_tokens=max_source_tokens,
                batch_tokens=batch_tokens,
                window=max(len(lines), 1),
            )
        )

    def stream(
        self,
        lines: Iterable[str],
        *,
        beam: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        normalization: Literal["gnmt", "power"] | None = None,
        sample: Sample | None = None,
        prefix: str | Iterable[str] | None = None,
        minimum_length: int = 0,
        no_repeat_ngram: int = 0,
        max_extra_tokens: int = 50,
        max_source_tokens: int = 4096,
        batch_tokens: int = 4096,
        window: int = 4096,
    ) -> Iterator[Translation]:
        """`translate` for more lines than memory holds: `window` of them are read and sorted at a time."""
        how = self._how(beam, n_best, length_penalty, normalization, sample)
        _not_below(
            0,
            minimum_length=minimum_length,
            no_repeat_ngram=no_repeat_ngram,
            max_extra_tokens=max_extra_tokens,
        )
        _not_below(1, max_source_tokens=max_source_tokens, batch_tokens=batch_tokens, window=window)
        work = _Work(
            how=how,
            rules=self._rules(minimum_length, no_repeat_ngram),
            max_extra_tokens=max_extra_tokens,
            max_source_tokens=max_source_tokens,
            batch_tokens=batch_tokens,
        )
        return self._windows(_with_prefixes(lines, prefix), work, window)

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        length_penalty: float | None = None,
        normalization: Literal["gnmt", "power"] | None = None,
        batch_tokens: int = 2048,
    ) -> list[Translation]:
        """How probable the model finds `targets` as translations of `sources`, line by line.

        Scores are those that `translate` gives to the same tokens. Raises DataError where there are
        not as many targets as sources.
        """
        sources, targets = list(sources), list(targets)
        if len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} sources and {len(targets)} translations to score",
                hint="give one translation a source",
            )
        if batch_tokens < 1:
            raise ConfigError(f"batch_tokens = {batch_tokens}", hint="it is at least 1")
        how = self._how(None, 1, length_penalty, normalization, None)
        encoded = list(
            zip(
                self.bundle.tokenizer.encode_source([source.strip() for source in sources]),
                self.bundle.tokenizer.encode_target(targets),
                strict=True,
            )
        )
        asked = [i for i, pair in enumerate(encoded) if any(pair)]  # blank for blank needs no model
        with evaluating(self.bundle.model):
            scored = score_all(
                self.bundle.model,
                [encoded[i][0] for i in asked],
                [encoded[i][1] for i in asked],
                how if isinstance(how, Beam) else None,
                batch_tokens=batch_tokens,
                device=self._device,
            )
        found = [_empty(source) for source in sources]
        for i, one in zip(asked, scored, strict=True):
            found[i] = replace(self._translation(sources[i], one), text=targets[i])
        return found

    def inspect(
        self,
        line: str,
        *,
        target: str | None = None,
        beam: int | None = None,
        length_penalty: float | None = None,
        normalization: Literal["gnmt", "power"] | None = None,
        prefix: str = "",
        minimum_length: int = 0,
        no_repeat_ngram: int = 0,
        name: str = "",
    ) -> Trace:
        """Everything the model does with a line: attention, the beam's tree, positions; it shows itself.

        Options are those of `translate` that make sense for one search. With `target` it is about that
        translation, and not the model's own. `name` is how the model is called. Raises DataError for a
        line without tokens or with more than 512, ConfigError for a beam above 50.
        """
        from dragoman.inspection import inspect

        _not_below(0, minimum_length=minimum_length, no_repeat_ngram=no_repeat_ngram)
        if target is not None and (beam or prefix.strip() or minimum_length or no_repeat_ngram):
            raise ConfigError(
                "a given translation, and options of a search", hint="leave out one or the other"
            )
        how = self._how(beam, 1, length_penalty, normalization, None)
        return inspect(
            self.bundle,
            line,
            target=target,
            beam=how if isinstance(how, Beam) else None,
            prefix=(self._prefixes([prefix]) or [[]])[0],
            rules=self._rules(minimum_length, no_repeat_ngram),
            name=name,
        )

    def _windows(self, lines: Iterator[tuple[str, str]], work: _Work, window: int) -> Iterator[Translation]:
        while chunk := list(islice(lines, window)):
            yield from self._translate(chunk, work)

    def _translate(self, lines: Sequence[tuple[str, str]], work: _Work) -> list[Translation]:
        """Translations of (line, prefix) pairs."""
        tokenizer = self.bundle.tokenizer
        spoken = [i for i, (line, _) in enumerate(lines) if line.strip()]
        encoded = tokenizer.encode_source([lines[i][0].strip() for i in spoken])
        # A line of nothing but, say, zero-width spaces has no tokens: it is blank too.
        asked = [(i, tokens) for i, tokens in zip(spoken, encoded, strict=True) if tokens]
        found = [_empty(line) for line, _ in lines]
        with evaluating(self.bundle.model):
            hypotheses = search_all(
                self.bundle.model,
                [tokens[: work.max_source_tokens] for _, tokens in asked],
                work.how,
                max_extra_tokens=work.max_extra_tokens,
                batch_tokens=work.batch_tokens,
                prefixes=self._prefixes([lines[i][1] for i, _ in asked]),
                rules=work.rules,
                device=self._device,
            )
        for (i, tokens), each in zip(asked, hypotheses, strict=True):
            cut = len(tokens) > work.max_source_tokens
            best, *others = [self._translation(lines[i][0], one, cut=cut) for one in each]
            found[i] = replace(best, alternatives=tuple(others))
        return found

    def _translation(self, source: str, one: Hypothesis, *, cut: bool = False) -> Translation:
        text = self.bundle.tokenizer.decode(one.tokens)
        return Translation(
            source=source,
            # A tokenizer that falls back to bytes can spell a line break; one line stays one line.
            text=text.replace("\r", " ").replace("\n", " "),
            score=one.score,
            tokens=tuple(self.bundle.tokenizer.target_pieces(one.tokens)),
            token_logp=one.token_logp,
            truncated=one.truncated or cut,
        )

    def _prefixes(self, prefixes: Sequence[str]) -> list[list[int]] | None:
        if not any(prefixes):
            return None
        tokenizer = self.bundle.tokenizer
        # Subwords carry the space before a word: one at the end would stand alone, and be said twice.
        encoded = tokenizer.encode_target([prefix.strip() for prefix in prefixes])
        for text, tokens in zip(prefixes, encoded, strict=True):
            if tokenizer.unk_id in tokens:
                raise DataError(
                    f"prefix {text!r}: the tokenizer of this model cannot spell it",
                    hint="use words and characters that the training text has",
                )
        return encoded

    def _how(
        self,
        beam: int | None,
        n_best: int,
        length_penalty: float | None,
        normalization: Literal["gnmt", "power"] | None,
        sample: Sample | None,
    ) -> Beam | Sample:
        """The folder's search, with what the caller wants otherwise."""
        if sample is not None:
            if beam is not None or length_penalty is not None or normalization is not None:
                raise ConfigError(
                    "sampling, and options of a beam search",
                    hint="leave out beam, length_penalty and normalization, or sample",
                )
            return replace(sample, n_best=n_best) if n_best != 1 else sample
        own = self.bundle.generation
        return Beam(
            size=max(own.size, n_best) if beam is None else beam,
            length_penalty=own.length_penalty if length_penalty is None else length_penalty,
            normalization=own.normalization if normalization is None else normalization,
            n_best=n_best,
        )

    def _rules(self, least: int, no_repeat_ngram: int) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        if least:
            rules.append(minimum_length(least, self.bundle.model.config.end_id))
        if no_repeat_ngram:
            rules.append(no_repeated_ngrams(no_repeat_ngram))
        return tuple(rules)

    @property
    def _device(self) -> torch.device:
        model = self.bundle.model
        if isinstance(model, nn.Module) and (first := next(model.parameters(), None)) is not None:
            return first.device
        return torch.device("cpu")


@dataclass(frozen=True)
class _Work:
    """How a window of lines is to be translated."""

    how: Beam | Sample
    rules: tuple[Rule, ...]
    max_extra_tokens: int
    max_source_tokens: int
    batch_tokens: int


def _not_below(least: int, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise ConfigError(f"{name} = {value}", hint=f"it is at least {least}")


def _empty(source: str) -> Translation:
    return Translation(source, text="", score=0.0, tokens=(), token_logp=(), truncated=False)


def _with_prefixes(lines: Iterable[str], prefix: str | Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """(line, prefix) pairs. Raises DataError where there are not as many prefixes as lines."""
    if prefix is None or isinstance(prefix, str):
        return zip(lines, repeat(prefix or ""), strict=False)
    return _paired(iter(lines), iter(prefix))


def _paired(lines: Iterator[str], prefixes: Iterator[str]) -> Iterator[tuple[str, str]]:
    number = 0
    for number, line in enumerate(lines, start=1):
        prefix = next(prefixes, None)
        if prefix is None:
            raise DataError(f"line {number} has no prefix", hint="give one prefix a line; it may be empty")
        yield line, prefix
    if next(prefixes, None) is not None:
        raise DataError(f"more prefixes than the {number} lines", hint="give one prefix a line")
