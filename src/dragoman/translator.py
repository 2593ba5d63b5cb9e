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
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.pytorch import require_pytorch
from dragoman.decoding.alignment import Aligning, Alignment, aligning_of, alignment_of
from dragoman.decoding.engine import Engine, Hypothesis, Request, Tokens
from dragoman.decoding.options import AttentionOf, Beam, Decoding, DecodingOptions, Normalization
from dragoman.decoding.parts import by_parts
from dragoman.decoding.rules import Prefix, keeping
from dragoman.decoding.stream import Stream
from dragoman.text.sentences import between, spacing, split_sentences
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
    alignment: Alignment | None = None  # which tokens and words translate which; None unless asked for


class Translator:
    """A tokenizer and an engine, ready to translate.

    `generation` has the default options of the search. `shortlist` says which target tokens a sentence may
    use, and `aligning` which attention aligns, if the options `shortlist` and `alignment` ask for it.
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
        aligning: Aligning | None = None,
        load_bundle: Callable[[], Bundle] | None = None,
    ) -> None:
        """`load_bundle` returns the PyTorch model for `bundle` and `inspect`, if the engine has none."""
        self.tokenizer, self.engine, self.shortlist = tokenizer, engine, shortlist
        self.aligning = aligning
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
            aligning=aligning_of(loaded.config.model, loaded.config.alignment),
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
        """The best translation of a text of any length, sentence by sentence.

        Lines and the space between sentences are kept.
        """
        lines = text.splitlines(keepends=True)
        translations = self.translate([line.strip() for line in lines], sentences=True)
        new = [
            spacing(line)[0] + one.text + spacing(line)[2]
            for line, one in zip(lines, translations, strict=True)
        ]
        return "".join(new)

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
        Spaces around a line are ignored. A line is one sentence for the model unless `sentences` is set. The
        score of a line of several is then the mean of theirs, weighted by their tokens.

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
        self._attention(decoding)
        if decoding.shortlist and self.shortlist is None:
            raise ConfigError(
                "this model has no shortlist",
                hint="make one from parallel text: dragoman model shortlist MODEL SOURCE TARGET",
            )
        _check_lines(lines)
        if type(window) is not int or window < 1:
            raise ConfigError(f"window = {window}", hint="use at least 1")
        items = _with_prefixes(lines, prefix)
        if not decoding.sentences:
            return iter(self._stream(items, decoding, window))
        return by_parts(
            items, self._cut, lambda parts: self._stream(parts, decoding, window), self._joined(decoding.to)
        )

    def score(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        length_penalty: float | None = None,
        normalization: Normalization | None = None,
        to: str | None = None,
        attention: str | None = None,
        alignment: bool = False,
        batch_tokens: int = 2048,
    ) -> list[Translation]:
        """Score `targets` as translations of `sources`, line by line, into the language `to` if given.

        The scores equal those that `translate` gives to the same tokens. `attention` and `alignment` are as
        in `Decoding`. Raises DataError if the numbers of sources and targets differ.
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
            alignment=alignment,
        )
        how, chosen = decoding.beam_search(self.generation), self._attention(decoding)
        read = [_to(to, source.strip()) for source in sources]
        encoded = self.tokenizer.encode_source(read)
        pairs = zip(encoded, self.tokenizer.encode_target(targets), strict=True)
        answers = self.engine.score(pairs, how, attention=chosen, batch_tokens=batch_tokens)
        scored = zip(sources, read, encoded, _in_order(answers), targets, strict=True)
        return [
            self._translation(source, line, tokens, hypothesis, decoding, given=target)
            for source, line, tokens, hypothesis, target in scored
        ]

    def align(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        to: str | None = None,
        attention: str | None = None,
        batch_tokens: int = 2048,
    ) -> list[Alignment]:
        """Align `targets`, translations from anywhere, with their `sources`, line by line.

        `attention` is the layer, or layer and head, to align by; by default, the model's. Raises DataError
        if the numbers of sources and targets differ, ConfigError for a model without attention.
        """
        scored = self.score(
            sources, targets, to=to, attention=attention, alignment=True, batch_tokens=batch_tokens
        )
        return [one.alignment for one in scored if one.alignment is not None]

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

    def _cut(self, item: Item) -> list[Item]:
        """The sentences of a line. The prefix is that of the first."""
        sentences = split_sentences(item[0].strip(), self.source_language) or [""]
        return [(sentence, "" if number else item[1]) for number, sentence in enumerate(sentences)]

    def _joined(self, to: str | None) -> Callable[[Item, Sequence[Item], Sequence[Translation]], Translation]:
        """Return what makes one translation of a line from those of its sentences."""
        languages = self.source_language, to or self.target_language

        def join(item: Item, parts: Sequence[Item], found: Sequence[Translation]) -> Translation:
            spaces = [between(spacing(sentence)[2], *languages) for sentence, _ in parts[:-1]] + [""]
            count = sum(len(one.token_logp) for one in found)
            return Translation(
                source=item[0],
                text="".join(one.text + space for one, space in zip(found, spaces, strict=True)),
                score=sum(one.score * len(one.token_logp) for one in found) / max(count, 1),
                tokens=tuple(chain.from_iterable(one.tokens for one in found)),
                token_logp=tuple(chain.from_iterable(one.token_logp for one in found)),
                truncated=any(one.truncated for one in found),
            )

        return join

    def _stream(
        self, items: Iterator[Item | None], decoding: Decoding, window: int
    ) -> Stream[Item, Translation]:
        how, most = decoding.how(self.generation), decoding.max_source_tokens
        extra = decoding.max_extra_tokens
        begin_of = lru_cache(maxsize=256)(self._prefix)
        attention, placeholders = self._attention(decoding), self.tokenizer.placeholders
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
                rules += keeping(tokens, placeholders)
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
            line, read, tokens = item[0], _to(decoding.to, item[0].strip()), request.source
            best, *others = [
                self._translation(line, read, tokens, each, decoding, cut=item in cut) for each in hypotheses
            ]
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
            remembered=0 if decoding.attention else 10_000 // decoding.n_best,
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

    def _aligning(self, decoding: Decoding) -> Aligning | None:
        """What aligns, if asked for, by `decoding.attention` or the model's default. Raises ConfigError."""
        if not decoding.alignment:
            return None
        chosen, own = decoding.attention_of, self.aligning
        if chosen is None and own is None:
            raise ConfigError("this model has no attention to align words by", hint="leave alignment out")
        return own if chosen is None or (own and own.attention == chosen) else Aligning(chosen)

    def _attention(self, decoding: Decoding) -> AttentionOf | None:
        """The attention that the engine has to return. Raises ConfigError if nothing can align."""
        aligning = self._aligning(decoding)
        return decoding.attention_of if aligning is None else aligning.attention

    def _translation(
        self,
        source: str,
        read: str,
        tokens: Tokens,
        hypothesis: Hypothesis,
        decoding: Decoding,
        *,
        given: str | None = None,
        cut: bool = False,
    ) -> Translation:
        """The translation of a source, or its `given` translation, whose tokens `hypothesis` has.

        `read` is what the model read for the source, and `tokens` what it was cut into.
        """
        if given is None:
            # With byte fallback a translation can contain a line break. Keep it one line.
            text = self.tokenizer.decode(hypothesis.tokens).replace("\r", " ").replace("\n", " ")
        else:
            text = given if hypothesis.token_logp else ""
        alignment = None
        if aligning := self._aligning(decoding):
            spans = (
                self.tokenizer.target_spans(hypothesis.tokens)
                if given is None
                else self.tokenizer.spans(text, "target")
            )
            alignment = alignment_of(
                self.tokenizer, source, read, tokens, text, spans, hypothesis, reading=aligning.reading
            )
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            tokens=tuple(self.tokenizer.target_pieces(hypothesis.tokens)),
            token_logp=hypothesis.token_logp,
            truncated=hypothesis.truncated or cut,
            attention=hypothesis.attention if decoding.attention is not None else (),
            alignment=alignment,
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
