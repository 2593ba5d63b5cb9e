"""Language tags (BCP 47), the codes and names that people write for them, and which of them agree.

`de`, `deu`, `ger`, `de-AT`, `de_DE.UTF-8` and `German` name one language. Codes are from ISO 639-1, -2
and -3. The canonical code has two letters if ISO 639-1 has the language. A code that stands for a
macrolanguage becomes its code: `cmn` is `zh`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from dragoman.base.language_table import GROUPS, LANGUAGES

# Codes that programs write although BCP 47 does not have them, and those that mean a region, too.
_ALIASES = {"zt": "zh-Hant", "pb": "pt-BR", "prs": "fa-AF"}
_SCRIPTS_OF_CHINESE = {"CN": "Hans", "SG": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"}
_MODIFIERS = {"latin": "Latn", "cyrillic": "Cyrl"}  # of POSIX: sr_RS@latin
_GROUPS = frozenset(GROUPS.split())
_FORMS = {"nb": "no", "nn": "no"}  # the forms of a language that have codes of their own
_MAIN_FORM = {"no": "nb"}
_PARTS = {
    "Hans": "simplified",
    "Hant": "traditional",
    "Latn": "Latin",
    "Cyrl": "Cyrillic",
    "Arab": "Arabic",
    "BR": "Brazil",
    "PT": "Portugal",
    "US": "American",
    "GB": "British",
    "CA": "Canada",
    "MX": "Mexico",
    "419": "Latin America",
}
_TAG = (  # `re` compiles it when it is first needed
    r"([a-z]{2,8})(?:-([a-z]{3}))?(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-[a-z0-9-]*)?"
    r"(?:\.[\w-]*)?(?:@(\w+))?"
)


class _Tag(NamedTuple):
    """The parts of a tag. Those that it leaves open are empty."""

    language: str
    script: str = ""
    region: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, self))


@cache
def _codes() -> dict[str, str]:
    """The code in BCP 47 by each code and English name of a language, in lower case."""
    rows = [row.split(None, 1) for row in LANGUAGES.split(";")]
    names = {" ".join(name.lower().split()): codes.partition("/")[0] for codes, name in rows}
    return names | {code: codes.partition("/")[0] for codes, _ in rows for code in codes.split("/")}


@cache
def _names() -> dict[str, str]:
    rows = (row.split(None, 1) for row in LANGUAGES.split(";"))
    return {codes.partition("/")[0]: " ".join(name.split()) for codes, name in rows}


@lru_cache(1000)  # of strangers
def _parsed(text: str) -> _Tag:
    plain = text.strip().lower()
    if " " in plain or len(plain) > 8 or not plain.isascii():
        plain = _codes().get(plain, plain)  # an English name
    plain = plain.replace("_", "-")
    found = re.fullmatch(_TAG, _ALIASES.get(plain, plain).lower())
    if found is None:
        return _Tag(plain)
    language, extended, script, region, modifier = found.groups()
    language = extended or language  # zh-yue is yue
    if language in _ALIASES:
        language, _, alias = _ALIASES[language].partition("-")
        region = region or alias.lower()
    script = (script or _MODIFIERS.get(modifier, "")).title()
    return _Tag(_codes().get(language, language), script, (region or "").upper())


def canonical(tag: str) -> str:
    """Return a tag in its usual form: "DEU" is "de", "pt_br" "pt-BR", "zh-TW" "zh-Hant", "Welsh" "cy".

    Variants and encodings are left out. Text that is not a tag is returned in lower case.
    """
    parsed = _parsed(tag)
    if parsed.language == "zh" and parsed.region:
        parsed = _Tag("zh", parsed.script or _SCRIPTS_OF_CHINESE.get(parsed.region, ""))
    return str(parsed)


def base(tag: str) -> str:
    """Return the language of a tag, without script and region: "zh-Hant-TW" is "zh", "deu" "de"."""
    return _parsed(tag).language


def language_name(tag: str) -> str:
    """Return the English name of a language, such as "Portuguese (Brazil)"; a tag without a name itself."""
    language, *parts = canonical(tag).split("-")
    if language not in _names():
        return tag
    more = ", ".join(_PARTS.get(part, part) for part in parts)
    return f"{_names()[language]} ({more})" if more else _names()[language]


def same(one: str, other: str) -> bool:
    """Whether two tags name one language, in whatever script and region."""
    return general(one) == general(other)


def general(tag: str) -> str:
    """Return the language of a tag: `base`, but one code for all forms of Norwegian."""
    language = base(tag)
    return _FORMS.get(language, language)


def related(one: str, other: str) -> bool:
    """Whether two tags may name one language, also if one names no language, or a group of them."""
    return same(one, other) or _is_vague(one) or _is_vague(other)


def tags_by_code(tags: Iterable[str]) -> dict[str, str]:
    """Return the tags of a model's languages by canonical codes, each by a code of its own.

    If every tag has a script or a region, as in `deu_Latn` of NLLB and `de_DE` of mBART, the code has it only
    where several tags name the language. Of two tags with one code, one keeps its spelling as its code.
    """
    tags = list(dict.fromkeys(tags))
    detailed = len(tags) > 1 and all(any(_parsed(tag)[1:]) for tag in tags)
    count = Counter(map(base, tags))
    codes = {
        tag: (base(tag) if detailed and count[base(tag)] == 1 else canonical(tag)) or "und" for tag in tags
    }
    owners: dict[str, str] = {}
    for tag in sorted(tags, key=lambda tag: codes[tag] != tag):  # a tag that is its code has it
        owners.setdefault(codes[tag], tag)
    return {codes[tag] if owners[codes[tag]] == tag else tag: tag for tag in tags}


def closest(wanted: str, tags: Iterable[str]) -> str | None:
    """Return the tag of the same language that agrees most with the wanted one, the first of equals.

    The same script or region is better than an open one, and an open one better than another. None if no
    tag names the language.
    """
    fitting = [tag for tag in tags if same(wanted, tag)]
    return max(fitting, key=lambda tag: _agreement(wanted, tag), default=None)


def _is_vague(tag: str) -> bool:
    language = base(tag)
    return not 2 <= len(language) <= 3 or language in _GROUPS


def _agreement(one: str, other: str) -> tuple[int, ...]:
    """How much two tags of a language agree: in its form, its script and its region; then in spelling."""
    pairs = zip(_details(one), _details(other), strict=True)
    return *(2 if a == b else 0 if a and b else 1 for a, b in pairs), int(one.lower() == other.lower())


def _details(tag: str) -> tuple[str, str, str]:
    """The form, the script and the region of a tag. The region says the script of Chinese."""
    language, script, region = _parsed(tag)
    if language == "zh":
        script = script or _SCRIPTS_OF_CHINESE.get(region, "")
    form = _MAIN_FORM.get(language, language)
    return form if form in _FORMS else "", script, region
