"""Translate the segments of a document: sentence by sentence, with tags and placeholders put back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from dragoman.documents.accelerators import Menu, lost, take_out
from dragoman.documents.checks import doubts
from dragoman.documents.context.around import contexts_of
from dragoman.documents.flat import Flat, as_written, flatten, parts, unflatten, with_found
from dragoman.documents.messages.divided import Divided, whole_leaf
from dragoman.documents.messages.icu import branches_of
from dragoman.documents.messages.separated import separated
from dragoman.documents.recall import offer, recall
from dragoman.documents.segment import Code, Content, Document, Replacing, Result, Segment, Status, full_text
from dragoman.documents.tags import place
from dragoman.text.checks.placeholders import dialects
from dragoman.text.guidance import Context
from dragoman.text.segmenter import segment_text
from dragoman.text.spans import Link
from dragoman.translation.protected import Sentence, Sentences, Translated
from dragoman.translation.search.options import Decoding
from dragoman.translation.sentences import extended
from dragoman.translation.translator import Translator


@dataclass
class Counts:
    """Counts of the segments of a document, or of several."""

    segments: int = 0  # the sum of the next four
    filled: int = 0
    replaced: int = 0  # another text than a copy of the source
    kept: int = 0  # the file had this text
    left_out: int = 0  # not translated: the source is copied, or the file is as it was
    remembered: int = 0  # taken from a translation memory
    doubtful: int = 0
    marked: int = 0  # of them marked in the file
    ways: Counter[str] = field(default_factory=Counter)  # sentences by the way of their placeholders

    @property
    def translated(self) -> int:
        return self.filled + self.replaced

    def add(self, other: Counts) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def count(self, segment: Segment, result: Result | None) -> None:
        """Count a segment in."""
        self.segments += 1
        if result is None:
            self.kept += 1
            return
        self.remembered += result.is_remembered
        self.doubtful += bool(result.doubts)
        old = None if segment.target is None else full_text(segment.target)
        if _is_stuck(result.doubts):
            self.left_out += 1
        elif segment.state is Status.MISSING or old == full_text(segment.source):
            self.filled += 1
        elif old == full_text(result.content):
            self.kept += 1
        else:
            self.replaced += 1


def translate_segments(
    translator: Translator,
    segments: Sequence[Segment],
    decoding: Decoding | None = None,
    *,
    replacing: Replacing | None = None,
    labels: bool = False,
    around: Sequence[Context | None] | None = None,
) -> tuple[list[Result | None], Counts]:
    """Return a result for each segment: None for one whose translation stays, see `Replacing`.

    A segment without a translation gets one in any case, if only a copy: a message of placeholders alone,
    for instance. `labels` says that segments may be labels of programs, which have accelerators. `around` is
    the context of each segment, by default that of a document of them all.
    """
    wants = (replacing or Replacing()).wants
    memory = translator.memory and translator.memory.memory
    languages = translator.pair(decoding)
    wanted = [one if wants(one) else None for one in segments]
    recalled = [recall(memory, one) if memory and one else None for one in wanted]
    asked = [
        None
        if one is None or known
        else branches_of(one, languages[1])
        or separated(one, languages, labels=labels)
        or Divided(one, [whole_leaf(one)])
        for one, known in zip(wanted, recalled, strict=True)
    ]
    counts = Counts()
    if around is None:
        reads = "context" in translator.reads
        around = contexts_of(segments, labels=labels) if reads else [None] * len(segments)
    texts = [
        (text, one.is_one, context)
        for one, context in zip(asked, around, strict=True)
        if one
        for text in one.segments
    ]
    menu = Menu() if labels else None
    answers = iter(_translated(translator, texts, decoding or Decoding(), languages, counts, menu))
    results = [
        one.joined([next(answers) for _ in one.segments]) if one else known
        for one, known in zip(asked, recalled, strict=True)
    ]
    for segment, result in zip(segments, results, strict=True):
        counts.count(segment, result)
    return results, counts


def _translated(
    translator: Translator,
    texts: Sequence[tuple[Segment, bool, Context | None]],
    decoding: Decoding,
    languages: tuple[str, str],
    counts: Counts,
    menu: Menu | None,
) -> Iterator[Result]:
    """Translate texts, each with whether the memory was already asked, and its context. Count their ways."""
    guide = translator.memory
    recalled = [recall(guide.memory, text) if guide and not known else None for text, known, _ in texts]
    plans = [
        None if known else _Plan(text, languages, menu)
        for (text, _, _), known in zip(texts, recalled, strict=True)
    ]
    if "context" in translator.reads:
        for plan, (_, _, context) in zip(plans, texts, strict=True):
            if plan:
                plan.sentences = [
                    replace(one, context=extended(context, [each.text for each in plan.sentences[:number]]))
                    for number, one in enumerate(plan.sentences)
                ]
    sentences = [sentence for plan in plans if plan for sentence in plan.sentences]
    answers = iter(Sentences(translator, decoding).translate(sentences))
    for plan, (text, _, _), known in zip(plans, texts, recalled, strict=True):
        if known or plan is None:
            yield known or Result(text.source)
            continue
        own = [next(answers) for _ in plan.sentences]
        content = plan.content(own)
        reasons = [*(doubt for answer in own for doubt in answer.doubts), *plan.doubts(content)]
        if _is_stuck(reasons):  # so the source is copied
            reasons = [reason for reason in reasons if not reason.startswith("copied")]
        match = offer(guide, text) if guide else None
        counts.ways.update(answer.way for answer in own)
        yield Result(content, tuple(dict.fromkeys(reasons)), match)


def translate_lines(
    translator: Translator, lines: Iterable[str], decoding: Decoding | None = None, *, window: int = 1024
) -> Iterator[Result]:
    """Yield the translation of each line, as of a segment. At most `window` lines are held."""
    left = iter(lines)
    while chunk := list(islice(left, window)):
        segments = [Segment((line,) if line else (), where="") for line in chunk]
        results, _ = translate_segments(translator, segments, decoding, around=[None] * len(segments))
        for line, result in zip(chunk, results, strict=True):
            yield result or Result((line,))


def translate_document(
    translator: Translator,
    document: Document,
    decoding: Decoding | None = None,
    *,
    replacing: Replacing | None = None,
    labels: bool = False,
) -> tuple[bytes, list[Result | None], Counts]:
    """Return the translated file, with the result of each segment. See `translate_segments`."""
    results, first = translate_segments(
        translator, document.segments, decoding, replacing=replacing, labels=labels
    )
    new = document.render(results)
    counts = Counts(ways=first.ways)
    kept = {id(one) for one in getattr(document, "kept", ())}
    for number, segment in enumerate(document.segments):
        if id(segment) in kept:
            results[number] = Result(segment.source, ("not translated: it would change the structure",))
        counts.count(segment, results[number])
    return new, results, counts


def _is_stuck(doubts: Iterable[str]) -> bool:
    """Whether the source was copied, for lack of a translation."""
    return any(doubt.startswith("not translated") for doubt in doubts)


class _Plan:
    """The sentences of a segment, and how their translations are joined."""

    def __init__(self, segment: Segment, languages: tuple[str, str], menu: Menu | None = None) -> None:
        self._source = with_found(segment.source, segment.flags)
        self._segment, self._languages, self._menu = segment, languages, menu
        self._asked, self._accelerator = (
            take_out(self._source, segment.context) if menu else (self._source, None)
        )
        self._parts = [one if isinstance(one, Code) else _Part(one, *languages) for one in parts(self._asked)]
        sentences = [each for one in self._parts if isinstance(one, _Part) for each in one.sentences]
        # A program reads all of the text, also the sentences without placeholders.
        strict = bool(dialects(segment.flags)) or any(each.kept for each in sentences)
        self.sentences = [replace(each, flags=segment.flags, strict=strict) for each in sentences]

    def doubts(self, content: Content) -> list[str]:
        """The faults of a translation of the segment."""
        new = with_found(content, self._segment.flags)
        return doubts(self._source, new, self._languages) + (lost(self._source, new) if self._menu else [])

    def content(self, answers: Sequence[Translated]) -> Content:
        """Join the translations of the sentences into one of the segment."""
        left = iter(answers)
        content: list[str | Code] = []
        for one in self._parts:
            if isinstance(one, Code):
                content.append(one)
            else:
                content += one.content([next(left) for _ in one.sentences])
        written = as_written(content)
        if self._menu is None or self._accelerator is None:
            return written
        if written == as_written(self._asked):
            return self._segment.source
        new = with_found(written, self._segment.flags)
        return as_written(self._menu.put(new, self._accelerator, self._languages[1]))


class _Part:
    """A part of a segment that sentences do not cross."""

    def __init__(self, content: Content, source: str, target: str) -> None:
        self._source, self._flat = content, (flat := flatten(content))
        self._segmented = segment_text(flat.text, source, target, kept=[one[:2] for one in flat.kept])
        self.sentences: list[Sentence] = []
        for piece in self._segmented.pieces:
            start, end = piece.start, piece.end
            kept = tuple((s - start, e - start) for s, e, _ in flat.kept if start <= s and e <= end)
            aligned = any(start < at < end for at, _ in flat.tags)
            self.sentences.append(Sentence(piece.body, kept, aligned=aligned))

    def content(self, answers: Sequence[Translated]) -> Content:
        if all(answer.text == one.text for answer, one in zip(answers, self.sentences, strict=True)):
            return as_written(self._source)  # exact also for a tag inside a word
        text, spans = self._segmented.joined([answer.text for answer in answers])
        kept, links = list[tuple[int, int]](), list[Link]()
        for piece, answer, (at, end) in zip(self._segmented.pieces, answers, spans, strict=True):
            start = piece.start
            kept += [(s + at, e + at) for s, e in answer.kept]
            links += [(s + start, e + start, t + at, u + at) for s, e, t, u in answer.links]
            if not answer.links:  # no tag is inside this sentence
                links.append((start, piece.end, at, end))
        codes = [code for _, _, code in self._flat.kept]
        placed = [(*span, code) for span, code in zip(kept, codes, strict=True)]
        tags = place(self._flat.tags, links, self._flat.text, text, kept)
        return unflatten(Flat(text, tuple(tags), tuple(sorted(placed, key=lambda one: one[0]))))
