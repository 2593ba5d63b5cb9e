"""The public class of a trained model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from dragoman.base.errors import ConfigError
from dragoman.base.pytorch import require_pytorch
from dragoman.decoding.alignment import Aligning, Alignment, aligning_of
from dragoman.decoding.engine import Engine
from dragoman.decoding.evidence import Evidence, evidence_of
from dragoman.decoding.options import Average, Beam, Decoding, DecodingOptions, Normalization
from dragoman.decoding.parts import by_parts
from dragoman.decoding.phrasing import Phrasing
from dragoman.decoding.risk import Risk, RiskModel, assess
from dragoman.text.guidance import LEAST, Guide
from dragoman.text.sentences import spacing
from dragoman.text.shortlist import Shortlist
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator.adapters import adapter_folders, running, with_adapter
from dragoman.translator.choice import choosing
from dragoman.translator.ensemble import check_members, engine_of_members
from dragoman.translator.exchange import Exchange
from dragoman.translator.inspecting import bundle_of_engine, check_inspection
from dragoman.translator.lines import (
    addressed,
    check_lines,
    check_strings,
    prefix_tokens,
    sentences_of,
    target_of,
    with_prefixes,
)
from dragoman.translator.resources import (
    check_memory,
    check_reverse,
    check_sampling,
    check_term_languages,
    check_unguided,
    memory_guide,
    memory_of,
    term_guide,
    with_memory,
    with_term_list,
)
from dragoman.translator.scoring import check_pairs, scored_pairs
from dragoman.translator.translation import Translation, TranslationMaker, aligning_for

if TYPE_CHECKING:
    import torch

    from dragoman.engine.choice import DType, EngineName
    from dragoman.folder.bundle import Bundle
    from dragoman.inspection import Contrast, Intervention, Trace
    from dragoman.loading import Loaded, Variant
    from dragoman.memory.store import TranslationMemory
    from dragoman.memory.store_guide import MemoryGuide
    from dragoman.memory.terms import TermList, TermsMode
    from dragoman.pipeline import Pipeline, PipelineOptions
    from dragoman.translator.next_words import NextWord


class Translator:
    """A tokenizer and an engine, ready to translate.

    `generation` has the default options of the search. `shortlist` says which target tokens a sentence may
    use, `aligning` which attention aligns, and `risk_models` what is known about the risk of translations, by
    target language, if the options `shortlist`, `alignment` and `risk` ask for it.
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
        guides: Sequence[Guide] = (),
        reads: Sequence[str] = (),
        reverse: Translator | None = None,
        risk_models: Mapping[str, RiskModel] | None = None,
        load_bundle: Callable[[], Bundle] | None = None,
        adapters: Mapping[str, Variant] | None = None,
    ) -> None:
        """`guides` say what to use for a line: terms, a memory. `reads` is what of it the model was trained
        to read: "terms", "matches". `reverse` translates the other way and has a say in which of several
        translations is best. `adapters` are what `using` chooses from.

        `load_bundle` returns the PyTorch model for `bundle` and `inspect`, if the engine has none.
        """
        self.tokenizer, self.engine, self.shortlist = tokenizer, engine, shortlist
        self.aligning, self.risk_models = aligning, dict(risk_models or {})
        self._own_risks = self.risk_models  # of the model without an adapter
        self.guides, self.reads, self.reverse = tuple(guides), tuple(reads), reverse
        self.source_language, self.target_language = source_language, target_language
        self.generation = generation or Beam()
        self.adapter: str | None = None  # the name of the one in use
        self.models = 1  # how many translate together
        self._variants = running(engine, load_bundle, adapters or {})
        self._load_bundle = self._variants[None].load_bundle

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: DType | None = None,
        engine: EngineName | None = None,
        adapter: str | Path | Mapping[str, str | Path] | None = None,
    ) -> Translator:
        """Load a model: a folder of dragoman's, of Hugging Face's or of Marian's, an archive of one, or the
        name of a model on the Hugging Face hub. A name is a string; a `Path` is never looked for on the hub.

        `engine` is by default the environment variable DRAGOMAN_ENGINE, otherwise `auto`: the native engine
        if it is available, the model is a Transformer and no GPU is asked for or found, else PyTorch.
        `device` is for PyTorch: by default a GPU if there is one, otherwise the CPU. `dtype` is float32,
        bfloat16, int8 (native engine only), or `auto`: int8 for a quantised model folder, else float32.

        `adapter` is the folder of an adapter for this model, which is then in use, or several folders with
        names, of which none is in use until `using` chooses one. Each takes as much memory as the matrices
        that it changes.

        Raises ModelError if the model is missing, damaged or of another kind, or an adapter is for another
        model, ConfigError for options that do not fit. What is not dragoman's is converted at each load;
        `dragoman import` converts it once, and compares it with the other program.
        """
        from dragoman.loading import load_model

        chosen, folders = adapter_folders(adapter)
        loaded = load_model(path, device=device, dtype=dtype, engine=engine, adapters=folders)
        return cls.of_loaded(loaded).using(adapter=chosen)

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

        return cls.of_loaded(ready(bundle, device=device, dtype=dtype, engine=engine))

    @classmethod
    def of_loaded(cls, loaded: Loaded) -> Translator:
        """The translator of what `dragoman.loading.load_model` returned."""
        return cls(
            loaded.tokenizer,
            loaded.engine,
            source_language=loaded.config.source_language,
            target_language=loaded.config.target_language,
            generation=loaded.config.generation,
            shortlist=loaded.shortlist,
            aligning=aligning_of(loaded.config.model, loaded.config.alignment),
            risk_models=loaded.risk,
            reads=loaded.config.guidance,
            load_bundle=loaded.load_bundle,
            adapters=loaded.adapters,
        )

    @classmethod
    def ensemble(cls, members: Sequence[Translator], *, average: Average = "log-probabilities") -> Translator:
        """Return a translator that averages the distributions of several models at each step.

        "log-probabilities" takes their geometric mean, scaled to sum to 1, "probabilities" the arithmetic
        mean. All need the same tokenizer and languages; their shapes may differ, and their weights are
        shared, not copied. Options, shortlist, alignment, attention and `inspect` are those of the first.
        Risks are not calibrated for an ensemble. Raises ConfigError for models that do not fit each other and
        for members that are ensembles.
        """
        members = list(members)
        check_members(members, average)
        first = members[0]
        if len(members) == 1:
            return first
        together = cls(
            first.tokenizer,
            engine_of_members(members, average),
            source_language=first.source_language,
            target_language=first.target_language,
            generation=first.generation,
            shortlist=first.shortlist,
            aligning=first.aligning,
            guides=first.guides,
            reads=[kind for kind in first.reads if all(kind in one.reads for one in members)],
            reverse=first.reverse,
            load_bundle=lambda: first.bundle,
        )
        together.models = len(members)
        return together

    @property
    def memory(self) -> MemoryGuide | None:
        """The translation memory in use."""
        return memory_of(self.guides)

    @property
    def adapters(self) -> list[str]:
        """The names of the adapters that `using` knows."""
        return [name for name in self._variants if name is not None]

    def using(
        self,
        *,
        adapter: str | None = "",
        terms: str | Path | TermList | None = None,
        terms_mode: TermsMode | None = None,
        memory: str | Path | TranslationMemory | None = None,
        match_least: float = LEAST,
        reverse: Translator | None = None,
    ) -> Translator:
        """Return a translator with the same model in memory that also uses what is named.

        `adapter` is the name of an adapter that `load` got, or None for the model without one.

        `terms` is a list of terms, or a file of one, beside those in use. A term that both have may get any
        of its translations, and the new ones are preferred. `soft`: the model reads the terms
        beside the line and inflects them; it must have been trained so. `hard`: the search puts them in as
        they are written. By default soft, if the model can.

        With `memory`, a line that the memory has gets the translation of the memory. For another line the
        most similar one is in `Translation.match`, if it is at least `match_least` percent alike, and a model
        that was trained to read matches reads it.

        `reverse` is a translator of the other direction. Of several translations, that one is chosen which
        both find likely (the option `reverse_weight`).

        Both translators may translate at the same time. Raises DataError for a file that cannot be used,
        ConfigError for an adapter that is not loaded, for a mode that the model does not have, and for other
        languages.
        """
        other = copy(self)
        if adapter != "":
            other.adapter = adapter
            other.engine, other._load_bundle = with_adapter(self._variants, adapter)
            # Learnt for the weights of the model: an adapter's translations have another risk.
            other.risk_models = self._own_risks if adapter is None else {}
        if terms is not None:
            guide = term_guide(terms, terms_mode, self._languages, self.tokenizer, self.reads)
            check_term_languages((guide,), self._languages, self.tokenizer.languages, None)
            other.guides = with_term_list(other.guides, guide)
        if memory is not None:
            other.guides = with_memory(other.guides, memory_guide(memory, match_least, self.reads))
            other._check_memory(None)
        if reverse is not None:
            check_reverse(reverse._languages, self._languages)
            other.reverse = reverse
        return other

    @property
    def bundle(self) -> Bundle:
        """Model, tokenizer and languages, as a model folder holds them, for PyTorch.

        A native engine has no PyTorch model, so the first use loads it. Raises ConfigError if PyTorch is not
        installed, or for an engine of your own.
        """
        if self._load_bundle is None:
            bundle = bundle_of_engine(self.engine, self.tokenizer, self._languages)
        else:
            bundle = self._load_bundle()
        return replace(bundle, generation=self.generation)

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
        check_lines(lines)
        lines = list(lines)
        check_strings(lines)
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
        decoding = choosing(
            Decoding.of(decoding, options),
            shortlist=self.shortlist is not None,
            reverse=self.reverse is not None,
        )
        decoding.how(self.generation)  # raise ConfigError now, not at the first line
        decoding = replace(decoding, to=self._target(decoding.to))
        self._check_memory(decoding.to)
        check_term_languages(self.guides, self._languages, self.tokenizer.languages, decoding.to)
        if decoding.sample is not None:
            check_sampling(self.guides)
        exchange = self._exchange(decoding)
        if decoding.shortlist and self.shortlist is None:
            raise ConfigError(
                "this model has no shortlist",
                hint="make one from parallel text: dragoman model shortlist MODEL SOURCE TARGET",
            )
        check_lines(lines)
        if type(window) is not int or window < 1:
            raise ConfigError(f"window = {window}", hint="use at least 1")
        items = with_prefixes(lines, prefix)
        if not decoding.sentences:
            return iter(exchange.stream(items, self.engine, window))
        memory = None if self.memory is None else self.memory.memory
        return by_parts(
            items,
            lambda item: sentences_of(item, self.source_language, memory),
            lambda parts: exchange.stream(parts, self.engine, window),
            exchange.maker.joined,
        )

    def next_words(
        self, line: str, prefix: str = "", *, most: int = 8, to: str | None = None
    ) -> list[NextWord]:
        """Return the likeliest words after `prefix`, with which the translation begins; the best first.

        If the prefix ends with a space, a new word begins; otherwise its last word may go on. `to` is as in
        `Decoding`. Raises ConfigError for `most` out of range, DataError for a prefix that the tokenizer
        cannot spell.
        """
        from dragoman.translator.next_words import next_words

        to = self._target(to)
        request = next(self._exchange(Decoding(to=to)).requests([(line, prefix)]))
        return next_words(self.tokenizer, self.engine, request, prefix, most=most)

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
        check_pairs(sources, targets)
        to = self._target(to)
        decoding = Decoding(
            length_penalty=length_penalty,
            normalization=normalization,
            to=to,
            batch_tokens=batch_tokens,
            attention=attention,
            alignment=alignment,
        )
        how, maker = decoding.beam_search(self.generation), self._maker(decoding)
        return scored_pairs(self.engine, maker, how, sources, targets)

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

    def evidence(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        to: str | None = None,
        batch_tokens: int = 2048,
    ) -> list[Evidence]:
        """Return what the model shows of `targets` as translations of `sources`, line by line.

        Raises DataError if the numbers of sources and targets differ.
        """
        aligns = self.aligning is not None
        attention = str(self.aligning.attention) if self.aligning is not None else None
        scored = self.score(
            sources, targets, to=to, attention=attention, alignment=aligns, batch_tokens=batch_tokens
        )
        return [
            evidence_of(one.source, one.text, one.token_logp, one.attention, one.alignment) for one in scored
        ]

    def risk(
        self,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        to: str | None = None,
        batch_tokens: int = 2048,
    ) -> list[Risk]:
        """Return the risk of `targets`, translations from anywhere, line by line.

        `translate` with the option `risk` returns that of the model's own translations. Raises DataError if
        the numbers of sources and targets differ.
        """
        sources, targets = list(sources), list(targets)
        evidence = self.evidence(sources, targets, to=to, batch_tokens=batch_tokens)
        languages = self.source_language, self._target(to) or self.target_language
        return [
            assess(self.risk_models.get(languages[1]), one, source, target, languages, given=True)
            for one, source, target in zip(evidence, sources, targets, strict=True)
        ]

    @overload
    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        target: str | None = None,
        prefix: str = "",
        name: str = "",
        intervention: None = None,
        **options: Unpack[DecodingOptions],
    ) -> Trace: ...

    @overload
    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        target: str | None = None,
        prefix: str = "",
        name: str = "",
        intervention: Intervention,
        **options: Unpack[DecodingOptions],
    ) -> Contrast: ...

    def inspect(
        self,
        line: str,
        decoding: Decoding | None = None,
        *,
        target: str | None = None,
        prefix: str = "",
        name: str = "",
        intervention: Intervention | None = None,
        **options: Unpack[DecodingOptions],
    ) -> Trace | Contrast:
        """Return a Trace of one line: attention, the beam search and positions.

        The options are those of `translate` for one beam search. With `target` the trace describes that
        translation, and no search runs. `name` is the name of the model in the trace. With an
        `intervention`, return a Contrast: the run without and with it, and what differs.

        Raises DataError for a line without tokens or with more than 512, ConfigError for a beam above 50, for
        an option that inspection does not use, for a search with terms, a memory or a reverse model, and for
        an intervention that the model does not allow.
        """
        require_pytorch("inspecting")
        from dragoman.inspection import contrast, inspect

        decoding = Decoding.of(decoding, options)
        decoding = replace(decoding, to=self._target(decoding.to))
        check_inspection(decoding, target, prefix)
        if target is None:
            check_unguided("inspection", self.guides, self.reverse)
        look = inspect if intervention is None else partial(contrast, intervention=intervention)
        return look(
            self.bundle,
            addressed(line.strip(), decoding.to),
            target=target,
            beam=decoding.beam_search(self.generation),
            prefix=prefix_tokens(self.tokenizer, prefix, banned=self.generation.banned),
            rules=decoding.rules,
            max_extra_tokens=decoding.max_extra_tokens,
            name=name,
        )

    def pipeline(self, **options: Unpack[PipelineOptions]) -> Pipeline:
        """Return a callable with the interface of the translation pipeline of transformers 4.

        `translator.pipeline()("A dog.")` is `[{"translation_text": "Ein Hund."}]`. The options have the names
        and meanings of transformers, such as `num_beams`, and are the defaults of every call. Raises
        ConfigError for an option that has no counterpart here, and if the translator has terms, a memory or
        a reverse model, which a pipeline does not use.
        """
        from dragoman.pipeline import Pipeline

        check_unguided("the pipeline", self.guides, self.reverse)
        return Pipeline(
            self.tokenizer,
            self.engine,
            self.generation,
            target_language=self.target_language,
            options=options,
        )

    @property
    def _languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    @cached_property
    def _phrasing(self) -> Phrasing:
        return Phrasing(self.tokenizer)

    def _target(self, to: str | None) -> str | None:
        """The target language as the model writes it. Raises ConfigError for one that it does not have."""
        return target_of(to, self.tokenizer.languages, self.target_language)

    def _check_memory(self, to: str | None) -> None:
        targets = (to,) if to is not None else self.tokenizer.languages or (self.target_language,)
        check_memory(self.memory, self.source_language, targets)

    def _maker(self, decoding: Decoding) -> TranslationMaker:
        languages = self.source_language, decoding.to or self.target_language
        aligning = aligning_for(decoding, self.aligning)
        return TranslationMaker(
            self.tokenizer, languages, decoding, aligning, self.risk_models.get(languages[1])
        )

    def _exchange(self, decoding: Decoding) -> Exchange:
        to, attention, alignment = decoding.to, decoding.attention, decoding.alignment
        return Exchange(
            maker=self._maker(decoding),
            how=decoding.how(self.generation),
            shortlist=self.shortlist if decoding.shortlist else None,
            guides=self.guides,
            phrase_rules=lambda phrases: self._phrasing.rules(phrases),
            score=partial(self.score, to=to, attention=attention, alignment=alignment),
            reverse=None if self.reverse is None else self.reverse.score,
        )
