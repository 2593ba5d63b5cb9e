"""What comes in: lines, their parts, their prefixes and their languages."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import NamedTuple, TypeVar

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest, related, same, tags_by_code
from dragoman.text.blank import is_blank
from dragoman.text.corpora.context import joined_context
from dragoman.text.detection import likeliest
from dragoman.text.guidance import Context
from dragoman.text.tokenizers.marks import mark
from dragoman.text.tokenizers.tokenizer import Tokenizer

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Part = TypeVar("Part")
Answer = TypeVar("Answer")
Whole = TypeVar("Whole")


class LineItem(NamedTuple):
    """A line, how its translation begins, what stands before it, and its languages if they are known."""

    line: str
    prefix: str = ""
    context: Context | None = None
    languages: tuple[str | None, str | None] | None = None


def check_lines(lines: object) -> None:
    """Raise TypeError for anything but several lines."""
    if isinstance(lines, str):
        raise TypeError("a list of lines is needed; translator(text) translates one text")
    if not isinstance(lines, Iterable):
        raise TypeError(f"a text or a list of texts is needed, not {lines!r}")


def checked_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines as a list. Raises TypeError for one that is not a string."""
    check_lines(lines)
    lines = list(lines)
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise TypeError(f"line {number} is {line!r}, not a string")
    return lines


# Prefixes and contexts

GivenContext = str | tuple[str, str] | None  # of one line: its source, or source and target


def line_items(
    lines: Iterable[str | None],
    prefix: str | Iterable[str] | None,
    context: str | Iterable[GivenContext] | None = None,
    *,
    both: bool = True,
) -> Iterator[LineItem | None]:
    """Yield the lines with their prefixes and contexts, and None where `lines` does.

    `both` says whether the model reads the translation of a context, too. Raises DataError if the numbers of
    lines and of prefixes or contexts differ.
    """
    more = {
        what: repeat(given) if given is None or isinstance(given, str) else iter(given)
        for what, given in (("prefix", prefix), ("context", context))
    }
    number = 0
    for line in lines:
        if line is None:
            yield None
            continue
        number += 1
        own = {what: next(given, more) for what, given in more.items()}
        for what, one in own.items():
            if one is more:
                hint = f"give one {what} per line; it may be empty"
                raise DataError(f"line {number} has no {what}", hint=hint)
        yield LineItem(line, str(own["prefix"] or ""), given_context(own["context"], both=both))
    for what, given in more.items():
        if not isinstance(given, repeat) and next(given, more) is not more:
            names = "prefixes" if what == "prefix" else "contexts"
            raise DataError(f"more {names} than the {number} lines", hint=f"give one {what} per line")


def given_context(given: object, *, both: bool = True) -> Context | None:
    """The context that is given for a line; `both` is as in `line_items`.

    Raises TypeError for anything but text, or two texts.
    """
    match given:
        case None | "":
            return None
        case str(source) | (str(source),):
            return Context(flat) if (flat := joined_context([source])) else None
        case (str(source), str(target)):
            sides = joined_context([source]), joined_context([target]) if both else ""
            return Context(*sides) if sides[0] else None
    raise TypeError(f"a context is text, or a text and its translation, not {given!r}")


def prefix_tokens(tokenizer: Tokenizer, prefix: str, *, banned: Collection[int] = ()) -> tuple[int, ...]:
    """The tokens of a prefix. Raises DataError if the vocabulary cannot spell it without `banned` tokens."""
    if is_blank(prefix):
        return ()
    # Subwords carry the space before a word: one at the end would become a separate token.
    (tokens,) = tokenizer.encode_target([prefix.strip()])
    if tokenizer.unk_id in tokens or not set(tokens).isdisjoint(banned):
        raise DataError(
            f"prefix {prefix!r}: this model cannot spell it",
            hint="use words and characters that the training text has",
        )
    return tuple(tokens)


# Languages


class Addressed(NamedTuple):
    """What the model reads for a line: the text behind marks of languages, and how its translation begins."""

    text: str
    start: tuple[int, ...] = ()


