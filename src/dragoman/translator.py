"""The public API of a trained model: text in, text out.

translator = Translator.load("runs/en-de")
translator("A man rides a bike.")
translator.translate(lines, beam=5, n_best=3)
translator.inspect("A man rides a bike.")

A translator is a tokenizer and an engine. This file imports no torch; the PyTorch engine does.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from dragoman.base.errors import ConfigError, DataError
from dragoman.decoding.engine import Engine, Hypothesis, Request
from dragoman.decoding.options import Beam, Decoding, DecodingOptions, Normalization
from dragoman.decoding.rules import Prefix, Rule
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch

    from dragoman.folder.bundle import Bundle
    from dragoman.inspection import Trace
    from dragoman.pipeline import Pipeline, PipelineOptions

log = logging.getLogger(__name__)

T = TypeVar("T")

# The decoding options that `Translator.inspect` uses.
_INSPECTED = (
    "beam", "length_penalty", "normalization", "to", "minimum_length", "no_repeat_ngram",
    "max_extra_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class Translation:
    """A line and its translation."""

    source: str
    text: str
    score: float  # log-probability, normalised for length; translations of one line can be compared
    tokens: tuple[str, ...]  # the text's pieces, as the tokenizer spells them
    token_logp: tuple[float, ...]  # log-probability of each token, then of the end
    truncated: bool  # the source was cut, or the length limit ended the translation
    alternatives: tuple[Translation, ...] = ()  # the next best, best first


class Translator:
    """A tokenizer and an engine, ready to translate.

    `generation` has the default options of the search.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        *,
        source_language: str,
        target_language: str,
        generation: Beam | None = None,
    ) -> None:
        self.tokenizer, self.engine = tokenizer, engine
        self.source_language, self.target_language = source_language, target_language
        self.generation = generation or Beam()

    @classmethod
    def load(cls, path: str | Path, *, device: str | torch.device | None = None) -> Translator:
        """Load a model: a folder of dragoman's, of Hugging Face's or of Marian's, an archive of one, or the
        name of a model on the Hugging Face hub. A name is a string; a `Path` is never looked for on the hub.

        `device` is a GPU by default if torch finds one, otherwise the CPU. Raises ModelError if the model is
        missing, damaged or of another kind. What is not dragoman's is converted at each load; `dragoman
        import` converts it once, and compares it with the other program.
        """
        from dragoman.interop.source import opened

        with opened(path) as folder:
            bundle = _bundle_in(folder)
        import torch

        best = "cuda" if torch.cuda.is_available() else "cpu"
        return cls.of(bundle, device=device or best)

    @classmethod
    def of(cls, bundle: Bundle, *, device: str | torch.device | None = None) -> Translator:
        """The translator of a loaded or newly trained model, with the PyTorch engine."""
        import torch

        from dragoman.decoding.pytorch import PyTorchEngine

        if device is not None:
            bundle.model.to(torch.device(device))
        return cls(
            bundle.tokenizer,
            PyTorchEngine(bundle.model),
            source_language=bundle.source_language,
            target_language=bundle.target_language,
            generation=bundle.generation,
        )

    @property
    def bundle(self) -> Bundle:
        """Model, tokenizer and languages, as a model folder holds them.

        Raises ConfigError if the engine is not the PyTorch engine.
        """
        from dragoman.decoding.pytorch import PyTorchEngine
        from dragoman.folder.bundle import Bundle

        if not isinstance(self.engine, PyTorchEngine):
            raise ConfigError(
                f"{type(self.engine).__name__}: has no PyTorch model to look into",
                hint="load the model folder with Translator.load",
            )
        return Bundle(
            model=self.engine.model,
            tokenizer=self.tokenizer,
            source_language=self.source_language,
            target_language=self.target_language,
            generation=self.generation,
        )

    def __call__(self, text: str) -> str:
        """The best translation of one line."""
        return self.translate([text])[0].text

    def translate(
        self,
        lines: Iterable[str],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Translation]:
        """Return one Translation for each line, in order. A blank line gets an empty translation.

        Pass options as a `Decoding`, as keywords with the names of its fields, or both. Keywords win.
        Spaces around a line are ignored.

        `prefix` is one text for all lines or one for each. Every translation begins with it. Its tokens
        are forced, so the last word may continue ("Ein" as "Eine"). Spaces around it are ignored.

        Raises ConfigError for invalid options, DataError for a prefix that the tokenizer cannot spell.
        """
        _check_lines(lines)
        lines = list(lines)
        window = max(len(lines), 1)
        return list(self.stream(lines, decoding, prefix=prefix, window=window, **options))

    def stream(
        self,
        lines: Iterable[str],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        window: int = 4096,
        **options: Unpack[DecodingOptions],
    ) -> Iterator[Translation]:
        """Translate more lines than memory holds. At most `window` lines are read ahead."""
        decoding = Decoding.of(decoding, options)
        decoding.how(self.generation)  # raise ConfigError now, not at the first line
        self._check_target(decoding.to)
        _check_lines(lines)
        if type(window) is not int or window < 1:
            raise ConfigError(f"window = {window}", hint="use at least 1")
        return self._stream(_with_prefixes(lines, prefix), decoding, window)

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        length_penalty: float | None = None,
        normalization: Normalization | None = None,
        to: str | None = None,
        batch_tokens: int = 2048,
    ) -> list[Translation]:
        """Score `targets` as translations of `sources`, line by line, into the language `to` if given.

        The scores equal those that `translate` gives to the same tokens. Raises DataError if the numbers
        of sources and targets differ.
        """
        sources, targets = list(sources), list(targets)
        if len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} sources and {len(targets)} translations to score",
                hint="give one translation for each source",
            )
        self._check_target(to)
        decoding = Decoding(
            length_penalty=length_penalty, normalization=normalization, batch_tokens=batch_tokens
        )
        how = decoding.beam_search(self.generation)
        pairs = zip(
            self.tokenizer.encode_source([_to(to, source.strip()) for source in sources]),
            self.tokenizer.encode_target(targets),
            strict=True,
        )
        scored = _in_order(self.engine.score(pairs, how, batch_tokens=batch_tokens))
        return [
            replace(self._translation(source, hypothesis), text=target if hypothesis.token_logp else "")
            for source, target, hypothesis in zip(sources, targets, scored, strict=True)
        ]

    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        target: str | None = None,
        prefix: str = "",
        name: str = "",
        **options: Unpack[DecodingOptions],
    ) -> Trace:
        """Return a Trace of one line: attention, the beam search and positions.

        The options are those of `translate` for one beam search. With `target` the trace describes that
        translation, and no search runs. `name` is the name of the model in the trace. Raises DataError for
        a line without tokens or with more than 512, ConfigError for a beam above 50 or an option that
        inspection does not use.
        """
        from dragoman.inspection import inspect

        decoding = Decoding.of(decoding, options)
        self._check_target(decoding.to)
        changed = [field.name for field in fields(decoding) if getattr(decoding, field.name) != field.default]
        if unused := [name for name in changed if name not in _INSPECTED]:
            raise ConfigError(
                f"inspection does not use {', '.join(unused)}", hint=f"it uses {', '.join(_INSPECTED)}"
            )
        searched = decoding != Decoding(
            length_penalty=decoding.length_penalty, normalization=decoding.normalization, to=decoding.to
        )
        if target is not None and (searched or prefix.strip()):
            raise ConfigError(
                "a given translation and options of a search", hint="leave out one or the other"
            )
        return inspect(
            self.bundle,
            _to(decoding.to, line.strip()),
            target=target,
            beam=decoding.beam_search(self.generation),
            prefix=self._prefix(prefix),
            rules=decoding.rules,
            max_extra_tokens=decoding.max_extra_tokens,
            name=name,
        )

    def pipeline(self, **options: Unpack[PipelineOptions]) -> Pipeline:
        """Return a callable with the interface of the translation pipeline of transformers 4.

        `translator.pipeline()("A dog.")` is `[{"translation_text": "Ein Hund."}]`. The options have the names
        and meanings of transformers, such as `num_beams`, and are the defaults of every call. Raises
        ConfigError for an option that has no counterpart here.
        """
        from dragoman.pipeline import Pipeline

        return Pipeline(
            self.tokenizer,
            self.engine,
            self.generation,
            target_language=self.target_language,
            options=options,
        )

    def _stream(
        self, lines: Iterator[tuple[str, str]], decoding: Decoding, window: int
    ) -> Iterator[Translation]:
        pending: deque[tuple[str, bool]] = deque()  # lines being translated, and whether each was cut
        requests = self._requests(lines, decoding, window, pending)
        answers = self.engine.search(requests, batch_tokens=decoding.batch_tokens, lookahead=window)
        for hypotheses in _in_order(answers):
            source, cut = pending.popleft()
            best, *others = [self._translation(source, each, cut=cut) for each in hypotheses]
            yield replace(best, alternatives=tuple(others))

    def _requests(
        self,
        lines: Iterator[tuple[str, str]],
        decoding: Decoding,
        window: int,
        pending: deque[tuple[str, bool]],
    ) -> Iterator[Request]:
        """Yield a request for each (line, prefix) and append to `pending`. Lines encode faster together."""
        how, most = decoding.how(self.generation), decoding.max_source_tokens
        begin_of = lru_cache(maxsize=256)(self._prefix)
        lines = self._warning_of_language(lines) if decoding.to is None else lines
        while chunk := list(islice(lines, window)):
            encoded = self.tokenizer.encode_source([_to(decoding.to, line.strip()) for line, _ in chunk])
            for (line, prefix), tokens in zip(chunk, encoded, strict=True):
                rules: tuple[Rule, ...] = decoding.rules
                if tokens and (begin := begin_of(prefix)):
                    rules = (Prefix(begin), *rules)
                pending.append((line, len(tokens) > most))
                tokens = tokens[:most]
                limit = len(tokens) + decoding.max_extra_tokens
                yield Request(source=tokens, how=how, max_tokens=limit, rules=rules)

    def _warning_of_language(self, lines: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the lines. Log a warning if one does not say which of several languages it goes to."""
        languages = self.tokenizer.languages
        tags = tuple(f">>{language}<<" for language in languages)
        silent = len(languages) < 2
        for line, prefix in lines:
            if not silent and line.strip() and not line.lstrip().startswith(tags):
                log.warning("this model has several target languages; choose one: %s", ", ".join(languages))
                silent = True
            yield line, prefix

    def _check_target(self, to: str | None) -> None:
        """Raise ConfigError if the model has no such target language."""
        languages = self.tokenizer.languages
        if to is None:
            return
        if not languages:
            raise ConfigError(
                f"to = {to!r}: this model has one target language, {self.target_language}",
                hint="leave the language out",
            )
        if to not in languages:
            raise ConfigError(
                f"to = {to!r}: this model does not translate to it", hint=f"it has {', '.join(languages)}"
            )

    def _translation(self, source: str, hypothesis: Hypothesis, *, cut: bool = False) -> Translation:
        text = self.tokenizer.decode(hypothesis.tokens)
        return Translation(
            source=source,
            # With byte fallback a translation can contain a line break. Keep it one line.
            text=text.replace("\r", " ").replace("\n", " "),
            score=hypothesis.score,
            tokens=tuple(self.tokenizer.target_pieces(hypothesis.tokens)),
            token_logp=hypothesis.token_logp,
            truncated=hypothesis.truncated or cut,
        )

    def _prefix(self, prefix: str) -> tuple[int, ...]:
        """The tokens of a prefix. Raises DataError if the vocabulary cannot spell it."""
        if not prefix.strip():
            return ()
        # Subwords carry the space before a word: one at the end would become a separate token.
        (tokens,) = self.tokenizer.encode_target([prefix.strip()])
        if self.tokenizer.unk_id in tokens:
            raise DataError(
                f"prefix {prefix!r}: the tokenizer of this model cannot spell it",
                hint="use words and characters that the training text has",
            )
        return tuple(tokens)


def _bundle_in(folder: Path) -> Bundle:
    """Return the model in a folder of any kind that dragoman reads."""
    from dragoman.folder.config import read_config
    from dragoman.interop.formats import format_of

    if format_of(folder) is None:
        read_config(folder)  # refuse a wrong folder before loading torch, which takes seconds
        from dragoman.folder.bundle import load

        return load(folder)
    from dragoman.interop.imports import read

    return read(folder)


def _check_lines(lines: Iterable[str]) -> None:
    if isinstance(lines, str):
        raise TypeError("a list of lines is needed; translator(text) translates one text")


def _to(language: str | None, line: str) -> str:
    """The line with the token of its target language. An empty line stays empty."""
    return line if language is None or not line else f">>{language}<< {line}"


def _in_order(answers: Iterable[tuple[int, T]]) -> Iterator[T]:
    """Yield the answers in order of their numbers, each as soon as possible."""
    early: dict[int, T] = {}
    due = 0
    for number, answer in answers:
        early[number] = answer
        while due in early:
            yield early.pop(due)
            due += 1


def _with_prefixes(lines: Iterable[str], prefix: str | Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """(line, prefix) pairs. Raises DataError if the numbers of lines and prefixes differ."""
    if prefix is None or isinstance(prefix, str):
        return zip(lines, repeat(prefix or ""), strict=False)
    return _paired(iter(lines), iter(prefix))


def _paired(lines: Iterator[str], prefixes: Iterator[str]) -> Iterator[tuple[str, str]]:
    number = 0
    for number, line in enumerate(lines, start=1):
        prefix = next(prefixes, None)
        if prefix is None:
            raise DataError(
                f"line {number} has no prefix", hint="give one prefix for each line; it may be empty"
            )
        yield line, prefix
    if next(prefixes, None) is not None:
        raise DataError(f"more prefixes than the {number} lines", hint="give one prefix for each line")
