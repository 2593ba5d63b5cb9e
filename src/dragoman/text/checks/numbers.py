"""Numbers of a text and of its translation, compared by value.

    different_numbers("1,500 dogs on March 5", "1.500 Hunde am 5.3.", "en", "de")  # []
    different_numbers("in 15 days", "in 13 Tagen", "en", "de")  # ["15 missing", "13 added"]

Languages write one value in many ways: 1,000.5 is 1.000,5; 3 pm is 15 Uhr; 2 is two or second. A number is
reported only if nothing on the other side can be read as it, so when in doubt it counts as equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from dragoman.base.languages import base

Value = tuple[str, int]  # digits without zeros at their ends, and a power of ten: 1500 is ("15", 2)

_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,'’:/\-\u2013]\d+)*")
_RAISED = re.compile("[²³¹⁰⁴-⁹₀-₉]+")  # and lowered: of units, powers and formulas
_ARABIC_MARKS = str.maketrans("\u066b\u066c", ".,")
_THOUSANDS = re.compile(r"[.,'’]\d{3}(?!\d)")
_SIGNS = {one: unicodedata.normalize("NFKC", one).replace("\u2044", "/") for one in "¼½¾⅛⅜⅝⅞"}  # 1/4
_SIGN_TABLE = str.maketrans(_SIGNS)
_FRACTIONS = {text: str(int(text[0]) / int(text[2]))[1:] for text in _SIGNS.values()}  # ".5"
_MIXED = re.compile(f"(?<![.,\\d])(\\d+)[ \u00a0\u202f]?([{''.join(_SIGNS)}])")
_BARE = re.compile(r"(?<![\w.,)])[.](?=\d)")  # .5 is 0.5
_BELOW_ONE = re.compile(r"0[.,]\d+")
_UNITS = re.compile("[\u3371-\u33df]")  # of length, area and others, as one sign
_SUPERSCRIPTS = str.maketrans("23", "\u00b2\u00b3")
_BETWEEN = re.compile("[:/\\-\u2013]")  # what separates the parts of a date, a range or a ratio
_GROUPS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(
    r"\b(?=[IVXLCDM]{2,15}\b)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=[IVXLCDM])\b"
)
_DECADE = re.compile(r"\d\d\d0(?:['’]?s|er)\b")
_SCALE = re.compile(
    r"(?i)\b(?:thousand|tausend|mille|mil|(?:mi|bi|tri)lli[oó]n\w*|millones|milliarde?n?s?)\b"
    r"|\d ?(?:mio|mrd|[mb]n|[km])\b|[千万萬億亿]"
)
_CLOCK = re.compile(r"(?i)\b[ap]\.?m\b|o['’]clock|\buhr\b|\d ?h\b|\d:\d\d|\bheures?\b|[点時时]")
_HALF = re.compile(r"(?i)\bhalf past\b|\bhalb (?=\w)|\bheures? et demie\b|\by media\b|半")
_SCALES = (-9, -8, -6, -4, -3, 3, 4, 6, 8, 9)
_HALF_DAY = 12
_SPELLED = 20  # if the words of a language are not known, whole numbers up to here may be words
_CJK = "零一二三四五六七八九十"
_LARGE_CJK = "十百千万萬億亿"
# Languages that write compounds as one word: "dreistöckig".
_COMPOUNDING = frozenset(("de", "nl", "sv", "da", "no", "nb", "fi", "hu"))

# The words of a language, or their beginnings, for 0, 1, 2 and so on; the first of each is the number itself.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "en": tuple(
        "zero|no|none one|once|first|single|a|an two|twice|second|both|pair|couple|double|dual|half "
        "three|third|thrice|triple four|quarter five|fifth six seven eight nine|ninth ten eleven "
        "twelve|twelfth|dozen|noon|midday thirteen fourteen fifteen sixteen seventeen eighteen nineteen "
        "twenty|twentieth".split()
    ),
    "de": tuple(
        "null|kein ein|erst|eins zwei|zwo|beid|paar|doppel|doppelt|halb drei|dritt vier fünf sechs "
        "sieben|sieb acht neun zehn elf zwölf|dutzend|mittag dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn zwanzig".split()
    ),
    "fr": tuple(
        "zéro|aucun un|une|premi deux|deuxi|second|double|demi|paire trois|tiers|triple quatre|quatri|quart "
        "cinq six sept huit neuf|neuvi dix onze|onzi douze|douzi|douzaine|midi treize|treizi "
        "quatorze|quatorzi quinze|quinzi seize|seizi dix-sept dix-huit dix-neuf vingt".split()
    ),
    "es": tuple(
        "cero|ning un|uno|una|primer dos|segund|doble|amb|par|medi tres|tercer cuatro|cuart cinco|quint "
        "seis|sext siete|sépt ocho|octav nueve|noven diez|décim once doce|docena|mediod trece catorce quince "
        "dieciséis diecisiete dieciocho diecinueve veinte".split()
    ),
}
# The words that larger numbers are made of: with one of them, a number above 20 may be written in words.
_LARGE: Mapping[str, re.Pattern[str]] = {
    "en": re.compile(r"(?i)\b(?:twen|thir|for|fif|six|seven|eigh|nine)t(?:y|ie)|hundred|thousand|llion"),
    "de": re.compile(
        r"(?i)(?:zwan|drei|vier|fünf|sech|sieb|acht|neun)[zß]ig|hundert|tausend|[Mm]illi|dutzend"
    ),
    "fr": re.compile(r"(?i)\b(?:vingt|trent|quarant|cinquant|soixant|cent|mill|douzaine)"),
    "es": re.compile(r"(?i)\b(?:veint|treint|cuarent|cincuent|sesent|setent|ochent|novent|cien|mil)|cient"),
}
_MONTHS = (
    "jan|ene", "feb|fév", "mar|mär", "apr|avr|abr", "may|mai", "jun|juin", "jul|juil", "aug|aoû|ago", "sep",
    "oct|okt", "nov", "dec|dez|déc|dic",
)  # fmt: skip


def cardinals(language: str) -> list[str]:
    """Return the words of a language for 0, 1, 2 and so on to 20; empty if they are not known."""
    return [forms.split("|")[0] for forms in _WORDS.get(base(language), ())]


def different_numbers(source: str, target: str, source_language: str, target_language: str) -> list[str]:
    """Return the numbers that only one side has, such as "5 missing" or "7 added".

    Numbers in words are compared with numbers in words only if both sides have one that the other lacks.
    The texts are without placeholders.
    """
    ours, theirs = _Side(source, source_language), _Side(target, target_language)
    missing, added = ours.not_in(theirs), theirs.not_in(ours)
    if not missing and not added and not (_HALF.search(source) and _HALF.search(target)):
        missing, added = ours.words_not_in(theirs), theirs.words_not_in(ours)
        if not missing or not added:
            return []
    elif not (missing and added):  # one side has a number more: the other may have it in words
        missing = [one for one in missing if not theirs.may_spell(one)]
        added = [one for one in added if not ours.may_spell(one)]
    return [f"{one} missing" for one in missing] + [f"{one} added" for one in added]


@dataclass(frozen=True)
class _Looseness:
    """In which ways two values may differ and still be equal."""

    scales: bool  # by thousands: 5 million is 5,000,000
    clock: bool  # by half a day, and without minutes: 3 pm is 15:00
    half: bool  # by the words for half an hour: half past three is halb vier and 3:30
    dates: bool  # by being the name of a month: 3月 is March

    @classmethod
    def of(cls, text: str) -> _Looseness:
        """The readings that the words of both texts allow."""
        half, clock = bool(_HALF.search(text)), bool(_CLOCK.search(text))
        return cls(bool(_SCALE.search(text)), clock or half, half, "月" in text)

    def allows(self, part: frozenset[Value]) -> bool:
        """Whether a part of a time may be left out: no minutes, or 30."""
        return (self.clock and _value("0") in part) or (self.half and _value("30") in part)


@dataclass(frozen=True)
class _Number:
    """A number in digits: its readings, and the values of its parts, as of a date."""

    text: str
    readings: frozenset[Value]
    parts: tuple[frozenset[Value], ...]  # the readings of each

    @property
    def values(self) -> Iterator[Value]:
        """The values that a number of the other side may equal: not the 5 of 5,000,000."""
        yield from self.readings
        if not _THOUSANDS.search(self.text) or _BETWEEN.search(self.text):
            yield from chain.from_iterable(self.parts)


class _Side:
    """The numbers of one text. Words are looked at only when digits leave a question open."""

    def __init__(self, text: str, language: str) -> None:
        text = _plain(text)
        # The 2 of m² or CO₂ may be words or nothing on the other side, and may answer a 2 there.
        self._raised = [_value(unicodedata.normalize("NFKC", one)) for one in _RAISED.findall(text)]
        text = unicodedata.normalize("NFKC", _RAISED.sub(" ", text))
        self.text = text.translate(_ARABIC_MARKS)
        self.language = base(language)
        self.numbers = [
            _number(found[0], decade=bool(_DECADE.match(self.text, found.start())))
            for found in (_DIGITS.finditer(self.text) if _DIGIT.search(self.text) else ())
        ]
        self._digits = {value for one in self.numbers for value in one.values} | set(self._raised)

    @cached_property
    def _words(self) -> list[str]:
        return [word.lower() for word in _WORD.findall(self.text)]

    @cached_property
    def _spelled(self) -> set[Value]:
        """The values that words may stand for, also as a beginning: "dritte", "dreistöckig"."""
        numbers = {_CJK.index(sign) for sign in self.text if sign in _CJK}
        numbers |= {_roman(found[0]) for found in _ROMAN.finditer(self.text)}
        return {_value(str(number)) for number in numbers} | self._values_of(self._words)

    def _values_of(self, words: Sequence[str]) -> set[Value]:
        shortest = 3 if self.language in _COMPOUNDING else 4
        numbers = _starting(words, _WORDS.get(self.language, ()), shortest=shortest)
        return {_value(str(number)) for number in numbers}

    @cached_property
    def _months(self) -> set[Value]:
        return _months(self._words)

    def not_in(self, other: _Side) -> list[str]:
        """The numbers in digits that the other side has in no form, each once."""
        if not self.numbers:
            return []
        loose = _Looseness.of(f"{self.text}\n{other.text}")
        times, there = (Counter(one.text for one in side.numbers) for side in (self, other))
        first = {one.text: one for one in self.numbers}
        missing = (text for text in first if there[text] < times[text])
        return [text for text in missing if not other.has(first[text], loose, times[text])]

    def has(self, number: _Number, loose: _Looseness, times: int) -> bool:
        """Whether something here can be read as the number, or as each part of it, as often as `times`."""
        if times > 1 and number.text.isdecimal() and not self.may_spell(number.text):
            values = set().union(*(_alike(value, loose) for value in number.readings))
            if times > self._count(values):
                return False
        if any(self._has(value, loose) for value in number.readings):
            return True
        if loose.dates and not self._months.isdisjoint(number.readings):
            return True
        if _BELOW_ONE.fullmatch(number.text) and not loose.clock:
            return False  # 0 and 5 are no parts of 0.5
        return len(number.parts) > 1 and all(
            loose.allows(part) or any(self._has(value, loose) or value in self._months for value in part)
            for part in number.parts
        )

    def _count(self, values: set[Value]) -> int:
        """How often one of the values is here, at least."""
        digits = sum(
            max(not values.isdisjoint(one.readings), sum(not values.isdisjoint(part) for part in one.parts))
            for one in self.numbers
        )
        words = sum(not values.isdisjoint(self._values_of([word]) | _months([word])) for word in self._words)
        others = [*self._raised, *(_value(str(_CJK.index(sign))) for sign in self.text if sign in _CJK)]
        return digits + words + sum(one in values for one in others)

    def _has(self, value: Value, loose: _Looseness) -> bool:
        values = _alike(value, loose)
        return not (values.isdisjoint(self._digits) and values.isdisjoint(self._spelled))

    def may_spell(self, number: str) -> bool:
        """Whether the number may be here in words that were not read."""
        whole = int(number) if number.isdecimal() and len(number) < 10 else None
        if self.language in _LARGE:
            return (whole is None or whole > _SPELLED) and bool(_LARGE[self.language].search(self.text))
        if any(sign in self.text for sign in _LARGE_CJK):
            return True
        return whole is not None and whole <= _SPELLED

    def words_not_in(self, other: _Side) -> list[str]:
        """The numbers from 2 on that are words here, but neither words nor digits on the other side."""
        numbers = {word: n for n, word in enumerate(cardinals(self.language)) if n > 1}
        values = {word: _value(str(numbers[word])) for word in self._words if word in numbers}
        return [word for word, value in values.items() if value not in other._digits | other._spelled]


def _plain(text: str) -> str:
    """The text with 1\u00bd as 1.5 and \u33a1 as m\u00b2. NFKC would make 11 and a number 2 of them."""
    text = _BARE.sub("0.", text)
    if text.isascii():
        return text
    text = _MIXED.sub(lambda found: f"{found[1]}{_FRACTIONS[_SIGNS[found[2]]]}", text).translate(_SIGN_TABLE)
    return _UNITS.sub(lambda found: unicodedata.normalize("NFKC", found[0]).translate(_SUPERSCRIPTS), text)


def _number(text: str, *, decade: bool) -> _Number:
    groups = _GROUPS.findall(text)
    readings = set(_readings(groups, re.sub(r"\d", "", text)))
    if text in _FRACTIONS:
        readings.add(_value(_FRACTIONS[text][1:], 1 - len(_FRACTIONS[text])))
    if decade:  # the 1990s are the 90s
        readings.add(_value(groups[0][-2:]))
    return _Number(text, frozenset(readings), tuple(_parts(text)))


def _parts(text: str) -> Iterator[frozenset[Value]]:
    """The parts of a date, a range or a ratio. In those with marks between them, 1,000 is one number."""
    pieces = _BETWEEN.split(text)
    for piece in pieces:
        groups = _GROUPS.findall(piece)
        if len(pieces) > 1 and _THOUSANDS.search(piece):
            yield frozenset(_readings(groups, re.sub(r"\d", "", piece)))
        else:
            yield from (frozenset([_value(group)]) for group in groups)


def _readings(groups: Sequence[str], marks: str) -> Iterator[Value]:
    """The values that groups of digits can have with these marks between them."""
    *whole, last = groups
    if not marks:
        yield _value(last)
    elif set(marks) <= set(".,'’ \u00a0\u202f"):
        thousands = len(whole[0]) <= 3 and all(len(group) == 3 for group in whole[1:])
        if thousands and len(last) == 3 and len(set(marks)) == 1:
            yield _value("".join(groups))
        if (thousands or len(whole) == 1) and marks[-1] in ".," and marks.count(marks[-1]) == 1:
            yield _value("".join(groups), -len(last))


def _value(digits: str, power: int = 0) -> Value:
    """The value of digits times a power of ten."""
    digits = "".join(str(unicodedata.decimal(digit)) for digit in digits).lstrip("0")
    kept = digits.rstrip("0")
    return (kept, power + len(digits) - len(kept)) if kept else ("", 0)


def _alike(value: Value, loose: _Looseness) -> set[Value]:
    digits, power = value
    found = {value}
    if loose.scales:
        found.update((digits, power + scale) for scale in _SCALES)
    if loose.clock and 0 <= power <= 1 and len(digits) <= 2:
        hour = int(digits or 0) * 10**power
        found.update(_value(str(other)) for other in (hour - _HALF_DAY, hour + _HALF_DAY) if 0 <= other <= 24)
    return found


def _months(words: Sequence[str]) -> set[Value]:
    return {_value(str(number)) for number in _starting(words, _MONTHS, first=1)}


def _roman(text: str) -> int:
    numbers = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[sign] for sign in text]
    return sum(-a if a < b else a for a, b in zip(numbers, [*numbers[1:], 0], strict=True))


def _starting(words: Sequence[str], forms: Sequence[str], *, first: int = 0, shortest: int = 3) -> set[int]:
    """The numbers, counted from `first`, of the forms that a word is, or begins with if they are long."""
    numbers = {form: number for number, those in enumerate(forms, first) for form in those.split("|")}
    found = {numbers[word] for word in words if word in numbers}
    beginnings = (
        word[:end] for word in words if word not in numbers for end in range(shortest, len(word))
    )  # "vierzehn" is 14 and not 4
    return found | {numbers[form] for form in beginnings if form in numbers}
