"""Gold word alignments of the embedded corpus: the words of a pair with the same meaning.

    python benchmarks/gold.py test.en test.de > test.gold

A noun, a name or an adjective occurs once in a sentence, and clauses have the same order in both languages.
So the tables of the grammar tell which words belong together: nouns and names first, with the adjectives,
article and preposition before them, then verbs, clause by clause, and then the other words.

Prints the links of each pair on a line, as `dragoman align --gold` reads them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.text.lexicon.pharaoh import Gold, Link
from dragoman.text.toy import lexicon
from dragoman.text.toy.grammar import IT, POLITE, PRONOUNS, words
from dragoman.text.toy.words import ADJECTIVES, GERMAN_VERBS, MOODS, NOUNS, VERBS, Verb


def gold_alignment(english: str, german: str) -> Gold:
    """Return the alignment of a pair of `pairs`.

    The helpers of a verb have possible links only, and so have "do", "to", "zu" and "um".
    """
    pair = _Pair(_lowered(english), _lowered(german))
    pair.nouns()
    if pair.english[0] in _TITLES:
        pair.single("you", {form.lower() for form in POLITE.german})
    pair.moods()
    for verb in _VERBS:
        pair.verb(verb)
    for one, others in _SINGLE.items():
        pair.single(one, others)
    pair.single("that", _RELATIVE)
    pair.negation()
    pair.rest()
    return Gold(frozenset(pair.sure), frozenset(pair.sure | pair.possible))


def _lowered(text: str) -> list[str]:
    return [word.lower() for word in words(text)]


@dataclass
class _Pair:
    english: list[str]
    german: list[str]
    sure: set[Link] = field(default_factory=set)
    possible: set[Link] = field(default_factory=set)
    heads: dict[int, list[int]] = field(default_factory=dict)  # the German parts of each English verb

    def free(self, side: int) -> list[int]:
        """The words that have no link yet."""
        taken = {link[side] for link in self.sure}
        return [i for i in range(len((self.english, self.german)[side])) if i not in taken]

    def nouns(self) -> None:
        """Link nouns and names, and the words before them: adjectives, an article, a preposition."""
        at = 0
        while at < len(self.english):
            compound = " ".join(self.english[at : at + 2])
            name = compound if compound in _NOUNS else self.english[at]
            end = at + len(name.split())
            places = [j for j in self.free(1) if self.german[j] in _NOUNS.get(name, ())]
            if places:
                self.sure |= {(i, places[0]) for i in range(at, end)}
                self._phrase(at - 1, places[0] - 1)
            at = end

    def _phrase(self, i: int, j: int) -> None:
        """Link the words before these: adjectives, then an article, then a preposition."""
        english, german = self.english, self.german
        last = j
        while i >= 0 and english[i] in _DESCRIBING:
            match = [k for k in (last, last - 1) if k >= 0 and german[k] in _DESCRIBING[english[i]]]
            if not match:
                return
            self.sure.add((i, match[0]))
            i, j = i - 1, min(j, match[0] - 1)
        if i < 0 or j < 0:
            return
        merged = german[j] in _MERGED
        if english[i] in _ARTICLES and (german[j] in _ARTICLES[english[i]] or merged):
            self.sure.add((i, j))
            i, j = i - 1, j if merged else j - 1
        elif english[i] == "a":  # rides a bike: fährt Fahrrad
            self.possible.add((i, j + 1))
        elif english[i].isdigit() and english[i] == german[j]:
            self.sure.add((i, j))
            i, j = i - 1, j - 1
        if i >= 0 and j >= 0 and english[i] in _PREPOSITIONS and german[j] in _GERMAN_PREPOSITIONS | _MERGED:
            self.sure.add((i, j))
            if english[i - 1 : i + 1] == ["next", "to"]:
                self.sure.add((i - 1, j))

    def verb(self, verb: Verb) -> None:
        """Link the forms of a verb, the first in one language to the first in the other."""
        forms = {verb.english, verb.english_third, verb.english_past} - {""}
        if verb.english == "be":
            forms = {"am", "is", "are", "was", "were", "be"}
        english = [place for i in self.free(0) if (place := self._english_verb(i, forms, verb.particle))]
        german = [place for j in self.free(1) if (place := self._german_verb(j, verb))]
        for head, parts in zip(english, german, strict=False):
            self.sure |= {(i, j) for i in head for j in parts}
            self.heads[head[0]] = parts
            past = (
                self.english[head[0]] == verb.english_past.split(" ")[0] or "did" in self.english[: head[0]]
            )
            if past and self.german[parts[0]] == verb.participle:
                self._helper(head, parts)

    def _english_verb(self, i: int, forms: Iterable[str], particle: str) -> list[int]:
        """Return the words of the verb that begins here, or nothing."""
        for form in forms:
            one, *rest = form.lower().split()
            if self.english[i] != one:
                continue
            if not particle and self.english[i : i + 1 + len(rest)] == [one, *rest]:
                return list(range(i, i + 1 + len(rest)))
            if particle and (ends := [k for k in self.free(0) if k > i and self.english[k] == particle]):
                return [i, ends[0]]
        return []

    def _german_verb(self, j: int, verb: Verb) -> list[int]:
        """Return the words of the verb of which this is the first, its participle or its infinitive."""
        word, prefix, infinitive = self.german[j], verb.prefix, verb.infinitive
        whole = {verb.participle, prefix + infinitive, *(prefix + form for form in verb.finite)}
        if word in whole | set(verb.preterite) | ({f"{prefix}zu{infinitive}"} if prefix else set()):
            return [j]
        ends = [k for k in self.free(1) if k > j and self.german[k] == prefix]
        return [j, ends[0]] if word in verb.finite and ends else []

    def _helper(self, head: Sequence[int], parts: list[int]) -> None:
        """Add the helper of a participle: right after it, or before it."""
        at = parts[0]
        free = [j for j in self.free(1) if self.german[j] in _HELPERS]
        after, before = [j for j in free if j == at + 1], [j for j in free if j < at]
        for j in after or before[-1:]:
            self.possible |= {(i, j) for i in head}
            self.heads[head[0]] = [at, j]
            self.german[j] = ""  # not a verb of its own

    def moods(self) -> None:
        """Link modal verbs and the future."""
        for names, forms in _MOODS:
            size = len(names[0])
            places = [j for j in self.free(1) if self.german[j] in forms]
            free = self.free(0)
            found = [i for i in free if tuple(self.english[i : i + size]) in names]
            for i, j in zip(found, places, strict=False):
                self.sure |= {(k, j) for k in range(i, i + size)}

    def single(self, one: str, others: Iterable[str]) -> None:
        """Link a word to the first of its translations that is free, each time it occurs."""
        for i in self.free(0):
            if self.english[i] == one and (places := [j for j in self.free(1) if self.german[j] in others]):
                self.sure.add((i, places[0]))

    def negation(self) -> None:
        """Link "not" to "nicht", or to the article "kein"; "cannot" to both of its words."""
        for i, word in enumerate(self.english):
            if word not in ("not", "cannot"):
                continue
            taken = {j for k, j in self.sure if self.english[k] in ("not", "cannot")}
            places = [j for j, other in enumerate(self.german) if other == "nicht" and j not in taken]
            places = places or [j for j, other in enumerate(self.german) if other.startswith("kein")]
            self.sure |= {(i, j) for j in places[:1]}

    def rest(self) -> None:
        """Link helpers of a linked word, such as "do" and "to" before a verb."""
        linked = dict(sorted(self.sure, reverse=True))  # the first German word of each English one
        for i in self.free(0):
            word, following = self.english[i], [k for k in sorted(self.heads) if k > i]
            if word == "more" and i + 1 in linked:
                self.sure.add((i, linked[i + 1]))
            elif word == "there" and i + 1 in linked:
                self.possible.add((i, linked[i + 1]))
            elif word in ("do", "does", "did", "to", "like") and following:
                self.possible |= {(i, j) for j in self.heads[following[0]]}
                self.possible |= {(i, j) for j in self.free(1) if self.german[j] in ("zu", "um")}
        for j in self.free(1):
            if self.german[j : j + 2] == ["nach", "hause"]:
                self.sure.add((self.english.index("home"), j))
            elif self.german[j] in ("zu", "um"):
                self.possible |= {(i, j) for i, parts in self.heads.items() if parts[0] > j}


def _forms_of_nouns() -> dict[str, set[str]]:
    forms: dict[str, set[str]] = {}
    for noun in NOUNS.values():
        one = {noun.german} | ({noun.german_plural} if noun.weak else set())
        forms[noun.english] = forms.get(noun.english, set()) | one
        many = {noun.german_plural, f"{noun.german_plural}n"}
        forms[noun.english_plural] = forms.get(noun.english_plural, set()) | many
    forms |= {one: {one} for one in (*lexicon.WOMEN, *lexicon.MEN, *lexicon.SURNAMES)}
    forms |= {one: {other} for one, other in (*lexicon.CITIES, *lexicon.TITLES)}
    for line in _TIMES.split(","):
        english, *german = line.split()
        forms[english] = set(german)
    return {one.lower(): {other.lower() for other in others} for one, others in forms.items() if one}


def _inflected(stem: str) -> set[str]:
    return {stem + ending for ending in ("", "e", "er", "en", "em", "es")}


_TIMES = """day Tag, days Tagen, week Woche, weeks Wochen, year Jahr, years Jahre Jahren, morning Morgen,
evening Abend, Monday Montag, Friday Freitag, Sunday Sonntag, summer Sommer, winter Winter, o'clock Uhr,
euros Euro, home Hause, snow Schnee, rain Regen"""
_TITLES = {title.lower() for title, _ in lexicon.TITLES}
_NOUNS = _forms_of_nouns()
_DESCRIBING = {one.english: _inflected(one.stem) | {one.german} for one in ADJECTIVES.values()}
_DESCRIBING |= {"last": _inflected("letzt"), "next": _inflected("nächst")}
_ARTICLES = {
    "the": set("der die das den dem".split()),
    **dict.fromkeys(("this", "these"), _inflected("dies")),
    **dict.fromkeys(("a", "an"), _inflected("ein") | _inflected("kein")),
    **{one: {other} for one, other in lexicon.NUMBERS},
    **{f"{owner}'s".lower(): {f"{owner}s".lower()} for owner in lexicon.OWNERS},
    "every": _inflected("jed"),
    "no": _inflected("kein"),
    "my": _inflected("mein"),
    "your": _inflected("dein") | _inflected("ihr"),
    "his": _inflected("sein"),
    "her": _inflected("ihr"),
    "our": _inflected("unser"),
}
_MERGED = frozenset("im ins am ans zum zur".split())
_PREPOSITIONS = frozenset("in into to at on under behind".split())
_GERMAN_PREPOSITIONS = frozenset("in an auf unter neben hinter zu nach um".split())
_HELPERS = frozenset("habe hast hat haben bin bist ist sind".split())
# Verbs of several words come first, and those that also help others last.
_LAST = ("haben", "sein")
_VERBS = sorted(
    {id(verb): verb for verb in (*VERBS, *GERMAN_VERBS.values())}.values(),
    key=lambda verb: (verb.infinitive in _LAST, not (verb.particle or " " in verb.english or verb.prefix)),
)
_MOODS = [
    (names, {form for mood in names_of for form in MOODS[mood].finite})
    for names, names_of in (
        ([("can",), ("cannot",)], ["can"]),
        ([("could",)], ["could"]),
        ([("may",)], ["may"]),
        ([("should",)], ["should"]),
        ([("will",)], ["will"]),
        ([("would", "like", "to")], ["would like to"]),
        ([("would",)], ["would like to"]),
        ([("have", "to"), ("has", "to"), ("had", "to")], ["have to", "had to"]),
        ([("want", "to"), ("wants", "to"), ("wanted", "to")], ["want to", "wanted to"]),
    )
]
_MOODS.append(([("like", "to"), ("likes", "to")], {"gern"}))
_RELATIVE = set("der die das den dem denen wer wen wem".split())
_SINGLE: dict[str, set[str]] = {
    **{one: {other} for one, other in lexicon.FREQUENCIES},
    **{one: {other} for pairs in lexicon.MANNERS.values() for one, other in pairs},
    **{one: {other} for pairs in lexicon.TIMES.values() for one, other in pairs if " " not in one},
    **{one.english: {one.german, one.german_comparative} - {""} for one in ADJECTIVES.values()},
    **{
        one.english_comparative: {one.german_comparative}
        for one in ADJECTIVES.values()
        if one.english_comparative
    },
    **{one.english.lower(): set(one.german) for one in PRONOUNS.values()},
    **{one.english_object: set(one.german) for one in PRONOUNS.values()},
    "it": {form for one in IT.values() for form in one.german},
    **{one: {"steht", "stehen", "liegt", "liegen"} for one in ("is", "are")},
    **{
        one: {other}
        for one, other in (pair.split("-") for pair in """because-weil although-obwohl if-wenn and-und
        but-aber why-warum where-wo what-was than-als ago-vor""".split())
    },
    "when": {"als", "wann"},
    "as": {"so", "wie"},
    "that": {"dass"},
    "who": _RELATIVE,
}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Gold word alignments of the embedded corpus.")
    parser.add_argument("texts", nargs=2, type=Path, help="English text, and its German translation")
    texts = [name.read_text("utf-8").splitlines() for name in parser.parse_args().texts]
    for pair in zip(*texts, strict=True):
        print(gold_alignment(*pair))
