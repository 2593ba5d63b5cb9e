"""What comes in: lines, their parts, their prefixes and their target language."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest, same
from dragoman.text.blank import is_blank
from dragoman.text.tokenizers.tokenizer import Tokenizer

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Part = TypeVar("Part")
Answer = TypeVar("Answer")
Whole = TypeVar("Whole")

LineItem = tuple[str, str]  # a line and its prefix


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


# Prefixes


def with_prefixes(
    lines: Iterable[str | None], prefix: str | Iterable[str] | None
) -> Iterator[LineItem | None]:
    """Yield (line, prefix) pairs, and None where `lines` does.

    Raises DataError if the numbers of lines and prefixes differ.
    """
    one = prefix is None or isinstance(prefix, str)
    prefixes = repeat(prefix or "") if prefix is None or isinstance(prefix, str) else iter(prefix)
    number = 0
    for line in lines:
        if line is None:
            yield None
            continue
        number += 1
        own = next(prefixes, None)
        if own is None:
            raise DataError(f"line {number} has no prefix", hint="give one prefix per line; it may be empty")
        yield line, own
    if not one and next(prefixes, None) is not None:
        raise DataError(f"more prefixes than the {number} lines", hint="give one prefix per line")


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


# The target language


def addressed(line: str, to: str | None) -> str:
    """The line with the token of its target language. An empty line stays empty."""
    return line if to is None or not line else f">>{to}<< {line}"


def target_of(to: str | None, languages: Sequence[str], target_language: str) -> str | None:
    """Return a target language as the model writes it: "de" may be "deu". None if it has only that one.

    `languages` are those it chooses from. Raises ConfigError if the language is not among them.
    """
    if to is None or to in languages:
        return to
    if not languages:
        if same(to, target_language):
            return None
        raise ConfigError(
            f"to = {to!r}: this model has one target language, {target_language}",
            hint="leave the language out",
        )
    found = closest(to, languages)
    if found is None:
        raise ConfigError(
            f"to = {to!r}: this model does not translate to it", hint=f"it has {', '.join(languages)}"
        )
    return found


def warning_of_language(
    items: Iterator[LineItem | None], languages: Sequence[str]
) -> Iterator[LineItem | None]:
    """Yield the items. Log a warning if a line does not name one of several target languages."""
    tags, warned = tuple(f">>{language}<<" for language in languages), False
    for item in items:
        if (
            not warned
            and item is not None
            and not is_blank(item[0])
            and not item[0].lstrip().startswith(tags)
        ):
            log.warning("this model has several target languages; choose one: %s", ", ".join(languages))
            warned = True
        yield item


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
