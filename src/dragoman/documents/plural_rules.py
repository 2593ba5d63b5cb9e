"""Plural forms of languages: the rules that gettext writes, and the categories of CLDR."""

from __future__ import annotations

import re
from dataclasses import dataclass
from gettext import c2py

from dragoman.base.languages import base, canonical


@dataclass(frozen=True)
class Plurals:
    """`rule` is the value of the header field Plural-Forms."""

    rule: str
    categories: tuple[str, ...]
    """As messages of ICU and Android name them."""

    @property
    def forms(self) -> int:
        return int(self.rule.removeprefix("nplurals=").partition(";")[0])


_ONE = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 :"
_SLAVIC = "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
_RULES = (  # languages, rule of gettext (plural-table.c, or the project that has the language), categories
    ("id ja km ko lo ms my th vi yo zh", "nplurals=1; plural=0;", "other"),
    (
        "af az bg da de el en eo et eu fi fo gl hu ka kk ml mn mr nb ne nl nn no sq sv sw ta te tr ur",
        "nplurals=2; plural=(n != 1);",
        "one other",
    ),
    ("ca es it pt", "nplurals=2; plural=(n != 1);", "one many other"),  # "many" is for millions
    ("fr pt_BR", "nplurals=2; plural=(n > 1);", "one many other"),
    ("am bn fa gu hi hy kn pa", "nplurals=2; plural=(n > 1);", "one other"),
    ("is mk", "nplurals=2; plural=(n%10==1 && n%100!=11 ? 0 : 1);", "one other"),
    ("he", "nplurals=2; plural=(n != 1);", "one two other"),
    ("lv", f"{_ONE} n != 0 ? 1 : 2);", "zero one other"),
    ("lt", f"{_ONE} n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);", "one few many other"),
    ("be ru uk", f"{_ONE} {_SLAVIC}", "one few many other"),
    ("bs hr sr", f"{_ONE} {_SLAVIC}", "one few other"),
    ("pl", f"nplurals=3; plural=(n==1 ? 0 : {_SLAVIC}", "one few many other"),
    ("cs sk", "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;", "one few many other"),
    ("ro", "nplurals=3; plural=n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2;", "one few other"),
    (
        "sl",
        "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);",
        "one two few other",
    ),
    ("ga", "nplurals=3; plural=n==1 ? 0 : n==2 ? 1 : 2;", "one two few many other"),
    (
        "ar",
        "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3"
        " : n%100>=11 ? 4 : 5);",
        "zero one two few many other",
    ),
)
_PLURALS = {
    language: Plurals(rule, tuple(categories.split()))
    for languages, rule, categories in _RULES
    for language in languages.split()
}


CATEGORIES = ("zero", "one", "two", "few", "many", "other")
_ORDINALS = {  # of CLDR; all other languages above have "other" alone
    language: tuple(categories.split())
    for languages, categories in (
        ("fr ga hu hy lo ms ne ro sv vi", "one other"),
        ("be uk", "few other"),
        ("it kk", "many other"),
        ("ka sq", "one many other"),
        ("ca en mr", "one two few other"),
        ("mk", "one two many other"),
        ("bn gu hi", "one two few many other"),
        ("az", "one few many other"),
    )
    for language in languages.split()
}


def categories_of(language: str, *, ordinal: bool = False) -> tuple[str, ...]:
    """The categories that a message in a language has, or () if they are not known here."""
    known = plurals_of(language)
    if known and ordinal:
        return _ORDINALS.get(base(language), ("other",))
    return known.categories if known else ()


def form_of_one(rule: str) -> int:
    """The number of the form that a rule of gettext gives 1; 0 if the rule cannot be read."""
    try:
        return int(c2py(re.findall(r"nplurals\s*=[^;]*;\s*plural\s*=([^;]+)", rule)[0])(1))
    except (IndexError, ValueError, ArithmeticError):
        return 0


def another_one(language: str) -> int | None:
    """A number that is "one" besides 1, so that its text needs the number, or None."""
    if canonical(language) == "pt":  # of Brazil; gettext's rule is that of Portugal
        return 0
    known = plurals_of(language)
    examples = {"n%10==1": 21, "n%100==1": 101, "n > 1": 0}
    return next((number for test, number in examples.items() if known and test in known.rule), None)


def plurals_of(language: str) -> Plurals | None:
    """Return the plural forms of a language such as "pt-BR", or None if they are not known here."""
    _, _, region = canonical(language).rpartition("-")
    code = base(language)
    return _PLURALS.get(f"{code}_{region}") or _PLURALS.get(code)
