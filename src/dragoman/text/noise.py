"""Noise for training text: the mistakes and habits of people who type, and words that are moved.

`noised` gives a pair one of the kinds in `NOISES`, which a model should stand. `scrambled` is for synthetic
sources. Both are functions of a key, and leave no text empty.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import chain, cycle, pairwise
from math import ceil
from random import Random
from typing import Literal, get_args

from dragoman.base.languages import base
from dragoman.text.blank import is_blank
from dragoman.text.checks.placeholders import find_placeholders, mask
from dragoman.text.corpora.languages import Direction
from dragoman.text.scripts import UNSPACED, is_unspaced
from dragoman.text.tokenizers.copied import replaced

Noise = Literal[
    "capitals", "title", "lower", "typos", "punctuation", "diacritics", "emoji", "tags", "spaces", "quotes",
    "breaks",
]  # fmt: skip
NOISES: tuple[Noise, ...] = get_args(Noise)
_CARRIED: tuple[Noise, ...] = ("capitals", "title", "emoji", "tags")  # over to the target

_MISTYPED = 0.15  # share of the words
_MIXED = 0.3  # share of the spaces
_SPACES = ("  ", "   ", "\u00a0", "\u202f", "\t")
_BREAKS = ("\n", "\r\n", " \n")
_LETTERS = r"(?:[^\W\d_][\u0300-\u036f]*)+"
_MARK = r"(?<=[^\W_])[.,;:!?…](?=\s|\Z)|[。，、！？；：।۔؟،]"
_SPACE = r"(?<=\S) (?=\S)"
_INSIDE = rf"{_SPACE}|(?<=[{UNSPACED}])(?=[{UNSPACED}])"
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("''", "''"))
_APOSTROPHES = "'’`´"
_PLAIN = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae",
                        "Æ": "AE", "œ": "oe", "Œ": "OE", "ı": "i", "ё": "е", "Ё": "Е"})  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_TURKIC = str.maketrans({"i": "İ"}), str.maketrans({"I": "ı", "İ": "i"})
_EMOJI = (range(0x1F600, 0x1F650), range(0x1F300, 0x1F53E), range(0x1F680, 0x1F6C6), range(0x1F90C, 0x1FA00))
_SEQUENCES = ("❤️", "👍🏽", "👩‍💻", "👨‍👩‍👧", "🇪🇺", "1️⃣")
_AROUND = [(f"<{name}>", f"</{name}>") for name in ("b", "i", "em", "strong", "u", "code", "0")]
_AROUND += [('<g id="1">', "</g>"), ("{0} ", ""), ("", " %s"), ("", " {name}"), ("%1$s ", "")]
_QWERTY, _QWERTZ = "qwertyuiop asdfghjkl zxcvbnm", "qwertzuiopü asdfghjklöä yxcvbnm"
_LAYOUTS = dict.fromkeys(("de", "cs", "sk", "hu", "sl", "hr", "bs", "sq"), _QWERTZ)
_LAYOUTS["fr"] = "azertyuiop qsdfghjklm wxcvbn"
_OF_OTHER_SCRIPTS = ("йцукенгшщзхъ фывапролджэ ячсмитьбю", ";ςερτυθιοπ ασδφγηξκλ ζχψωβνμ")


def noised(
    pair: tuple[str, str], key: str, *, kinds: Sequence[Noise] = NOISES, languages: Direction = ("", "")
) -> tuple[str, str]:
    """Return source and target with one kind of noise: the same for the same key.

    The kind is drawn from those that change this source. Capitals, titles, emoji and tags are in the target,
    too; of other kinds it has none. Placeholders, such as URLs, stay as they are, and so does a blank source.
    """
    if is_blank(pair[0]):
        return pair
    for kind in Random(key).sample(kinds, len(kinds)):
        # A generator for each side, so that both have the same emoji or tags.
        source, target = (
            replaced(text, _changes(kind, text, Random(f"{key} {kind}"), base(language) if language else ""))
            if side == "source" or kind in _CARRIED
            else text
            for side, text, language in zip(("source", "target"), pair, languages, strict=True)
        )
        if source != pair[0] and not is_blank(source):
            return source, target
    return pair


def _changes(kind: Noise, text: str, random: Random, language: str) -> list[tuple[int, int, str]]:
    """The noise of a kind, as each (start, end, other text) to put in place of text[start:end]."""
    dotted, dotless = _TURKIC if language in ("tr", "az") else ({}, {})
    match kind:
        case "capitals" | "title":
            found = _free(_LETTERS if kind == "capitals" else r"(?<![\w'’])[^\W\d_]", text)
            return [(*one.span(), one[0].translate(dotted).upper()) for one in found]
        case "lower":
            return [(*one.span(), one[0].translate(dotless).lower()) for one in _free(_LETTERS, text)]
        case "typos":
            words = [one for one in _free(r"[^\W\d_]{3,}", text) if not is_unspaced(one[0])]
            chosen = random.sample(words, ceil(_MISTYPED * len(words)))
            return [(*one.span(), _mistyped(one[0], random, _keys(language))) for one in chosen]
        case "punctuation":
            marks, how = [one.span() for one in _free(_MARK, text)], random.randrange(3)
            doubled = random.randint(2, 3) if how == 2 else 0
            return [(a, b, text[a:b] * doubled) for a, b in (marks if how == 0 else marks[-1:])]
        case "diacritics":
            spelt = language == "de" and random.random() < 0.5  # ä as ae
            words = _free(_LETTERS, text)
            return [(*one.span(), _bare(one[0].translate(_UMLAUTS) if spelt else one[0])) for one in words]
        case "emoji":
            some = random.choice([random.choice(_SEQUENCES), *(chr(random.choice(of)) for of in _EMOJI)])
            some *= random.choice((1, 1, 1, 2, 3))
            return [(0, 0, f"{some} ")] if random.random() < 0.2 else [(len(text), len(text), f" {some}")]
        case "tags":
            before, after = random.choice(_AROUND)
            return [(0, 0, before), (len(text), len(text), after)]
        case "spaces":
            spaces = _free(_SPACE, text)
            mixed = [one for one in spaces if random.random() < _MIXED] or spaces[:1]
            return [(*one.span(), random.choice(_SPACES)) for one in mixed]
        case "quotes":
            form = random.choice([one for one in _QUOTES if one[0] not in text] or _QUOTES)
            signs = zip(_free('["“”„‟«»]', text), cycle(form), strict=False)
            inside = _free(rf"(?<=\w)[{_APOSTROPHES}](?=\w)", text)
            others = ((one, random.choice(_APOSTROPHES.replace(one[0], ""))) for one in inside)
            return [(*one.span(), sign) for one, sign in chain(signs, others)]
        case "breaks":
            places = [one.span() for one in _free(_INSIDE, text)]
            return [(*random.choice(places), random.choice(_BREAKS))] if places else []


def _free(pattern: str, text: str) -> list[re.Match[str]]:
    """The matches of a pattern that do not touch a placeholder."""
    covered = mask(text, ((one.start, one.end + 1) for one in find_placeholders(text)))
    return [one for one in re.finditer(pattern, text) if not any(covered[slice(*one.span())])]


def _mistyped(word: str, random: Random, keys: dict[str, str]) -> str:
    """The word with a letter doubled, left out, swapped with the next, or of a key beside the right one."""
    place = random.randrange(len(word) - 1)
    letter, after = word[place], word[place + 1]
    wrong = [letter + letter + after, letter, *([after + letter] if after != letter else [])]
    if near := keys.get(letter.lower()):
        key = random.choice(near)
        wrong.append((key.upper() if letter.isupper() else key) + after)
    return word[:place] + random.choice(wrong) + word[place + 2 :]


@cache
def _keys(language: str) -> dict[str, str]:
    """The keys beside each key, on the keyboard of a language."""
    near: dict[str, str] = {}
    for rows in map(str.split, (_LAYOUTS.get(language, _QWERTY), *_OF_OTHER_SCRIPTS)):
        beside = chain(*(pairwise(row) for row in rows), *(zip(*two, strict=False) for two in pairwise(rows)))
        for one, other in beside:
            near[one], near[other] = near.get(one, "") + other, near.get(other, "") + one
    return near


def _bare(word: str) -> str:
    """A word without diacritics, where it has Latin or Greek letters."""
    bare = ""
    for letter in unicodedata.normalize("NFC", word.translate(_PLAIN)):
        first = unicodedata.normalize("NFD", letter)[0]
        bare += first if first.isascii() or "\u0370" <= first < "\u0400" else letter
    return bare


DROPPED, BLANKED = 0.1, 0.1  # shares of the words
FARTHEST = 3  # places that a word moves at most
BLANK = "␣"  # U+2423, open box: one character, one token where it is frequent, and rare in real text
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


def scrambled(
    text: str, key: str, *, dropped: float = DROPPED, blanked: float = BLANKED, farthest: int = FARTHEST
) -> str:
    """Return a synthetic source with words left out, blanked and moved: the same for the same key.

    Each word is left out with probability `dropped`; each that stays becomes `BLANK` with probability
    `blanked`; then the words are shuffled so that none moves by more than `farthest` places. One word always
    stays. In scripts without spaces between words, each character counts as a word. Edunov et al. 2018,
    section 3; the shuffle is from Lample et al. 2018, section 2.3.
    """
    random = Random(key)
    words = _WORD.findall(text)
    kept = [word for word in words if random.random() >= dropped] or words[:1]
    glued = [is_unspaced(word) for word in kept]
    kept = [BLANK if random.random() < blanked else word for word in kept]
    # A word passes another only if it stands less than farthest + 1 places behind it.
    places = [place + random.random() * (farthest + 1) for place in range(len(kept))]
    order = sorted(range(len(kept)), key=places.__getitem__)
    spaces = ["", *("" if glued[one] or glued[two] else " " for one, two in pairwise(order))]
    return "".join(space + kept[place] for space, place in zip(spaces, order, strict=False))
