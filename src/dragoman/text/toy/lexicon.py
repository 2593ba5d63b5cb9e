"""The words of the embedded English-German corpus, as tables. `words` derives their forms.

If a sentence cannot tell two translations of a word apart, the word has only one: `teacher` is always
`Lehrerin`. `you` is `du`, except after a title, as in "Mrs Braun, do you ...". In English words, `_` is a
space, and `^` a space that an object pronoun may fill ("pick^up": he picks him up).
"""

from __future__ import annotations

import tomllib
from pathlib import Path

Pair = tuple[str, str]


def _pairs(table: str) -> tuple[Pair, ...]:
    """The pairs of a table "english German, ..."; a word alone is the same in both languages."""
    rows = ([word.replace("_", " ") for word in row.split()] for row in table.split(","))
    return tuple((row[0], row[-1]) for row in rows)


# The tables of nouns, adjectives and verbs, and what their columns mean, are in lexicon.toml.
TABLES: dict[str, str] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
COLOURS = frozenset({"red", "blue", "green", "white", "black"})
STATES = ("tired", "sick", "hungry", "happy", "sad")

# Tags that several verbs share as objects.
GROUPS = {"people": "person kin", "goods": "clothes vehicle furniture device", "wares": "text snack flower"}
# The forms for ich, du, er and wir of irregular verbs, marked `*` in the tables.
IRREGULAR = {"sein": "bin bist ist sind", "haben": "habe hast hat haben", "wissen": "weiß weißt weiß wissen"}
# The two verbs whose simple past is used in spoken German too.
PRETERITES = {"sein": "war", "haben": "hatte"}

WOMEN = tuple("Anna Maria Lena Emma Julia Clara Sophie".split())
MEN = tuple("Peter Paul Max Tom Felix Jonas Simon".split())
TITLES = _pairs("Mr Herr, Mrs Frau")
SURNAMES = tuple("Weber Braun Becker Schulz".split())
OWNERS = ("Anna", "Maria", "Lena", "Peter", "Paul")
CITIES = _pairs("Berlin, Hamburg, London, Paris, Munich München, Vienna Wien, Cologne Köln, Rome Rom")
NUMBERS = _pairs("two zwei, three drei, four vier, five fünf, six sechs, ten zehn")

# Adverbials of time by the kind of clause they fit. Those with "every" do not go with a negation.
EVERY = _pairs(
    "every_day jeden_Tag, every_week jede_Woche, every_evening jeden_Abend, every_morning jeden_Morgen"
)
SEASONS = _pairs(
    "in_the_morning am_Morgen, in_the_evening am_Abend, in_summer im_Sommer, in_winter im_Winter"
)
DAYS = _pairs("on_Monday am_Montag, on_Friday am_Freitag, on_Sunday am_Sonntag")
TIMES: dict[str, tuple[Pair, ...]] = {
    "present": _pairs("today heute"),
    "habit": SEASONS,
    "past": (*_pairs("yesterday gestern, last_week letzte_Woche"), *DAYS),
    "future": (*_pairs("tomorrow morgen, next_week nächste_Woche"), *DAYS),
}
YEARS = {"past": ("last year", "letztes Jahr"), "future": ("next year", "nächstes Jahr")}
AGO = _pairs("days Tagen, weeks Wochen, years Jahren")
FREQUENCIES = _pairs("often oft, always immer, sometimes manchmal, never nie")
MANNERS = {
    "early": _pairs("early früh, late spät"),
    "fast": _pairs("quickly schnell, slowly langsam"),
    "loud": _pairs("loudly laut"),
}
WEATHER = _pairs("in_the_snow im_Schnee, in_the_rain im_Regen")
# Prepositions with the dative for where things are, and with the accusative for where they are put.
SURFACES = _pairs("on auf, under unter, next_to neben, behind hinter")
