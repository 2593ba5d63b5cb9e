"""The public API of a trained model: text in, text out.

translator = Translator.load("runs/en-de")
translator("A man rides a bike.")
translator.translate(lines, beam=5, n_best=3)
translator.inspect("A man rides a bike.")

A translator is a tokenizer and an engine. This file imports no torch; the PyTorch engine does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.pytorch import require_pytorch
from dragoman.decoding.engine import Engine, Hypothesis, Request
from dragoman.decoding.options import Beam, Decoding, DecodingOptions, Normalization
from dragoman.decoding.rules import Prefix
from dragoman.decoding.stream import Stream
from dragoman.text.shortlist import Shortlist
from dragoman.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch

    from dragoman.engine.choice import DType, EngineName
    from dragoman.folder.bundle import Bundle
    from dragoman.inspection import Trace
    from dragoman.loading import Loaded
    from dragoman.pipeline import Pipeline, PipelineOptions

log = logging.getLogger(__name__)

T = TypeVar("T")
Item = tuple[str, str]  # a line and its prefix

# The decoding options that `Translator.inspect` uses.
_INSPECTED = (
    "beam", "length_penalty", "normalization", "stop", "to", "minimum_length", "no_repeat_ngram",
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
    attention: tuple[tuple[float, ...], ...] = ()
    """The attention of each token, then of the end, to each source token, then to the source's end.

    Empty unless the option `attention` asks for it.
    """


class Translator:
    """A tokenizer and an engine, ready to translate.

    `generation` has the default options of the search. `shortlist` says which target tokens a sentence may
    use, if the option of that name asks for it.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        *,
        source_language: str,
        target_language: str,
        generation: Beam | None = None,
        shortlist: Shortlist | None = None,
        load_bundle: Callable[[], Bundle] | None = None,
    ) -> None:
        """`load_bundle` returns the PyTorch model for `bundle` and `inspect`, if the engine has none."""
        self.tokenizer, self.engine, self.shortlist = tokenizer, engine, shortlist
        self.source_language, self.target_language = source_language, target_language
        self.generation = generation or Beam()
        self._load_bundle = None if load_bundle is None else cache(load_bundle)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: DType | None = None,
        engine: EngineName | None = None,
    ) -> Translator:
        """Load a model: a folder of dragoman's, of Hugging Face's or of Marian's, an archive of one, or the
        name of a model on the Hugging Face hub. A name is a string; a `Path` is never looked for on the hub.

        `engine` is by default the environment variable DRAGOMAN_ENGINE, otherwise `auto`: the native engine
        if it is available, the model is a Transformer and no GPU is asked for or found, else PyTorch.
        `device` is for PyTorch: by default a GPU if there is one, otherwise the CPU. `dtype` is float32,
        bfloat16, int8 (native engine only), or `auto`: int8 for a quantised model folder, else float32.

        Raises ModelError if the model is missing, damaged or of another kind, ConfigError for options that
        do not fit. What is not dragoman's is converted at each load; `dragoman import` converts it once, and
        compares it with the other program.
        """
        from dragoman.loading import load_model

        return cls._of(load_model(path, device=device, dtype=dtype, engine=engine))

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        *,
        device: str | torch.device | None = None,
        dtype: DType | None = None,
        engine: EngineName | None = "pytorch",
    ) -> Translator:
        """The translator of a model in memory. The options are those of `load`.

        With PyTorch, the model itself moves to `device` and changes to `dtype`.
        """
        from dragoman.loading import ready

        return cls._of(ready(bundle, device=device, dtype=dtype, engine=engine))

    @classmethod
    def _of(cls, loaded: Loaded) -> Translator:
        return cls(
            loaded.tokenizer,
            loaded.engine,
            source_language=loaded.config.source_language,
            target_language=loaded.config.target_language,
            generation=loaded.config.generation,
            shortlist=loaded.shortlist,
            load_bundle=loaded.load_bundle,
        )

    @property
    def bundle(self) -> Bundle:
        """Model, tokenizer and languages, as a model folder holds them, for PyTorch.

        A native engine has no PyTorch model, so the first use loads it. Raises ConfigError if PyTorch is not
        installed, or for an engine of your own.
        """
        if self._load_bundle is not None:
            return replace(self._load_bundle(), generation=self.generation)
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
        lines: Iterable[str | None],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        window: int = 4096,
        **options: Unpack[DecodingOptions],
    ) -> Iterator[Translation]:
        """Translate more lines than memory holds, in order.

        The engine works on at most `window` lines at a time, and at most twice as many are held. A line that
        equals one of the last 10,000 different ones is not translated again. Where `lines` yields None, all
        lines so far are translated before the next is read: a source that has to wait does that. An error
        of `lines` is raised after the translations of the lines before it.
        """
        decoding = Decoding.of(decoding, options)
        decoding.how(self.generation)  # raise ConfigError now, not at the first line
        self._check_target(decoding.to)
        if decoding.shortlist and self.shortlist is None:
            raise ConfigError(
                "this model has no shortlist",
                hint="make one from parallel text: dragoman model shortlist MODEL SOURCE TARGET",
            )
        _check_lines(lines)
        if type(window) is not int or window < 1:
            raise ConfigError(f"window = {window}", hint="use at least 1")
        return iter(self._stream(_with_prefixes(lines, prefix), decoding, window))

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        length_penalty: float | None = None,
        normalization: Normalization | None = None,
        to: str | None = None,
        attention: str | None = None,
        batch_tokens: int = 2048,
    ) -> list[Translation]:
        """Score `targets` as translations of `sources`, line by line, into the language `to` if given.

        The scores equal those that `translate` gives to the same tokens. `attention` is a layer, or a layer
        and a head, as in `Decoding`. Raises DataError if the numbers of sources and targets differ.
        """
        sources, targets = list(sources), list(targets)
        if len(sources) != len(targets):
            raise DataError(
                f"{len(sources)} sources and {len(targets)} translations to score",
                hint="give one translation for each source",
            )
        self._check_target(to)
        decoding = Decoding(
            length_penalty=length_penalty,
            normalization=normalization,
            batch_tokens=batch_tokens,
            attention=attention,
        )
        how = decoding.beam_search(self.generation)
        pairs = zip(
            self.tokenizer.encode_source([_to(to, source.strip()) for source in sources]),
            self.tokenizer.encode_target(targets),
            strict=True,
        )
        answers = self.engine.score(pairs, how, attention=decoding.attention_of, batch_tokens=batch_tokens)
        scored = _in_order(answers)
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
        require_pytorch("inspecting")
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
        self, items: Iterator[Item | None], decoding: Decoding, window: int
    ) -> Stream[Item, Translation]:
        how, most = decoding.how(self.generation), decoding.max_source_tokens
        extra = decoding.max_extra_tokens
        begin_of = lru_cache(maxsize=256)(self._prefix)
        attention = decoding.attention_of
        shortlist = self.shortlist if decoding.shortlist else None
        cut: set[Item] = set()  # those being translated whose source is too long

        def requests(items: Sequence[Item]) -> Iterator[Request]:
            lines = [_to(decoding.to, line.strip()) for line, _ in items]
            for item, tokens in zip(items, self.tokenizer.encode_source(lines), strict=True):
                rules = decoding.rules
                if tokens and (begin := begin_of(item[1])):
                    rules = (Prefix(begin), *rules)
                if len(tokens) > most:
                    cut.add(item)
                    tokens = tokens[:most]
                limit = len(tokens) + extra
                yield Request(
                    source=tokens,
                    how=how,
                    max_tokens=limit,
                    rules=rules,
                    attention=attention,
                    shortlist=None if shortlist is None else shortlist.of(tokens),
                )

        def answer(item: Item, request: Request, hypotheses: list[Hypothesis]) -> Translation:
            best, *others = [self._translation(item[0], each, cut=item in cut) for each in hypotheses]
            cut.discard(item)
            return replace(best, alternatives=tuple(others)) if others else best

        if decoding.to is None and len(self.tokenizer.languages) > 1:
            items = self._warning_of_language(items)
        return Stream(
            items,
            requests,
            answer,
            engine=self.engine,
            batch_tokens=decoding.batch_tokens,
            window=window,
            # Attention takes a hundred times the memory of the rest.
            remembered=0 if attention else 10_000 // decoding.n_best,
        )

    def _warning_of_language(self, items: Iterator[Item | None]) -> Iterator[Item | None]:
        """Yield the items. Log a warning if a line does not say which of several languages it goes to."""
        languages = self.tokenizer.languages
        tags, warned = tuple(f">>{language}<<" for language in languages), False
        for item in items:
            if not warned and item is not None and item[0].strip() and not item[0].lstrip().startswith(tags):
                log.warning("this model has several target languages; choose one: %s", ", ".join(languages))
                warned = True
            yield item

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
            attention=hypothesis.attention,
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


def _check_lines(lines: Iterable[str | None]) -> None:
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


def _with_prefixes(lines: Iterable[str | None], prefix: str | Iterable[str] | None) -> Iterator[Item | None]:
    """Yield (line, prefix) pairs, and None where `lines` does.

    Raises DataError if the numbers of lines and prefixes differ.
    """
    if prefix is None or isinstance(prefix, str):
        return (None if line is None else (line, prefix or "") for line in lines)
    return _paired(iter(lines), iter(prefix))


def _paired(lines: Iterator[str | None], prefixes: Iterator[str]) -> Iterator[Item | None]:
    number = 0
    for line in lines:
        if line is None:
            yield None
            continue
        number += 1
        prefix = next(prefixes, None)
        if prefix is None:
            raise DataError(
                f"line {number} has no prefix", hint="give one prefix for each line; it may be empty"
            )
        yield line, prefix
    if next(prefixes, None) is not None:
        raise DataError(f"more prefixes than the {number} lines", hint="give one prefix for each line")
