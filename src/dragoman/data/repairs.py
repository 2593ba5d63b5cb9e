"""Repairs of text that was damaged on its way. Each leaves healthy text as it is, and can be done twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import unescape
from typing import Any

from dragoman.base.errors import ConfigError


@dataclass(frozen=True)
class Repair:
    """A function from a text to the repaired one, and whether it is done if the rules say nothing."""

    name: str
    help: str
    function: Callable[[str], str]
    is_on: bool = True


_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31}\d{0,2});")
_CODE = re.compile(r"</?[A-Za-z]|`")
_QUOTED = ("'\"“„«‘‹「(", "'\"”“»’›」)")
# Composing them would replace characters that names in Chinese and Japanese are written with.
_COMPOSED = re.compile("[^\uf900-\ufaff\U0002f800-\U0002fa1f]+")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_BREAKS = re.compile("[\t-\r\x85\u2028\u2029]+")
_QUOTES = str.maketrans("“”„‟‘’‚‛", "\"\"\"\"''''")


# What looks so too: a word in capitals, such as IRMÃ, before a closing mark.
_CAPITAL = re.compile("(?<=[A-ZÀ-Þ«“„])[ÃÂÐÑ](?=[”“»–—®](?!\\w))")


def _mojibake(text: str) -> str:
    if text.isascii():
        return text
    rest = _CAPITAL.sub("", text)
    return text if rest != text and _ftfy()(rest) == rest else _ftfy()(text)


@cache
def _ftfy() -> Callable[[str], str]:
    """Undo wrong decoding, and nothing else. Raises ConfigError without ftfy."""
    try:
        import ftfy
    except ImportError:
        raise ConfigError(
            "the repair mojibake needs ftfy",
            hint='install it: pip install "dragoman[data]"; or switch it off: mojibake = false in [repairs]',
        ) from None
    # A lossy sequence has lost a byte: what it was can only be guessed.
    config: Any = ftfy.TextFixerConfig(unescape_html=False, replace_lossy_sequences=False)
    return lambda text: str(ftfy.fix_encoding(text, config))


def _entities(text: str) -> str:
    if "&" not in text or _CODE.search(text):  # code, in which the entity is meant
        return text

    def character(found: re.Match[str]) -> str:
        before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
        about = before and after and before in _QUOTED[0] and after in _QUOTED[1]
        twice = unescape(found[0]) == "&" and _ENTITY.match("&" + text[found.end() :])  # escaped twice
        one = unescape(found[0])
        if about or twice or one.endswith(";") or (not one.isprintable() and one not in _HIDDEN):
            return found[0]
        return one

    return _ENTITY.sub(character, text)


_HIDDEN = ("\u00a0", "\u00ad", "\u2009", "\u2002", "\u2003", "\u200c", "\u200d")  # not printable, yet meant


def _unicode(text: str) -> str:
    if unicodedata.is_normalized("NFC", text):
        return text
    return _COMPOSED.sub(lambda found: unicodedata.normalize("NFC", found[0]), text)


def _controls(text: str) -> str:
    return text if text.isprintable() else _BREAKS.sub(" ", _CONTROLS.sub(_meant, text))


def _meant(found: re.Match[str]) -> str:
    """The character of Windows-1252 for a control character of Latin-1; nothing for others."""
    code = ord(found[0])
    return bytes([code]).decode("cp1252", "ignore") if 0x80 <= code < 0xA0 else ""


_SOFT_HYPHEN = re.compile("\u00ad+")
_SPACES = re.compile("  +")


def _soft_hyphens(text: str) -> str:
    return _SOFT_HYPHEN.sub(_hyphen_or_none, text) if "\u00ad" in text else text


def _hyphen_or_none(found: re.Match[str]) -> str:
    """Some programs write it in place of a hyphen: before a space ("Außen- und"), or before a name."""
    text, start, end = found.string, found.start(), found.end()
    before, after, then = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
    name = after.isupper() and (before.islower() or then.islower())
    return "-" if before.isalnum() and (after.isspace() or name) else ""


def _spaces(text: str) -> str:
    text = text.strip(" ")  # not U+00A0 or U+3000, which have a meaning in French and in Japanese
    return _SPACES.sub(" ", text) if "  " in text else text


def _quotes(text: str) -> str:
    return text.translate(_QUOTES)


REPAIRS = (  # in the order in which they are done; of functions that other processes find by their names
    Repair("mojibake", "Undo a wrong decoding, as of fÃ¼r (needs ftfy).", _mojibake),
    Repair("entities", "&amp; and other HTML entities as characters, but not in code.", _entities),
    Repair("unicode", "Characters in their composed form (NFC).", _unicode),
    Repair(
        "controls",
        "Leave out control characters, or read them as Windows-1252; a space for a tab.",
        _controls,
    ),
    Repair("soft-hyphens", "Leave out soft hyphens, which are not shown.", _soft_hyphens),
    Repair("spaces", "Leave out spaces at the ends, and all but one in a row.", _spaces),
    Repair("quotes", "Straight quotation marks for curved ones.", _quotes, is_on=False),
)