@dataclass(frozen=True)
class Directions:
    """The languages of a model, and how lines name those that they are in and are translated to."""

    tokenizer: Tokenizer
    stated: tuple[str, str]  # source and target; "mul" for several
    trained: tuple[tuple[str, str], ...] = ()  # the pairs that it was trained on, if it has several

    @cached_property
    def _marked(self) -> bool:
        return bool(self.tokenizer.languages)

    @property
    def several(self) -> bool:
        """Whether the model has several pairs of languages, or one of a vocabulary that marks others."""
        return bool(self.trained or self._marked)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The languages that it translates from."""
        if not self.trained and (languages := self.tokenizer.languages):
            return languages if self.tokenizer.config.source_mark else self.stated[:1]
        return tuple(dict.fromkeys(source for source, _ in self.trained)) or self.stated[:1]

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The languages that it chooses from to translate to; none if it has only one."""
        targets = tuple(dict.fromkeys(target for _, target in self.trained))
        return () if len(targets) == 1 else targets or self.tokenizer.languages

    @cached_property
    def tags(self) -> dict[str, str]:
        """How the model writes its languages, by the codes under which others are offered them."""
        trained = [to for _, to in self.trained]
        return tags_by_code([*self.sources, *(trained or self.targets or self.stated[1:])])

    @cached_property
    def offered(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The pairs that it was trained on, or else all, in codes: sources, and the targets of each of them.

        A source is not translated to itself, even if it is among the targets.
        """
        codes = {tag: code for code, tag in self.tags.items()}
        targets_of = dict.fromkeys(self.sources, self.targets or self.stated[1:])
        if self.trained:
            targets_of = {
                one: tuple(to for source, to in self.trained if source == one) for one in self.sources
            }
        sources_of: dict[tuple[str, ...], list[str]] = {}
        for source, targets in targets_of.items():
            sources_of.setdefault(tuple(codes[one] for one in targets), []).append(codes[source])
        return [(tuple(sources), targets) for targets, sources in sources_of.items()]

    def chosen(self, source: str | None, to: str | None) -> tuple[str | None, str | None]:
        """Languages as the model writes them: "de" may be "deu". None for one that it leaves open.

        Raises ConfigError for a language that it does not have.
        """
        if source is None:
            source = self.sources[0] if len(self.sources) == 1 else None
        elif source not in self.sources and (
            source in ("", "mul") or not any(related(source, one) for one in self.sources)
        ):
            raise ConfigError(
                f"source = {source!r}: this model does not translate from it",
                hint=f"it has {', '.join(self.sources)}",
            )
        else:
            source = closest(source, self.sources) or source
        return source, self._target(to) or self._only_target(source)

    def warn_if_unseen(self, source: str | None, to: str | None) -> None:
        """Log a warning for a pair that the model was not trained on."""
        if source is not None and to is not None and self.trained and (source, to) not in self.trained:
            log.warning(
                "the model was not trained to translate from %s to %s (zero-shot): expect worse translations",
                source,
                to,
            )

    def addressed(self, line: str, source: str | None, to: str | None) -> Addressed:
        """What the model reads for a line without spaces around it, in languages as `chosen` returns them.

        An empty line stays empty. Raises ConfigError if detecting a language is not possible.
        """
        if not line or not self._marked:
            return Addressed(line)
        source, to = self.detected(line, source, to)
        before, start = self.marks(source, to)
        marked = line.startswith(">>") and line.startswith(tuple(map(mark, self.tokenizer.languages)))
        # A mark of the text may choose the language, but not change it. Behind a space it is text.
        return Addressed(before + " " * (marked and to is not None) + line, start)

    def detected(self, line: str, source: str | None, to: str | None) -> tuple[str | None, str | None]:
        """The languages of a line.

        The source language is detected where the model reads it, or needs it to know the target language.
        """
        if self._marked and source is None and len(self.sources) > 1:
            reads = self.tokenizer.config.source_mark
            if reads or (to is None and any(map(self._only_target, self.sources))):
                source = likeliest(line, [one for one in self.sources if one != to])
                to = to or self._only_target(source)
        return source, to

    def marks(self, source: str | None, to: str | None) -> Addressed:
        """What stands before a source and before its translation, in languages as `chosen` returns them."""
        return Addressed(self.tokenizer.address(source, to), self.tokenizer.target_start(to))

    def warning(self, items: Iterable[LineItem | None], to: str | None) -> Iterator[LineItem | None]:
        """Yield the items. Log a warning if neither `to` nor a line names one of several target languages."""
        if to is not None or len(self.targets) < 2 or all(map(self._only_target, self.sources)):
            yield from items
            return
        named = self.tokenizer.config.target_mark == "source"  # a mark in a line may choose the language
        tags, warned = tuple(map(mark, self.targets if named else ())), False
        for item in items:
            if (
                not warned
                and item is not None
                and not is_blank(item[0])
                and not item[0].lstrip().startswith(tags)
            ):
                languages = ", ".join(self.targets)
                log.warning("this model has several target languages; choose one: %s", languages)
                warned = True
            yield item

    def _target(self, to: str | None) -> str | None:
        if to is None or to in self.targets:
            return to
        if not self.targets:
            if same(to, self.stated[1]):
                return None
            raise ConfigError(
                f"to = {to!r}: this model has one target language, {self.stated[1]}",
                hint="leave the language out",
            )
        found = closest(to, self.targets)
        if found is None:
            raise ConfigError(
                f"to = {to!r}: this model does not translate to it", hint=f"it has {', '.join(self.targets)}"
            )
        return found

    def _only_target(self, source: str | None) -> str | None:
        """The target language of a source language that the model chooses, if it was trained on one."""
        targets = [target for one, target in self.trained if one == source]
        return targets[0] if len(targets) == 1 and self.targets else None


# Parts of a line


def by_parts(
    items: Iterable[Item | None],
    cut: Callable[[Item], tuple[Sequence[Part], Callable[[Sequence[Answer]], Whole]]],
    answers: Callable[[Iterator[Part | None]], Iterable[Answer]],
) -> Iterator[Whole]:
    """Yield one whole for each item, in order, as soon as its parts are answered.

    `cut` returns the parts of an item, at least one, and the function that joins their answers. `answers`
    gets the parts of all items, and None where `items` has None; it yields one answer for each part.
    """
    waiting: deque[tuple[int, Callable[[Sequence[Answer]], Whole]]] = deque()

    def parts() -> Iterator[Part | None]:
        for item in items:
            if item is None:
                yield None
                continue
            own, join = cut(item)
            waiting.append((len(own), join))
            yield from own

    found: list[Answer] = []
    for answer in answers(parts()):
        found.append(answer)
        if len(found) == waiting[0][0]:
            yield waiting.popleft()[1](found)
            found = []
