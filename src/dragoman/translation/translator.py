"""The public class of a trained model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from dragoman.base.errors import ConfigError
from dragoman.base.machine import require_pytorch
from dragoman.text.formality import Formality
from dragoman.text.guidance import LEAST, Guide
from dragoman.text.segmenter import segment_text
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.ensemble import check_members, engine_of_members
from dragoman.translation.exchange import Exchange, choosing
from dragoman.translation.lines import (
    Addressed,
    Directions,
    GivenContext,
    LineItem,
    by_parts,
    check_lines,
    checked_lines,
    given_context,
    line_items,
    prefix_tokens,
)
from dragoman.translation.resources import (
    adapter_folders,
    check_beside,
    check_inspection,
    check_memory,
    check_reverse,
    check_term_languages,
    memory_guide,
    term_guide,
    with_term_list,
)
from dragoman.translation.scoring import scored_pairs, sides
from dragoman.translation.search.alignment import Aligning, Alignment, aligning_of
from dragoman.translation.search.engine import Engine
from dragoman.translation.search.options import (
    Average,
    Beam,
    Decoding,
    DecodingOptions,
    Normalization,
    ScoringOptions,
)
from dragoman.translation.search.phrasing import Phrasing
from dragoman.translation.sentences import LineCutter
from dragoman.translation.translation import Translation, TranslationMaker, aligning_for

if TYPE_CHECKING:
    import torch

    from dragoman.inspection import Contrast, Intervention, Trace
    from dragoman.models.folder.bundle import Bundle
    from dragoman.translation.folder.shortlist import Shortlist
    from dragoman.translation.loading import Loaded, Variant
    from dragoman.translation.memory.store import MemoryGuide, TranslationMemory
    from dragoman.translation.native.choice import DType, EngineName
    from dragoman.translation.next_words import NextWord
    from dragoman.translation.protected import Sentence, Translated
    from dragoman.translation.search.evidence import Evidence
    from dragoman.translation.search.risk import Risk, RiskModel
    from dragoman.translation.terms.terms import TermGuide, TermList, TermsMode


# The attributes that may differ between a model and the model with an adapter.
_OF_ADAPTER = (
    *("engine", "tokenizer", "shortlist", "risk_models", "reads", "aligning"),
    *("source_language", "target_language", "_directions", "_load_bundle"),
)


class TraceOptions(DecodingOptions, total=False):
    """The options of `Translator.inspect`."""

    target: str | None
    prefix: str
    context: str
    name: str


class Translator:
    """A tokenizer and an engine, ready to translate.

    `generation` has the default options of the search. `shortlist` says which target tokens a sentence may
    use, `aligning` which attention aligns, and `risk_models` how to assess the risk of translations, by
    target language, if the options `shortlist`, `alignment` and `risk` ask for it.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: Engine,
        *,
        source_language: str,
        target_language: str,
        directions: Sequence[tuple[str, str]] = (),
        generation: Beam | None = None,
        shortlist: Shortlist | None = None,
        aligning: Aligning | None = None,
        terms: Sequence[TermGuide] = (),
        memory: MemoryGuide | None = None,
        reads: Sequence[str] = (),
        reverse: Translator | None = None,
        risk_models: Mapping[str, RiskModel] | None = None,
        load_bundle: Callable[[], Bundle] | None = None,
        adapters: Mapping[str, Variant] | None = None,
    ) -> None:
        """`directions` are the pairs of languages that a model of several was trained on.

        Terms and memories are both *guides*. `reads` says what the model was trained
        to read, as its folder names them: "terms", "matches", "context", "context target", "formality".
        `reverse` translates the other way and reranks the candidates.
        `using` chooses among the `adapters`.

        `load_bundle` returns the PyTorch model for `bundle` and `inspect`.
        """
        self.tokenizer, self.engine, self.shortlist = tokenizer, engine, shortlist
        self.aligning, self.risk_models = aligning, dict(risk_models or {})
        self.terms, self.memory = tuple(terms), memory
        self.reads, self.reverse = tuple(reads), reverse
        self.source_language, self.target_language = source_language, target_language
        self._directions = Directions(tokenizer, self._languages, tuple(directions))
        self.generation = generation or Beam()
        self.adapter: str | None = None  # the name of the one in use
        self.models = 1  # how many translate together
        self._load_bundle = load_bundle
        own = {name: vars(self)[name] for name in _OF_ADAPTER}
        self._variants: dict[str | None, dict[str, Any]] = {None: own}  # by the name of the adapter
        for key, one in (adapters or {}).items():
            from dragoman.translation.loading import Loaded

            # Risks were learnt for the weights of the model: an adapter's translations have others.
            new = {"engine": one.engine, "_load_bundle": one.load_bundle, "risk_models": {}}
            new |= {} if one.reads is None else {"reads": one.reads}
            if one.directions:
                new["_directions"] = Directions(self.tokenizer, self._languages, one.directions)
            if isinstance(one, Loaded):  # with languages of its own
                larger = type(self).of(one)
                new = {name: vars(larger)[name] for name in _OF_ADAPTER}
            self._variants[key] = own | new
        self._load_again: partial[Translator] | None = None  # see `__reduce__`

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: DType | None = None,
        engine: EngineName | None = None,
        adapter: str | Path | Mapping[str, str | Path] | None = None,
        download: bool = False,
    ) -> Translator:
        """Load a model: a folder of dragoman's, of Hugging Face's or of Marian's, an archive of one, or, with
        `download`, the name of a model on the Hugging Face hub. A `Path` is never looked for on the hub.

        `engine` is by default the environment variable DRAGOMAN_ENGINE, otherwise `auto`: the native engine
        if it is available, the model is a Transformer and no GPU is requested or found, else PyTorch.
        `device` is for PyTorch: by default a GPU if there is one, otherwise the CPU. `dtype` is float32,
        bfloat16, int8 (native engine only), or `auto`: int8 for a quantised model folder, else float32.

        `adapter` is the folder of an adapter for this model, which is then in use, or several folders with
        names, of which none is in use until `using` chooses one. Each takes as much memory as the
        matrices that it changes. One that adds languages takes more than a whole model, and needs PyTorch.

        Raises ModelError if the model is missing, damaged or of another kind, or an adapter is for another
        model, ConfigError for options that do not fit. Models of other programs are converted at each load;
        `dragoman import` converts a model once, and compares it with the other program.
        """
        from dragoman.translation.loading import load_model

        chosen, folders = adapter_folders(adapter)
        translator = cls.of(
            load_model(path, device=device, dtype=dtype, engine=engine, adapters=folders, download=download)
        )
        place = os.path.abspath(path) if os.path.exists(path) else path
        options: dict[str, Any] = {"device": device, "dtype": dtype, "engine": engine, "download": download}
        translator._load_again = partial(cls.load, place, adapter=folders, **options)
        return translator.using(adapter=chosen)

    @classmethod
    def of(
        cls,
        model: Bundle | Loaded,
        *,
        device: str | torch.device | None = None,
        dtype: DType | None = None,
        engine: EngineName | None = "pytorch",
    ) -> Translator:
        """The translator of a model in memory, or of the result of `dragoman.translation.loading.load_model`.

        The options are as in `load`, for a model without an engine. With PyTorch, the model itself moves
        to `device` and changes to `dtype`.
        """
        from dragoman.translation.loading import Loaded, ready

        if not isinstance(model, Loaded):
            model = ready(model, device=device, dtype=dtype, engine=engine)
        return cls(
            model.tokenizer,
            model.engine,
            source_language=model.config.source_language,
            target_language=model.config.target_language,
            directions=model.config.directions,
            generation=model.config.generation,
            shortlist=model.shortlist,
            aligning=aligning_of(model.config.model, model.config.alignment),
            risk_models=model.risk,
            reads=model.config.guidance,
            load_bundle=model.load_bundle,
            adapters=model.adapters,
        )

    @classmethod
    def ensemble(cls, members: Sequence[Translator], *, average: Average = "log-probabilities") -> Translator:
        """Return a translator that averages the distributions of several models at each step.

        "log-probabilities" takes their geometric mean, scaled to sum to 1, "probabilities" the arithmetic
        mean. All need the same tokenizer and languages; their shapes may differ, and their weights are
        shared, not copied. Options, shortlist, alignment, attention and `inspect` come from the first.
        Risks are not calibrated for an ensemble. Raises ConfigError for models that do not fit each other and
        for ensembles among several.
        """
        members = list(members)
        check_members(members, average)
        first = members[0]
        if len(members) == 1:
            return first
        together = copy(first)
        together.models, together.engine = len(members), engine_of_members(members, average)
        together.reads = tuple(kind for kind in first.reads if all(kind in one.reads for one in members))
        together.adapter, together.risk_models, together._load_bundle = None, {}, lambda: first.bundle
        together._variants = {None: {name: vars(together)[name] for name in _OF_ADAPTER}}
        together._load_again = partial(cls.ensemble, members, average=average)
        return together

    def __repr__(self) -> str:
        """Languages, engine and place of the model, and its guides."""
        what = [f"{self.source_language} to {self.target_language}", type(self.engine).__name__]
        if self.models > 1:
            what.append(f"{self.models} models")
        elif self._load_again is not None:
            what.append(repr(str(self._load_again.args[0])))
        what += [f"adapter {self.adapter!r}"] if self.adapter is not None else []
        what += [f"{sum(len(one.terms) for one in self.terms)} terms"] if self.terms else []
        what += [f"memory {str(self.memory.memory.path)!r}"] if self.memory is not None else []
        return f"<Translator {', '.join(what + ['a reverse model'] * (self.reverse is not None))}>"

    def __dir__(self) -> list[str]:
        """The public names, for completion. docs/python.md has them all."""
        return [name for name in super().__dir__() if not name.startswith("_") and name != "pipeline"]

    def __copy__(self) -> Translator:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to load the model again, and the additions of `using`, but no weights.

        Raises TypeError for a model that was not loaded with `load`.
        """
        if self._load_again is None:
            raise TypeError("a translator of a model in memory cannot be pickled; save the model and load it")
        state = {name: getattr(self, name) for name in ("adapter", "terms", "memory", "reverse")}
        return self._load_again, (), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(self.using(adapter=state["adapter"])) | state)

    @property
    def several(self) -> bool:
        """Whether its texts have to say their languages, because it has several."""
        return self._directions.several

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """The pairs (source, target) that a model of several languages was trained on; else empty."""
        return self._directions.trained

    @property
    def sources(self) -> tuple[str, ...]:
        """The languages that the model translates from, as it writes them."""
        return self._directions.sources

    @property
    def targets(self) -> tuple[str, ...]:
        """The languages that the model translates to, as it writes them."""
        return self._directions.targets or (self.target_language,)

    @property
    def guides(self) -> tuple[Guide, ...]:
        """The lists of terms, then the memory, in use."""
        return self.terms if self.memory is None else (*self.terms, self.memory)

    @property
    def adapters(self) -> list[str]:
        """The names of the adapters that `using` knows."""
        return [name for name in self._variants if name is not None]

    def using(
        self,
        *,
        adapter: str | EllipsisType | None = ...,
        terms: str | Path | TermList | None = None,
        terms_mode: TermsMode | None = None,
        memory: str | Path | TranslationMemory | None = None,
        match_least: float = LEAST,
        reverse: Translator | None = None,
    ) -> Translator:
        """Return a translator with the same model in memory that also uses these resources.

        `adapter` is the name of an adapter that `load` got, or None for the model without one. Left out, it
        stays as it is.

        `terms` is a list of terms, or a file of one, which is added to those in use. A term that both have
        may get any of its translations, and the new ones are preferred. `soft`: the model reads the terms
        with the line and inflects them; it must have been trained so. `hard`: the search puts them in as
        they are written. By default soft, if the model can.

        With `memory`, a line that the memory has gets the translation of the memory. For another sentence
        the most similar one is in `Translation.match`, if it is at least `match_least` percent alike, and a
        model that was trained to read matches reads it. Uses are counted when you close a memory that you
        opened.

        `reverse` is a translator of the other direction. It reranks the candidates: both must find the
        translation likely (the option `reverse_weight`).

        Both translators may translate at the same time. Raises DataError for a file that cannot be used,
        ConfigError for an adapter that is not loaded, for a mode that the model does not have, and for other
        languages.
        """
        other = copy(self)
        if not isinstance(adapter, EllipsisType) and adapter != "":  # "" was the default before
            if adapter not in self._variants:
                hint = f"loaded are {', '.join(self.adapters)}" if self.adapters else ""
                hint = hint or "load it: Translator.load(MODEL, adapter=FOLDER)"
                raise ConfigError(f"adapter {adapter!r} is not loaded", hint=hint)
            vars(other).update(self._variants[adapter], adapter=adapter)
            vars(other).pop("_phrasing", None)  # of another tokenizer
        if terms is not None:
            guide = term_guide(terms, terms_mode, other._languages, other.tokenizer, other.reads)
            check_term_languages((guide,), other._languages, other._directions.targets, None)
            other.terms = with_term_list(self.terms, guide)
        if memory is not None:
            other.memory = memory_guide(memory, match_least, other.reads)
            other._check_memory(Decoding())
        if reverse is not None:
            check_reverse(reverse._languages, other._languages)
            other.reverse = reverse
        return other

    @property
    def bundle(self) -> Bundle:
        """Model, tokenizer and languages, as a model folder holds them, for PyTorch.

        A native engine has no PyTorch model, so the first use loads it. Raises ConfigError if PyTorch is not
        installed, or for an engine of your own.
        """
        if (load_bundle := self._load_bundle) is None:
            raise ConfigError(
                f"{type(self.engine).__name__}: has no PyTorch model to look into",
                hint="load the model folder with Translator.load",
            )
        return replace(load_bundle(), generation=self.generation)

    @overload  # a string is an iterable of strings
    def __call__(  # type: ignore[overload-overlap]
        self, text: str, **options: Unpack[DecodingOptions]
    ) -> str: ...

    @overload
    def __call__(self, text: Iterable[str], **options: Unpack[DecodingOptions]) -> list[str]: ...

    def __call__(self, text: str | Iterable[str], **options: Unpack[DecodingOptions]) -> str | list[str]:
        """The best translation of a text of any length, sentence by sentence, or of each text in a list.

        Line breaks and the space between sentences are preserved. Options are as in `translate`.
        """
        texts = [text] if isinstance(text, str) else checked_lines(text)
        parts = [segment_text(one, *self._languages, how="lines", longest=None) for one in texts]
        found = iter(self.translate([line for one in parts for line in one.sentences], **options))
        new = [one.joined([next(found).text for _ in one.pieces])[0] for one in parts]
        return new[0] if isinstance(text, str) else new

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        lines: str,
        decoding: Decoding | None = None,
        *,
        prefix: str | None = None,
        context: GivenContext = None,
        **options: Unpack[DecodingOptions],
    ) -> Translation: ...

    @overload
    def translate(
        self,
        lines: Iterable[str],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        context: str | Iterable[GivenContext] | None = None,
        **options: Unpack[DecodingOptions],
    ) -> list[Translation]: ...

    def translate(
        self,
        lines: str | Iterable[str],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        context: GivenContext | Iterable[GivenContext] = None,
        **options: Unpack[DecodingOptions],
    ) -> Translation | list[Translation]:
        """Return one Translation for each line, in order; of a single line, given as a string, its own.

        A blank line stays as it is.

        Pass options as a `Decoding`, as keywords with the names of its fields, or both. Keywords win.
        Spaces around a line are ignored. Each sentence of a line is translated by itself, and placeholders,
        URLs and e-mail addresses are kept; `split=False` gives the model each line as it is. The score of
        a line of several sentences is the mean of theirs, weighted by their tokens.

        `prefix` is one text for all lines or one for each. Every translation begins with it. Its tokens
        are forced, so the last word may continue ("Ein" as "Eine"). Spaces around it are ignored.

        `context` is what stands before the lines: one text for all, or one for each, which may be a pair of
        the text and its translation. A model that was trained with context reads it, and the sentences of a
        line before each sentence. One that was trained with the sources alone leaves out the translation.

        Raises ConfigError for invalid options, and for a context or a formality that the model does not
        read; DataError for a prefix that the tokenizer cannot spell.
        """
        several = [lines] if isinstance(lines, str) else checked_lines(lines)
        if isinstance(lines, str) and context:
            context = [cast("GivenContext", context)]
        window = max(len(several), 1)
        found = list(self.stream(several, decoding, prefix=prefix, context=context, window=window, **options))
        return found[0] if isinstance(lines, str) else found

    def stream(
        self,
        lines: Iterable[str | None],
        decoding: Decoding | None = None,
        *,
        prefix: str | Iterable[str] | None = None,
        context: str | Iterable[GivenContext] | None = None,
        window: int = 4096,
        **options: Unpack[DecodingOptions],
    ) -> Iterator[Translation]:
        """Translate more lines than memory holds, in order.

        The engine works on at most `window` lines at a time, and at most twice as many are held. A line that
        equals one of the last 10,000 different ones is not translated again: fewer with several candidates,
        none with attention. Where `lines` yields None, all
        lines so far are translated before the next is read: for a source that has to wait. An error
        of `lines` is raised after the translations of the lines before it.
        """
        asked = Decoding.of(decoding, options)
        decoding = choosing(asked, shortlist=self.shortlist is not None, reverse=self.reverse is not None)
        decoding.how(self.generation)  # raise ConfigError now, not at the first line
        source, to = self._directions.chosen(decoding.source, decoding.to)
        self._directions.warn_if_unseen(source, to)
        decoding = replace(decoding, source=source, to=to)
        self._check_memory(decoding)
        check_term_languages(self.terms, self.pair(decoding), self._directions.targets, to)
        if decoding.sample is not None and any(one.mode == "hard" for one in self.terms):
            raise ConfigError(
                "hard terms cannot be used with sampling",
                hint="use a beam search, or a model that reads terms",
            )
        exchange = self._exchange(decoding)
        if decoding.shortlist and self.shortlist is None:
            raise ConfigError(
                "this model has no shortlist",
                hint="make one from parallel text: dragoman model shortlist MODEL SOURCE TARGET",
            )
        check_lines(lines)
        if type(window) is not int or window < 1:
            raise ConfigError(f"window = {window} cannot be used", hint="use at least 1")
        to = self.pair(decoding)[1]
        check_beside(self.reads, context=bool(context), formality=decoding.formality, to=to)
        items = line_items(lines, prefix, context, both="context target" in self.reads)
        split = decoding.split and decoding.attention is None
        if not (split or decoding.protects):
            return iter(exchange.stream(items, self.engine, window))
        memory = None if self.memory is None else self.memory.memory
        protect = partial(self._protected, asked) if decoding.protects else None
        cutter = LineCutter(exchange.maker, memory, split, protect, reads_context="context" in self.reads)
        return by_parts(items, cutter.cut, lambda parts: exchange.stream(parts, self.engine, window))

    def _protected(self, decoding: Decoding, sentences: Sequence[Sentence]) -> list[Translated]:
        from dragoman.translation.protected import Sentences

        return Sentences(self, decoding).translate(sentences)

    def next_words(
        self,
        line: str,
        prefix: str = "",
        *,
        most: int = 8,
        source: str | None = None,
        to: str | None = None,
        context: GivenContext = None,
    ) -> list[NextWord]:
        """Return the likeliest words after `prefix`, with which the translation begins; the best first.

        If the prefix ends with a space, a new word begins; otherwise its last word may continue. `source` and
        `to` are as in `Decoding`, `context` as in `translate`. Raises ConfigError for `most` out of range,
        DataError for a prefix that the tokenizer cannot spell.
        """
        from dragoman.translation.next_words import next_words

        source, to = self._directions.chosen(source, to)
        check_beside(self.reads, context=bool(context), formality=None)
        item = LineItem(line, prefix, given_context(context, both="context target" in self.reads))
        asked = copy(self)
        asked.memory = self.memory and self.memory.inexact()
        request, _ = next(asked._exchange(Decoding(source=source, to=to)).requests([item]))
        return next_words(self.tokenizer, self.engine, request, prefix, most=most)

    def score(
        self,
        sources: Iterable[str] | Iterable[tuple[str, str]],
        targets: Iterable[str] | None = None,
        *,
        length_penalty: float | None = None,
        normalization: Normalization | None = None,
        source: str | None = None,
        to: str | None = None,
        formality: Formality | None = None,
        context: str | Iterable[GivenContext] | None = None,
        attention: str | None = None,
        alignment: bool = False,
        batch_tokens: int = 2048,
    ) -> list[Translation]:
        """Score `targets` as translations of `sources`, line by line; their languages are as in `Decoding`.

        Without `targets`, `sources` are pairs (source, translation). The scores equal those that `translate`
        gives to the same tokens. `context` is as in `translate`, the others are as in `Decoding`. Raises
        DataError if the numbers of sources and targets differ.
        """
        sources, targets = sides(sources, targets)
        both = "context target" in self.reads
        source, to = self._directions.chosen(source, to)
        lines = self._directions.warning(line_items(sources, None, context, both=both), to)
        items = [one for one in lines if one is not None]
        decoding = Decoding(
            source=source,
            length_penalty=length_penalty,
            normalization=normalization,
            to=to,
            formality=formality,
            batch_tokens=batch_tokens,
            attention=attention,
            alignment=alignment,
        )
        check_beside(self.reads, context=bool(context), formality=formality, to=self.pair(decoding)[1])
        how, maker = decoding.beam_search(self.generation), self._maker(decoding)
        return scored_pairs(self.engine, maker, how, items, targets)

    def align(
        self,
        sources: Iterable[str] | Iterable[tuple[str, str]],
        targets: Iterable[str] | None = None,
        *,
        attention: str | None = None,
        **options: Unpack[ScoringOptions],
    ) -> list[Alignment]:
        """Align `targets`, translations from anywhere, with their `sources`, line by line. Or give pairs.

        `attention` is the layer, or layer and head, to align by; by default, the model's. Options and errors
        are as in `score`. Raises ConfigError for a model without attention.
        """
        scored = self.score(sources, targets, attention=attention, alignment=True, **options)
        return [one.alignment for one in scored if one.alignment is not None]

    def evidence(
        self,
        sources: Iterable[str] | Iterable[tuple[str, str]],
        targets: Iterable[str] | None = None,
        **options: Unpack[ScoringOptions],
    ) -> list[Evidence]:
        """Return the model's evidence about `targets` as translations of `sources`, by line, or of pairs.

        Options and errors are as in `score`.
        """
        from dragoman.translation.search.evidence import evidence_of

        own = self.aligning
        attention = None if own is None else str(own.attention)
        scored = self.score(sources, targets, attention=attention, alignment=own is not None, **options)
        return [
            evidence_of(one.source, one.text, one.token_logp, one.attention, one.alignment) for one in scored
        ]

    def risk(
        self,
        sources: Iterable[str] | Iterable[tuple[str, str]],
        targets: Iterable[str] | None = None,
        **options: Unpack[ScoringOptions],
    ) -> list[Risk]:
        """Return the risk of `targets`, translations of `sources` from anywhere, line by line, or of pairs.

        `translate` with the option `risk` assesses the model's own translations. Options and errors are as in
        `score`.
        """
        from dragoman.translation.search.risk import assess

        sources, targets = sides(sources, targets)
        evidence = self.evidence(sources, targets, **options)
        languages = self.pair(Decoding(source=options.get("source"), to=options.get("to")))
        model, several = self._risk_model(languages[1]), bool(self._directions.targets)
        return [
            assess(model, one, line, target, languages, given=True, several=several)
            for one, line, target in zip(evidence, sources, targets, strict=True)
        ]

    @overload
    def inspect(
        self, line: str, decoding: Decoding | None = None, **options: Unpack[TraceOptions]
    ) -> Trace: ...

    @overload
    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        intervention: Intervention,
        **options: Unpack[TraceOptions],
    ) -> Contrast: ...

    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        target: str | None = None,
        prefix: str = "",
        context: str = "",
        name: str = "",
        intervention: Intervention | None = None,
        **options: Unpack[DecodingOptions],
    ) -> Trace | Contrast:
        """Return a Trace of one line: attention, the beam search and positions.

        The options are as in `translate` for one beam search. With `target` the trace describes that
        translation, and no search runs. `context` is what stands before the line, for a model that reads it;
        the trace has it behind the line. `name` is the name of the model in the trace. With an
        `intervention`, return a Contrast: the run without and with it, and the differences.

        Raises DataError for a line without tokens or with more than 512, ConfigError for a beam above 50, for
        an option that inspection does not use, for a search with terms, a memory or a reverse model, and for
        an intervention that the model does not allow; TypeError for an argument of another type.
        """
        require_pytorch("inspecting")
        from dragoman.inspection import Intervention, contrast, inspect

        decoding = Decoding.of(decoding, options)
        given = {"line": line, "target": target, "prefix": prefix, "context": context, "name": name}
        for what, one in given.items():
            if not isinstance(one, str) and not (what == "target" and one is None):
                raise TypeError(f"{what} is {one!r}, not a string")
        if not isinstance(intervention, Intervention | None):
            raise TypeError(f"intervention is {intervention!r}, not an Intervention")
        next(self._directions.warning([LineItem(line)], decoding.to))
        text, start = self.addressed(line.strip(), decoding.source, decoding.to)
        check_inspection(decoding, target, prefix, self.guides, self.reverse)
        beside, languages = given_context(context), self.pair(decoding)
        check_beside(self.reads, context=bool(context), formality=decoding.formality, to=languages[1])
        look = inspect if intervention is None else partial(contrast, intervention=intervention)
        return look(
            replace(self.bundle, source_language=languages[0], target_language=languages[1]),
            text,
            target=target,
            context=beside.source if beside else "",
            formality=decoding.formality,
            start=start,
            beam=decoding.beam_search(self.generation),
            prefix=prefix_tokens(self.tokenizer, prefix, banned=self.generation.banned),
            rules=decoding.rules(len(start)),
            max_extra_tokens=decoding.max_extra_tokens,
            name=name,
        )

    @property
    def _languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    @cached_property
    def _phrasing(self) -> Phrasing:
        return Phrasing(self.tokenizer)

    def addressed(self, line: str, source: str | None, to: str | None) -> Addressed:
        """What the model reads for a line without spaces around it: its text behind marks of languages.

        Languages are as in `Decoding`. Raises ConfigError for one that the model does not have.
        """
        return self._directions.addressed(line, *self._directions.chosen(source, to))

    def pair(self, decoding: Decoding | None = None) -> tuple[str, str]:
        """The languages of translations with these options, source and target; "mul" for one left open.

        Raises ConfigError for a language that the model does not have.
        """
        source, to = self._directions.chosen(*((decoding.source, decoding.to) if decoding else (None, None)))
        return source or self.source_language, to or self.target_language

    def _check_memory(self, decoding: Decoding) -> None:
        targets = (decoding.to,) if decoding.to is not None else self.targets
        check_memory(self.memory, self.pair(decoding)[0], targets)

    def _maker(self, decoding: Decoding) -> TranslationMaker:
        aligning = aligning_for(decoding, self.aligning)
        risk = self._risk_model(self.pair(decoding)[1]) if decoding.risk else None
        return TranslationMaker(self.tokenizer, self._directions, decoding, aligning, risk)

    def _risk_model(self, language: str) -> RiskModel | None:
        """How to assess translations into a language. Logs a warning if it is of an earlier version."""
        model = self.risk_models.get(language)
        if model is not None and not model.detects:
            import logging

            logging.getLogger(__name__).warning(
                "the risk was calibrated by an earlier version, so only flags that need no model are raised; "
                "run dragoman model calibrate"
            )
        return model

    def _exchange(self, decoding: Decoding) -> Exchange:
        source, to = decoding.source, decoding.to
        attention, alignment = decoding.attention, decoding.alignment
        maker = self._maker(decoding)
        own = self.aligning if maker.attention is None else Aligning(maker.attention)
        back = None if self.reverse is None else self.reverse.score
        if self.reverse is not None and self.reverse.several:  # a model of one pair needs no languages
            languages = self.pair(decoding)
            if "mul" in languages:
                raise ConfigError(
                    "the languages are open, and the reverse model has several",
                    hint="name both, --from and --to",
                )
            back = partial(self.reverse.score, source=languages[1], to=languages[0])
        return Exchange(
            maker=maker,
            how=decoding.how(self.generation),
            shortlist=self.shortlist if decoding.shortlist else None,
            guides=self.guides,
            phrasing=self._phrasing,
            aligning=maker.aligning or own,
            score=partial(self.score, source=source, to=to, attention=attention, alignment=alignment),
            reverse=back,
        )
