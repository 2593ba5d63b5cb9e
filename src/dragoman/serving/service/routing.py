"""From texts to answers: their language, their route, their sentences, and the models on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import islice, pairwise, repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from dragoman.base.errors import ConfigError
from dragoman.base.languages import canonical
from dragoman.documents.context.around import contexts_of
from dragoman.documents.edits import Decoded
from dragoman.documents.formats import Languages
from dragoman.documents.markup.html.fragment import XmlFragment
from dragoman.documents.markup.html.html import Html
from dragoman.documents.segment import prose_of
from dragoman.documents.translate import translate_segments
from dragoman.serving.service.admission import Counting, QueuePlace
from dragoman.serving.service.ask import Answer, Ask, Guess, Route
from dragoman.serving.service.coalescing import Cache, Coalescer
from dragoman.serving.service.languages import Pairs, detect_language
from dragoman.serving.service.limits import Limits
from dragoman.serving.service.memories import Memories
from dragoman.serving.service.models import ServedModel
from dragoman.serving.service.turns import Turns
from dragoman.text.blank import is_blank
from dragoman.text.checks.omissions import lacks_most
from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.corpora.context import SENTENCES
from dragoman.text.guidance import CONTEXT_CHARACTERS
from dragoman.text.segmenter import Segmented, segment_text
from dragoman.translation.lines import given_context
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.documents.segment import Document
    from dragoman.text.guidance import Match
    from dragoman.translation.memory.store import TranslationMemory
    from dragoman.translation.next_words import NextWord
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

_WINDOW = 32  # sentences of one request in the engine, so that short requests do not wait behind long ones
_START = 10_000  # characters of markup that say its language
_decoding = lru_cache(256, typed=True)(Decoding)  # checking options took a fifth of the event loop's time
Each = Callable[[int, Answer], None]
Result = TypeVar("Result")
_MARKED: tuple[Literal["html"], Literal["xml"]] = ("html", "xml")


class WorkKey(NamedTuple):
    """The key of a translation: everything it depends on."""

    model: str
    digest: str
    adapter: str | None
    terms: str | None
    changes: tuple[int, ...]  # of the memory, if one is used on the way
    how: Decoding
    markup: str
    ignored: frozenset[str]
    prefix: str = ""  # of the first sentence of a text
    context: str = ""  # for a model that reads it
    text: str = ""


class Marked(NamedTuple):
    """The translation of a text with markup, and the match of the memory if it is one segment."""

    text: str
    match: Match | None


@dataclass(frozen=True)
class _Plan:
    """The plan for a text."""

    text: str
    route: Route
    confidence: float | None
    parts: Segmented | None  # of a text without markup
    context: str = ""  # what stands before the text

    @property
    def asked(self) -> Sequence[str]:
        """What the models are asked for."""
        if self.parts is not None:
            return self.parts.sentences
        return () if is_blank(self.text) else (self.text,)

    @property
    def contexts(self) -> list[str]:
        """What stands before each of them; before the whole text, if it has markup."""
        if self.parts is None:
            return [self.context] * len(self.asked)
        read = [one for one in self.parts.pieces if not one.copied]
        before = [one.body for one in read]
        return [
            " ".join(filter(None, (self.context, *before[max(0, number - SENTENCES) : number])))
            for number, one in enumerate(read)
            if one.asked
        ]

    def answer(self, text: str, **more: Any) -> Answer:
        """The answer with a translation, or with the text itself; `more` are other fields of it."""
        route = self.route
        return Answer(text=text, source=route.source, confidence=self.confidence, route=route, **more)


class Router:
    """Finds the answers to texts. Belongs to one event loop."""

    def __init__(
        self,
        pairs: Pairs,
        models: Iterable[ServedModel],
        memories: Memories,
        threads: Turns,
        preparing: Executor,
        *,
        limits: Limits,
        counting: Counting,
    ) -> None:
        """`threads` run the models, `preparing` what is short: detection, splitting, looking up."""
        self._pairs, self._models = pairs, {one.name: one for one in models}
        self._memories, self._preparing = memories, preparing
        self._limits, self._counting = limits, counting
        most = limits.cache_bytes
        self._translations = Coalescer[WorkKey, "Translation | Marked"](threads, Cache(most), counting)
        self._words = Coalescer[WorkKey, "tuple[NextWord, ...]"](threads, Cache(most // 16), counting)

    def stop(self) -> None:
        """Stop all work, for good. Who waits for it gets NotReady."""
        self._translations.stop()
        self._words.stop()

    async def answers(
        self, texts: Sequence[str], ask: Ask, place: QueuePlace, each: Each | None = None
    ) -> list[Answer]:
        """Return an answer for each text, in order. With `each`, no text waits for another."""
        loop = asyncio.get_running_loop()
        contexts = ask.contexts if len(ask.contexts) == len(texts) else (ask.contexts or ("",)) * len(texts)
        plans = await loop.run_in_executor(
            self._preparing, lambda: [self._plan(*both, ask) for both in zip(texts, contexts, strict=True)]
        )
        groups: dict[Route | int, list[int]] = {}
        for number, plan in enumerate(plans):
            groups.setdefault(number if each else plan.route, []).append(number)
        found: dict[int, Answer] = {}

        async def answer(numbers: Sequence[int]) -> None:
            answers = await self._planned([plans[number] for number in numbers], ask, place)
            for number, one in zip(numbers, answers, strict=True):
                found[number] = one
                if each:
                    each(number, one)

        await together(map(answer, groups.values()))
        return [found[number] for number in range(len(texts))]

    async def _planned(self, plans: Sequence[_Plan], ask: Ask, place: QueuePlace) -> list[Answer]:
        """The answers to texts with the same route."""
        route = plans[0].route
        if not route.models:  # the texts are in the target language
            return [plan.answer(plan.text) for plan in plans]
        asked = [text for plan in plans for text in plan.asked]
        before = [context for plan in plans for context in plan.contexts]
        if ask.markup == "text":
            pieces = [one for plan in plans if plan.parts for one in plan.parts.pieces]
            self._counting.count("sentences", len(asked))
            self._counting.count("remembered", sum(one.match is not None for one in pieces))
        values, cached = await self._through(route, asked, before, ask, place)
        left = iter(values)
        own = [(plan, [next(left) for _ in plan.asked]) for plan in plans]
        return [_answer(plan, mine, ask.n_best, cached=cached and bool(mine)) for plan, mine in own]

    async def next_words(self, text: str, ask: Ask, most: int, place: QueuePlace) -> list[NextWord]:
        """Return the likeliest words after `ask.prefix`; none with a pivot, which no prefix passes."""
        route = self.find(ask.source or "", ask)
        if len(route.models) != 1:
            return []
        model = self._models[route.models[0]]
        pair = route.source, route.target
        source, to = model.tags(pair)
        translator = model.variant(ask.adapter, model.terms_of(ask.terms, pair))
        context = "".join(ask.contexts[:1]) if "context" in translator.reads else ""
        context = context[-CONTEXT_CHARACTERS:]
        how = _decoding(source=source, to=to, n_best=most)
        key = _key(model, ask, how, ())._replace(text=text, context=context, prefix=ask.prefix)
        (found,), _ = await self._words.get([key], partial(_next_words, translator), place)
        return list(found)

    def sources_for(self, ask: Ask) -> tuple[str, ...]:
        """The languages that a text may be in."""
        return self._pairs.sources_of(ask.target, model=ask.model)

    def detect(self, text: str, ask: Ask) -> Guess:
        """The language that a text is translated from; the target, if the text is in it."""
        among = self.sources_for(ask)
        first = self._pairs.sources[0]
        default = first if first in among else among[0]
        ends = Languages(default, self._pairs.find(ask.target, ask.target).target)
        if ask.markup != "text":
            # The start is enough, and requests wait while it is read.
            text = prose_of(_document(text[:_START], ask.markup, ask.ignored_tags, ends, False).segments)
        for one in reversed([*find_placeholders(text)]):
            text = f"{text[: one.start]} {text[one.end :]}"
        return detect_language(text, among, default, ends.target)[0]

    def check(self, ask: Ask) -> None:
        """Raise what `find` raises, as far as that is known before the language is detected."""
        if ask.detects:
            self.sources_for(ask)
            own = [one for one in self._models.values() if ask.model in (None, one.name)]
            self._check_names(ask, own, [name for one in own for name in one.terms])
        else:
            self.find(ask.source or "", ask)

    def find(self, source: str, ask: Ask) -> Route:
        """The route of a pair, by the requested model. Raises UnknownLanguage and ConfigError."""
        route = self._pairs.find(source, ask.target, model=ask.model)
        own = [self._models[name] for name in route.models]
        steps = zip(own, pairwise(route.languages), strict=True)
        others = [name for one in own for name in one.terms if name != ask.terms]
        served = ask.terms and any(one.terms_of(ask.terms, pair) for one, pair in steps)
        if own:  # a text that stays as it is needs no names
            self._check_names(ask, own, [ask.terms or ""] if served else others)
        return route

    def _check_names(self, ask: Ask, models: Sequence[ServedModel], lists: Sequence[str]) -> None:
        """Raise ConfigError for a name that is not loaded, of a model, of their adapters or of the lists."""
        for what, name, loaded in (
            ("model", ask.model, [*self._models]),
            ("adapter", ask.adapter, [name for one in models for name in one.adapters]),
            ("list of terms", ask.terms, lists),
        ):
            if name is not None and name not in loaded:
                there = f"there are {', '.join(dict.fromkeys(loaded))}" if loaded else "this pair has none"
                raise ConfigError(f"no {what} {name!r}", hint=there)

    def steps(self, route: Route, ask: Ask) -> Iterable[tuple[Translator, Decoding]]:
        """Yield the translator of each step of a route, with its options for text with codes."""
        memory = None if route.pivots else self._memory(route, ask)
        for name, pair in zip(route.models, pairwise(route.languages), strict=True):
            model = self._models[name]
            how = self._how(model, pair, replace(ask, markup="xml"), last=pair[1] == route.target)
            yield model.variant(ask.adapter, model.terms_of(ask.terms, pair), memory), how

    def _how(self, model: ServedModel, pair: tuple[str, str], ask: Ask, *, last: bool) -> Decoding:
        """The options for a model on the way. Only the last one addresses the reader."""
        how = decoding_of(ask, model.tags(pair), self._limits, last=last)
        addresses = last and model.addresses(pair[1], ask.adapter)
        return replace(how, formality=ask.formality) if addresses else how

    def _plan(self, text: str, context: str, ask: Ask) -> _Plan:
        guess = self.detect(text, ask) if ask.detects else None
        route = self.find(guess.language if guess else ask.source or "", ask)
        parts: Segmented | None = None
        if ask.markup == "text":
            known, ends = None, (route.source, route.target)
            if not ask.prefix and self._memory(route, ask) is not None:
                known = cache(partial(self._memories.exact, ends))
            kept = [(one.start, one.end) for one in find_placeholders(text)]
            parts = segment_text(
                text, *ends, how=ask.sentences, kept=kept, known=known, copying=not ask.prefix
            )
        return _Plan(text, route, guess.confidence if guess else None, parts, context[-CONTEXT_CHARACTERS:])

    def _memory(self, route: Route, ask: Ask) -> TranslationMemory | None:
        return self._memories.of((route.source, route.target)) if ask.memory else None

    async def _through(
        self, route: Route, texts: Sequence[str], contexts: Sequence[str], ask: Ask, place: QueuePlace
    ) -> tuple[list[Translation | Marked], bool]:
        """Return the translation of each text by the last model of a route, and whether the cache had all.

        The first model reads the contexts, if it was trained to.
        """
        values: list[Translation | Marked] = []
        all_cached = True
        for step, (name, pair) in enumerate(zip(route.models, pairwise(route.languages), strict=True)):
            model, last = self._models[name], step == len(route.models) - 1
            how = self._how(model, pair, ask, last=last)
            memory = None if route.pivots else self._memory(route, ask)
            terms = model.terms_of(ask.terms, pair)
            translator = model.variant(ask.adapter, terms)
            if memory is not None and (ask.markup != "text" or "matches" in translator.reads):
                translator = model.variant(ask.adapter, terms, memory)
                changes = (self._memories.changes[route.source, route.target], *memory.stamp)
            else:
                changes = ()
            key = _key(model, ask, how, changes)
            read = contexts if not step and "context" in translator.reads else repeat("")
            keys = [key._replace(text=text, context=one) for text, one in zip(texts, read, strict=False)]
            keys[:1] = [one._replace(prefix=ask.prefix if last else "") for one in keys[:1]]
            values, cached = await self._translations.get(keys, partial(_translated, translator), place)
            all_cached = all_cached and cached
            texts = [one.text for one in values]
        return values, all_cached


async def together(works: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Return the results of all, in order. The first error ends the others, and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in works]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


def decoding_of(ask: Ask, tags: tuple[str, str], limits: Limits, *, last: bool) -> Decoding:
    """The options for a model on the way, and its languages. Only the last has alternatives and details."""
    plain = last and ask.markup == "text"
    return _decoding(
        beam=ask.beam,
        n_best=ask.n_best if plain else 1,
        length_penalty=ask.length_penalty,
        quality=ask.quality or "normal",
        source=tags[0],
        to=tags[1],
        max_extra_tokens=limits.output_extra,
        split=False,  # texts are cut before
        protect=ask.markup == "text",
        alignment=plain and "alignment" in ask.wants,
        risk=plain and "risk" in ask.wants,
    )


def _key(model: ServedModel, ask: Ask, how: Decoding, changes: tuple[int, ...]) -> WorkKey:
    """The key without the text, its context and its prefix."""
    return WorkKey(
        model.name,
        model.digest,
        ask.adapter if ask.adapter in model.adapters else None,
        ask.terms if ask.terms in model.terms else None,
        changes,
        how,
        ask.markup,
        ask.ignored_tags if ask.markup != "text" else frozenset(),
    )


def _translated(translator: Translator, keys: Sequence[WorkKey]) -> Iterable[Translation | Marked]:
    """The translations of texts whose keys differ only in context and prefix."""
    first = keys[0]
    texts = [key.text for key in keys]
    if first.markup == "text":
        context = [key.context for key in keys] if "context" in translator.reads else None
        prefixes = [key.prefix for key in keys]
        return translator.stream(texts, first.how, prefix=prefixes, context=context, window=_WINDOW)
    markup = _MARKED[first.markup == "xml"]
    before = [key.context for key in keys]
    return translate_markup(translator, texts, markup, first.ignored, first.how, before)


def _next_words(translator: Translator, keys: Sequence[WorkKey]) -> Iterable[tuple[NextWord, ...]]:
    for one in keys:
        how = one.how
        found = translator.next_words(
            one.text, one.prefix, most=how.n_best, source=how.source, to=how.to, context=one.context or None
        )
        yield tuple(found)


def _answer(plan: _Plan, values: Sequence[Translation | Marked], n_best: int, *, cached: bool) -> Answer:
    if plan.parts is None:
        text, match = cast("Marked", values[0]) if values else Marked(plan.text, None)
        lacking = match is None and lacks_most(plan.text, text)
        return plan.answer(text, match=match, cached=cached, lacking=lacking)
    found, bodies = cast("Sequence[Translation]", values), plan.parts.pieces
    text, _ = plan.parts.joined(plan.parts.bodies(one.text for one in found))
    translation = found[0] if len(bodies) == 1 and bodies[0].asked else None
    match = bodies[0].match if len(bodies) == 1 else None
    return plan.answer(
        text,
        alternatives=tuple(_alternatives(plan.parts, text, found, n_best)),
        translation=None if plan.route.pivots else translation,
        match=match or (translation.match if translation else None),
        cached=cached,
        lacking=match is None and lacks_most(plan.text, text),
    )


def _alternatives(parts: Segmented, text: str, found: Sequence[Translation], n_best: int) -> Iterable[str]:
    """Other translations of a text, best first: of the nth best of each sentence."""
    most = max((len(one.alternatives) for one in found), default=0)
    nth = (
        [one.alternatives[n].text if n < len(one.alternatives) else one.text for one in found]
        for n in range(min(most, n_best - 1))
    )
    texts = [parts.joined(parts.bodies(each))[0] for each in nth]
    return (one for one in dict.fromkeys(texts) if one != text)


def translate_markup(
    translator: Translator,
    texts: Sequence[str],
    markup: Literal["html", "xml"],
    ignored: frozenset[str],
    decoding: Decoding,
    before: Iterable[str] = repeat(""),
) -> list[Marked]:
    """Return the translation of each text; `before` is what stands before each.

    Any text is read, also if it is malformed. No tag is lost. All texts are translated together.
    """
    languages = Languages(*map(canonical, translator.pair(decoding)))
    stand_ins = bool(translator.tokenizer.placeholders)
    documents = [_document(text, markup, ignored, languages, stand_ins) for text in texts]
    segments = [segment for document in documents for segment in document.segments]
    around = [
        given_context(f"{given} {own.source if own else ''}")
        for document, given in zip(documents, before, strict=False)
        for own in contexts_of(document.segments, labels=False)
    ]
    results, _ = translate_segments(translator, segments, decoding, around=around)
    answers, left = list[Marked](), iter(results)
    for document in documents:
        own = [*islice(left, len(document.segments))]
        only = own[0] if len(own) == 1 else None
        answers.append(Marked(document.render(own).decode(), only.match if only else None))
    return answers


def _document(
    text: str, markup: Literal["html", "xml"], ignored: frozenset[str], languages: Languages, stand_ins: bool
) -> Document:
    names = frozenset(name.lower() for name in ignored)
    if markup == "xml":
        return XmlFragment(text, ignored=names, stand_ins=stand_ins)
    return Html(Decoded(text, "utf-8", b""), languages, True, names)
