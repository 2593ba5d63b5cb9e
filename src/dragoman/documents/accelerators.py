"""Accelerators: letters of menus and buttons: _Open (GTK), &Save (Qt, Windows), &&Save (VS Code), ~File
(LibreOffice).

The sign is taken out of a text before it is translated, and put once into the translation. A sign counts if
it can be nothing else: not in snake_case, R&D, A & B, A && B or ~/path. "_private" alone, or in a sentence
with a full stop, has none; "Call _private first" has one, as "Go to _next page".
"""

from __future__ import annotations

import re
from collections import Counter, deque

from dragoman.base.languages import base
from dragoman.documents.flat import FoundCode
from dragoman.documents.segment import Code, Content, merged
from dragoman.text.checks.faults import unmatched

_SIGN = re.compile(r"(?<![_&~])(?:&&|[_&~])(?=[^\W\d_])")
_APART = re.compile(r" ?\((?:&&|[_&~])[A-Za-z]\)")  # as in Chinese: 文件(&F)
_BEFORE = re.compile(r"[^\W_]*\Z")
_WORD = re.compile(r"([^\W_]+)([_;(=/\\]|[.:@](?=\w))?")  # and what follows a name of a program
_COMPOUNDS = frozenset("black&white copy&paste cut&paste drag&drop plug&play terms&conditions".split())
_NAMES = frozenset("code count date file id key list name number path size type url value".split())
_OPENING = "([{\"'“„«‘¿¡\0"
_MARKS = " .…:：。"  # stay behind an accelerator in brackets
_BRACKETS = frozenset(("zh", "yue", "ja", "ko"))  # languages that write it so
_LONGEST = 100  # characters of a label
_NEAR = 20  # labels that may be in one menu


Accelerator = tuple[str, str]  # the sign, and the letter that it marks in the source


class Menu:
    """The letters of the last labels, so that different ones stay different."""

    def __init__(self) -> None:
        self._near: deque[tuple[str, str]] = deque(maxlen=_NEAR)

    def put(self, content: Content, one: Accelerator, language: str) -> Content:
        """Put the sign into a translation whose placeholders are codes; leave it out if there is no letter.

        The same letter is the best, then one at the beginning of a word, but first of all one that no other
        label has for another letter.
        """
        tabs = [number for number, item in enumerate(content) if isinstance(item, Code) and item.breaks]
        end = tabs[0] if tabs else len(content)
        if base(language) in _BRACKETS:
            return merged([*_in_brackets(content[:end], one), *content[end:]])
        sign, own, best = one[0], one[1].casefold(), None
        texts = [item if isinstance(item, str) else "" for item in content[:end]]
        for number, text in enumerate(texts):
            for place, char in enumerate(text):
                letter = char.casefold()
                clash = any(near[1] == letter and near[0] != own for near in self._near)
                rank = clash, letter != own, place > 0 and text[place - 1].isalnum(), number, place
                if char.isalpha() and (best is None or rank < best):
                    best = rank
        if best is None:
            return content
        *_, number, place = best
        text = texts[number]
        self._near.append((own, text[place].casefold()))
        return merged([*content[:number], text[:place] + sign + text[place:], *content[number + 1 :]])


def take_out(content: Content, context: str = "") -> tuple[Content, Accelerator | None]:
    """Return a text, whose placeholders are codes, without the sign of its accelerator, and this.

    The one letter of `open.accesskey` is that of another label, and a placeholder.
    """
    text = "".join(one if isinstance(one, str) else "\0" for one in content)
    if len(text) == 1 and text.isalpha() and context.lower().endswith("key"):
        return (FoundCode(text, "placeholder"),), None
    signs = list(_SIGN.finditer(text)) if len(text) <= _LONGEST else []
    found = [match for match in signs if _marks_letter(text, *match.span())]
    sign = found[0][0] if len(found) == 1 else ""
    doubled = 2 * text.count(2 * sign) if len(sign) == 1 else 0
    if not sign or text.count(sign) - doubled - text.count(f" {sign} ") > 1:
        return content, None
    start, end = (_APART.search(text) or found[0]).span()
    place, parts = 0, list[str | Code]()
    for item in content:
        low, high = max(start - place, 0), max(end - place, 0)
        parts.append(item[:low] + item[high:] if isinstance(item, str) else item)
        place += len(item) if isinstance(item, str) else 1
    return merged(parts), (sign, text[found[0].end()])


def lost(source: Content, target: Content) -> list[str]:
    """The signs before letters that one side has more often."""
    both = [
        Counter(match[0] for part in side if isinstance(part, str) for match in _SIGN.finditer(part))
        for side in (source, target)
    ]
    return [f"sign: {one}" for one in unmatched(*both)] if any(both) else []


def _marks_letter(text: str, at: int, end: int) -> bool:
    """Whether the sign text[at:end] marks the letter behind it."""
    found = _WORD.match(text, end)
    after, behind = (found[1], found[2]) if found else ("", "")
    before = _BEFORE.search(text, 0, at)
    sentence = text.rstrip().endswith(".") and not text.rstrip().endswith("..")
    if before and before[0]:  # within a word: E_xit and E&xit, but not snake_case, User_name and R&D
        whole = before[0] + after
        name = text[at] == "_" and (sentence or after in _NAMES or not whole.istitle())
        return after.islower() and not (behind or name or f"{before[0]}&{after}".lower() in _COMPOUNDS)
    if behind or (at and not text[at - 1].isspace() and text[at - 1] not in _OPENING):
        return False
    return text[at] == "&" or after[0].isupper() or (len(text.split()) > 1 and not sentence)


def _in_brackets(label: Content, one: Accelerator) -> Content:
    sign = f"({one[0]}{one[1].upper()})"
    last = label[-1] if label else ""
    if isinstance(last, Code):
        return (*label, sign)
    body = last.rstrip(_MARKS)
    return (*label[:-1], body + sign + last[len(body) :])
