"""Rules for parallel text, in TOML: repairs of each side, and filters that drop pairs.

    [filters]
    length-ratio = 3.0        # a limit; false switches a filter off, true sets its default
    [repairs]
    quotes = true
    [languages.de.filters]    # for text whose source or target is German
    [corpora."web*".filters]  # for files whose names match

A filter measures a pair, larger for worse ones, and drops it if the measure is above the limit. Later
sections have priority: corpora over languages, and both over the first two.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError
from dragoman.base.languages import base, same
from dragoman.base.options import show
from dragoman.data.near import normalised
from dragoman.data.repairs import REPAIRS, Repair
from dragoman.text.blank import is_blank
from dragoman.text.checks.faults import Side, unmatched
from dragoman.text.checks.loops import loops
from dragoman.text.checks.omissions import lacks_most
from dragoman.text.detection import clearly_other
from dragoman.text.width import columns

Languages = tuple[str | None, str | None]
Table = dict[str, Any]


class MeasuredPair(NamedTuple):
    """What a filter measures. A filter that needs a language which is not known measures 0."""

    source: str
    target: str
    languages: Languages = (None, None)


@dataclass(frozen=True)
class Filter:
    """A measure of pairs, larger for worse ones, and its limit; None if the filter is off."""

    name: str
    help: str
    measure: Callable[[MeasuredPair], float]
    limit: float | None

    @property
    def is_on(self) -> bool:
        """Whether it drops pairs."""
        return self.limit is not None


_DIGIT = re.compile(r"\d")
_MARKED = re.compile(r"[%{}<>$\\@&#\[\]|]|\w_\w|://")
_LETTER = re.compile(r"[^\W\d_]")
_BOILERPLATE = re.compile(
    r"https?://\S+|www\.\S+|[^\s@]{1,64}@[\w.-]{1,255}\.\w+|</?[A-Za-z][^<>]*>|\[/?\w+\]|\{\{[^{}]{0,999}\}\}"
)
# U+FFFD, and what UTF-8 looks like if it is read as Latin-1 or Windows-1252, or as the Cyrillic encodings.
_BROKEN = re.compile(
    "\ufffd|[\x80-\x84\x86-\x9f]|Ã[¤¶¼Ÿ„œ©¨¢§ª¬®¯±³µ¹º¡]|â€[\x80-\xff™œžš˜“”¦]"
    "|(?:[ÐÑ][\x80-\xbf]){2}|(?:[РС][\u00b0-\u00bfЂ-Џѐ-џ\u201a-\u2122]){3}"
)
_SCRIPTS = {  # the languages of scripts, by the first words of the names of their characters
    "LATIN": "en de fr es it pt nl sv da no nb nn fi et lv lt pl cs sk sl hr hu ro tr vi id ms ca gl eu is",
    "CYRILLIC": "ru uk be bg mk",
    "ARABIC": "ar fa ur",
    "DEVANAGARI": "hi mr ne",
    "CJK": "zh ja ko",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "GREEK": "el",
    "HEBREW": "he",
    "THAI": "th",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KHMER": "km",
}
_DENSE = {"CJK", "THAI", "KHMER"}
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_BEYOND_LATIN = "\u0370"
_FEW = 10  # letters of a text that may be a name in another script, or characters of one that is a number


def _sizes(text: str) -> float:
    """Words, or a tenth of the characters: in some scripts no space is between words."""
    return max(len(text.split()), len(text) / 10)


def _empty(pair: MeasuredPair) -> float:
    return is_blank(pair.source) != is_blank(pair.target)  # empty pairs end documents


def _long(pair: MeasuredPair) -> float:
    return max(map(_sizes, pair[:2]))


def _short(pair: MeasuredPair) -> float:
    return -min(len(text.strip()) for text in pair[:2])


def _ratio(pair: MeasuredPair) -> float:
    short, long = sorted(map(columns, pair[:2]))
    return (long + 10) / (short + 10)  # a short text may well have twice the length


def _truncated(pair: MeasuredPair) -> float:
    source, target = pair[:2]
    return lacks_most(source, target) or lacks_most(target, source)


def _copied(pair: MeasuredPair) -> float:
    source, target, (one, other) = pair
    if abs(len(source) - len(target)) > 5 or (one and other and same(one, other)):
        return 0
    return _sizes(source) if source == target or normalised(source) == normalised(target) else 0


def _language(pair: MeasuredPair) -> float:
    sides = zip(pair[:2], pair.languages, strict=True)
    return sum(1 for text, code in sides if code and clearly_other(text, code) is not None)


def _script(pair: MeasuredPair) -> float:
    one, other = pair.languages
    return max(_foreign(pair.source, one, pair.target), _foreign(pair.target, other, pair.source))


def _foreign(text: str, language: str | None, other: str) -> float:
    """The share of letters in a script that the language is not written in.

    Words in Latin letters that the other side has, too, do not count beside Chinese or Japanese.
    """
    scripts = [one for one, codes in _SCRIPTS.items() if language and base(language) in codes.split()]
    if not scripts or ("LATIN" in scripts and max(text, default="") < _BEYOND_LATIN):
        return 0.0
    if len(letters := _LETTER.findall(text)) < _FEW:
        return 0.0
    if _DENSE.intersection(scripts):  # a character is a word, or most of one; so is a name in Latin letters
        own = _LETTER.findall(_LATIN_WORD.sub(lambda word: "" if word[0] in other else "x", text))
        letters = own or _LETTER.findall(_LATIN_WORD.sub("x", text))
    return sum(_script_of(c) not in scripts for c in letters) / len(letters)


@lru_cache(20_000)
def _script_of(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)[0]  # KATAKANA also in half width
    return unicodedata.name(plain, "").split(" ")[0].split("-")[0]


@lru_cache(20_000)
def _is_letter(character: str) -> bool:
    """Also vowel signs and other marks, which some scripts write most vowels with."""
    return unicodedata.category(character)[0] in "LM"


def _letters(pair: MeasuredPair) -> float:
    text = "".join("".join(pair[:2]).split())
    letters = len(_LETTER.findall(text)) if text.isascii() else sum(map(_is_letter, text))
    return 1 - letters / len(text) if len(text) > _FEW else 0.0


def _numbers(pair: MeasuredPair) -> float:
    source, target, (one, other) = pair
    if not any(map(_DIGIT.search, pair[:2])):
        return 0
    from dragoman.text.checks.numbers import different_numbers  # its patterns are slow to compile

    words = Side.of(source, one or "").words, Side.of(target, other or "").words
    return len(different_numbers(*words, one or "", other or ""))


def _placeholders(pair: MeasuredPair) -> float:
    if not any(map(_MARKED.search, pair[:2])):
        return 0
    source, target = (Side.of(text, "").placeholders for text in pair[:2])
    return len(unmatched(source, target))


def _repetition(pair: MeasuredPair) -> float:
    return loops(pair.target, pair.source) + loops(pair.source, pair.target)


def _encoding(pair: MeasuredPair) -> float:
    return sum(0 if text.isascii() else len(_BROKEN.findall(text)) for text in pair[:2])


def _boilerplate(pair: MeasuredPair) -> float:
    return max(_share_of_boilerplate(text) for text in pair[:2])


def _share_of_boilerplate(text: str) -> float:
    if not _MARKED.search(text) and "www." not in text:
        return 0.0
    return sum(map(columns, _BOILERPLATE.findall(text))) / max(columns(text), 1)


FILTERS = (  # in their order; of functions that other processes find by their names
    Filter("empty", "1 if only one side is empty.", _empty, 0),
    Filter("encoding", "Characters that were decoded wrongly, and that no repair mends.", _encoding, 0),
    Filter("long", "Words of the longer side, or a tenth of its characters.", _long, 250),
    Filter("short", "Characters of the shorter side, negative: -3 drops those of one and two.", _short, None),
    Filter("boilerplate", "The share of addresses and markup in a side.", _boilerplate, 0.5),
    Filter("letters", "The share of characters that are no letters.", _letters, 0.7),
    Filter("copied", "Words of a side that is the same as the other, but for case and marks.", _copied, 4),
    Filter("script", "The share of a side's letters in a script that is not its language's.", _script, 0.5),
    Filter("language", "Sides that are clearly in another language (needs py3langid).", _language, 0),
    Filter("repetition", "Characters in a loop that the other side does not have.", _repetition, 0),
    Filter("length-ratio", "The longer side by the shorter, each with 10 columns more.", _ratio, 3),
    Filter("truncated", "1 if a side lacks most of the other.", _truncated, 0),
    Filter("numbers", "Numbers that only one side has.", _numbers, None),
    Filter("placeholders", "Placeholders, tags and the like that only one side has.", _placeholders, None),
)


class Verdict(NamedTuple):
    """What rules make of a pair: repaired sides, the repairs of each, and the filters that drop it."""

    source: str
    target: str
    repairs: list[str]
    filters: list[tuple[str, float]]  # name and measure


@dataclass(frozen=True)
class Rules:
    """The filters and repairs for one corpus. Processes can send them to each other."""

    filters: tuple[Filter, ...]
    repairs: tuple[Repair, ...]
    languages: Languages = (None, None)

    @classmethod
    def of(cls, table: Mapping[str, Any], languages: Languages = (None, None), *names: str) -> Rules:
        """The rules of a table for text in these languages, from files with these names."""
        filters = {one.name: one for one in FILTERS}
        repairs = {one.name: one.is_on for one in REPAIRS}
        for part in _parts(table, languages, names):
            for name, limit in part.get("filters", {}).items():
                default = next(one.limit for one in FILTERS if one.name == name)
                wanted = (default or 0) if limit is True else None if limit is False else float(limit)
                filters[name] = replace(filters[name], limit=wanted)
            repairs |= part.get("repairs", {})
        return cls(tuple(filters.values()), tuple(one for one in REPAIRS if repairs[one.name]), languages)

    def judge(self, source: str, target: str) -> Verdict:
        """Repair both sides, and measure what comes out."""
        done: list[str] = []
        source, target = self.repaired(source, done), self.repaired(target, done)
        done = [one.name for one in self.repairs if one.name in done]
        pair = MeasuredPair(source, target, self.languages)
        ends = is_blank(source) and is_blank(target)  # a document
        found = [
            (one.name, float(measure))
            for one in self.filters
            if one.limit is not None and (measure := one.measure(pair)) > one.limit and not ends
        ]
        return Verdict(source, target, done, found)

    def repaired(self, text: str, done: list[str]) -> str:
        """Repair a text. Adds the names of the repairs that change it to `done`."""
        for one in self.repairs:
            before, text = text, one.function(text)
            done += [one.name] if text != before else []
        return text

    def without(self, names: Container[str]) -> Rules:
        """The rules with these filters and repairs off."""
        filters = tuple(replace(one, limit=None) if one.name in names else one for one in self.filters)
        return replace(
            self, filters=filters, repairs=tuple(one for one in self.repairs if one.name not in names)
        )


def missing_libraries(table: Mapping[str, Any]) -> list[str]:
    """The names of what needs a missing library. Raises ConfigError if a table switches one on."""
    missing = [name for name, library in _NEEDS.items() if find_spec(library) is None]
    for part in _sections(table):
        for name in missing:
            values = part.get("filters", {}) | part.get("repairs", {})
            if values.get(name, False) is not False:
                hint = f'install it: pip install "dragoman[data]"; or write {name} = false'
                raise ConfigError(f"{name} = {show(values[name])} needs {_NEEDS[name]}", hint=hint)
    return missing


_NEEDS = {"mojibake": "ftfy", "language": "py3langid"}
_KINDS, _OF_SOME = ("filters", "repairs"), ("languages", "corpora")


def _sections(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield table
    for kind in _OF_SOME:
        yield from table.get(kind, {}).values()


def idle_sections(table: Mapping[str, Any], languages: Languages, names: Sequence[str]) -> list[str]:
    """The sections of a table that apply to no text in these languages or file with one of these names."""
    used = [id(part) for part in _parts(table, languages, names)]
    several = [(kind, name, part) for kind in _OF_SOME for name, part in table.get(kind, {}).items()]
    return [f"{kind}.{show(name)}" for kind, name, part in several if id(part) not in used]


def _parts(
    table: Mapping[str, Any], languages: Languages, names: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    """The sections that apply, each with priority over those before."""
    yield table
    for code, part in table.get("languages", {}).items():
        if any(one is not None and same(one, code) for one in languages):
            yield part
    for pattern, part in table.get("corpora", {}).items():
        if any(fnmatch(name, pattern) or fnmatch(Path(name).name, pattern) for name in names):
            yield part


def read_rules(path: Path) -> Table:
    """The table of a TOML file of rules. Raises ConfigError naming file and key for what cannot be used."""

    def section(key: str, value: Any, known: Sequence[str] = ()) -> Table:
        if not isinstance(value, dict):
            raise ConfigError(f"{path}: {key} = {show(value)} is no section", hint=f"write [{key}]")
        for name in value:
            if known and name not in known:
                at = f"{key}.{name}" if key else name
                raise ConfigError(f"{path}: unknown name {at}", hint=f"known are {', '.join(known)}")
        return value

    def check(prefix: str, part: Table) -> None:
        for kind, known in (("filters", FILTERS), ("repairs", REPAIRS)):
            key = f"{prefix}{kind}"
            for name, value in section(key, part.get(kind, {}), [one.name for one in known]).items():
                number = kind == "filters" and isinstance(value, int | float) and math.isfinite(value)
                idle = name == "short" and number and value is not False and value >= 0
                if idle or (not isinstance(value, bool) and not number):
                    hint = "write a number, or true or false" if kind == "filters" else "write true or false"
                    hint = "write the fewest characters with a minus, such as -3" if idle else hint
                    raise ConfigError(f"{path}: {key}.{name} = {show(value)} cannot be used", hint=hint)

    table = section("", read_toml(path), (*_KINDS, *_OF_SOME))
    check("", table)
    for kind in _OF_SOME:
        for name, part in section(kind, table.get(kind, {})).items():
            check(f"{kind}.{name}.", section(f"{kind}.{name}", part, _KINDS))
    return table


def default_rules() -> str:
    """The default rules as TOML, with a comment on each."""
    lines = ["[filters]  # a pair is dropped if it measures more; false: off"]
    for one in FILTERS:
        limit = "false" if one.limit is None else f"{one.limit:g}"
        lines.append(f"{f'{one.name} = {limit}':24}  # {one.help}")
    lines += ["", "[repairs]"]
    lines += [f"{f'{one.name} = {str(one.is_on).lower()}':24}  # {one.help}" for one in REPAIRS]
    return "\n".join(lines)
