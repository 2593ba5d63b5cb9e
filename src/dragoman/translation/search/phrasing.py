"""The rule that puts phrases into a translation, from phrases as text."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain

from dragoman.text.scripts import is_unspaced
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.rules import Phrases, Rule

log = logging.getLogger(__name__)

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_HEADS = "\u3002.,("  # marks that such a script may follow without a space


class Phrasing:
    """Spells phrases with the target vocabulary of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._spelled: dict[str, tuple[tuple[int, ...], ...]] = {}
        self._warned: set[Sequence[str]] = set()

    def rules(self, phrases: Iterable[Sequence[str]]) -> tuple[Rule, ...]:
        """Return the rule for these phrases, each in one of its forms; no rule without phrases.

        A form that the vocabulary cannot spell is left out. A phrase without any is, too, with a warning.
        """
        spelled = []
        for forms in phrases:
            ids = tuple(dict.fromkeys(chain.from_iterable(map(self._spell, forms))))
            if ids:
                spelled.append(ids)
            elif forms not in self._warned:
                self._warned.add(forms)
                log.warning("the vocabulary of this model cannot spell %r", forms[0])
        return (Phrases(tuple(spelled), self.joining),) if spelled else ()

    @cached_property
    def joining(self) -> frozenset[int]:
        """The target tokens that continue a word: those that begin with a letter or a digit, without a space.

        A byte counts if a character of several bytes can have it, because most of these are letters.
        """
        ids = range(self._tokenizer.target_size)
        never = {self._tokenizer.specials.pad, self._tokenizer.start_id, self._tokenizer.end_id}
        pieces = self._tokenizer.target_pieces(ids)
        return frozenset(i for i, piece in zip(ids, pieces, strict=True) if i not in never and _joins(piece))

    def _spell(self, form: str) -> tuple[tuple[int, ...], ...]:
        """The tokens of a form in each of its spellings, none if the vocabulary lacks a character."""
        if form not in self._spelled:
            (ids,) = self._tokenizer.encode_target([form])
            spellings = [ids, self._inside(form)] if is_unspaced(form[:1]) else [ids]
            known = [tuple(one) for one in spellings if one and self._tokenizer.unk_id not in one]
            self._spelled[form] = tuple(dict.fromkeys(known))
        return self._spelled[form]

    def _inside(self, form: str) -> list[int]:
        """The tokens of a form without the space that a tokenizer puts before a text; none if unknown."""
        for mark in _HEADS:
            head, both = self._tokenizer.encode_target([mark, mark + form])
            # Adjacent unknown characters are one token, so an unknown mark could hide the first.
            if self._tokenizer.unk_id not in head and both[: len(head)] == head:
                return both[len(head) :]
        return []


def _joins(piece: str) -> bool:
    if byte := _BYTE.fullmatch(piece):
        return int(byte[1], 16) >= 0x80
    first = piece[:1]
    return bool(first) and unicodedata.category(first)[0] in "LMN" and not is_unspaced(first)
