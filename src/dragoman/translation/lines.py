"""The input of a translator: lines, their sentences, their prefixes and their target language."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest, same
from dragoman.text.sentences import split_sentences
from dragoman.text.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from dragoman.translation.memory.store import TranslationMemory

log = logging.getLogger(__name__)

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


def sentences_of(item: LineItem, language: str, memory: TranslationMemory | None) -> list[LineItem]:
    """The sentences of a line, or the line if the memory has it. The first sentence gets the prefix."""
    line = item[0].strip()
    if memory is not None and line and memory.exact(line) is not None:
        return [(line, item[1])]
    sentences = split_sentences(line, language) or [""]
    return [(sentence, "" if number else item[1]) for number, sentence in enumerate(sentences)]


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
    if not prefix.strip():
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
        if not warned and item is not None and item[0].strip() and not item[0].lstrip().startswith(tags):
            log.warning("this model has several target languages; choose one: %s", ", ".join(languages))
            warned = True
        yield item
