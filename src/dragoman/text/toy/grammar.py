"""The grammar of the embedded English-German corpus: turns a clause into English and German text.

A `Clause` holds the meaning; `english` and `german` put it into words. Nothing here is random. German follows
Duden: four patterns of endings for articles and adjectives; the finite verb first, second or last;
pronouns, time, objects, manner and place in their usual order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from dragoman.text.toy.lexicon import NUMBERS, Pair
from dragoman.text.toy.words import GERMAN_VERBS, MOODS, Adjective, Noun, Verb

NOMINATIVE, ACCUSATIVE, DATIVE = 0, 1, 2
FIRST, SECOND, THIRD, PLURAL = 0, 1, 2, 3  # what a verb agrees with: ich, du, er/sie/es, wir/sie

# Endings by gender (p is the plural): nominative, accusative, dative; "-" means no ending.
_DER = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die den"}
_DIESER = {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"}
_EIN = {"m": "- en em", "f": "e e er", "n": "- - em", "p": "e e en"}
_WEAK = {"m": "e en en", "f": "e e en", "n": "e e en", "p": "en en en"}
_MIXED = {"m": "er en en", "f": "e e en", "n": "es es en", "p": "en en en"}
_STRONG = _DIESER

# English determiner: its plural, the German stem, the endings of the determiner and of adjectives.
_Endings = dict[str, str]
_DETERMINERS: dict[str, tuple[str, str, _Endings, _Endings]] = {
    "the": ("the", "", _DER, _WEAK),
    "this": ("these", "dies", _DIESER, _WEAK),
    "every": ("", "jed", _DIESER, _WEAK),
    "a": ("", "ein", _EIN, _MIXED),
    "not a": ("", "kein", _EIN, _MIXED),
    "no": ("no", "kein", _EIN, _MIXED),
    "my": ("my", "mein", _EIN, _MIXED),
    "your": ("your", "dein", _EIN, _MIXED),
    "his": ("his", "sein", _EIN, _MIXED),
    "her": ("her", "ihr", _EIN, _MIXED),
    "our": ("our", "unser", _EIN, _MIXED),
}
POSSESSIVES = ("my", "your", "his", "her", "our")
_INDEFINITE = ("a", "not a", "no")
_NUMBERS = dict(NUMBERS)
_CONTRACTIONS = {
    "in dem": "im",
    "in das": "ins",
    "an dem": "am",
    "an das": "ans",
    "zu dem": "zum",
    "zu der": "zur",
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase or pronoun: English as subject and object, German in three cases."""

    english: str
    english_object: str
    german: tuple[str, str, str]
    agreement: int = THIRD
    gender: str = ""  # m, f, n, or p for a plural
    pronoun: bool = False
    definite: bool = True
    tags: tuple[str, ...] = ()


def _triple(forms: Iterable[str]) -> tuple[str, str, str]:
    nominative, accusative, dative = forms
    return nominative, accusative, dative


def _join(*words: str) -> str:
    return " ".join(filter(None, words))


def _pronoun(english: str, object_: str, german: str, agreement: int, gender: str = "") -> Phrase:
    return Phrase(english, object_, _triple(german.split()), agreement, gender, pronoun=True)


# "sie" as an object could mean her or them. So that each German sentence has one translation, the corpus
# has neither as an accusative object, unless the sentence before tells, nor "their".
PRONOUNS = {
    "I": _pronoun("I", "me", "ich mich mir", FIRST),
    "you": _pronoun("you", "you", "du dich dir", SECOND),
    "he": _pronoun("he", "him", "er ihn ihm", THIRD, "m"),
    "she": _pronoun("she", "her", "sie sie ihr", THIRD, "f"),
    "we": _pronoun("we", "us", "wir uns uns", PLURAL),
    "they": _pronoun("they", "them", "sie sie ihnen", PLURAL, "p"),
    "it": _pronoun("it", "it", "es es ihm", THIRD, "n"),
}
# The polite you, and it for a noun of each gender in the sentence before.
POLITE = _pronoun("you", "you", "Sie Sie Ihnen", PLURAL)
IT = {
    "m": _pronoun("it", "it", "er ihn ihm", THIRD, "m"),
    "f": _pronoun("it", "it", "sie sie ihr", THIRD, "f"),
    "n": PRONOUNS["it"],
    "p": PRONOUNS["they"],
}
# "rides a bike": without an article in German
BIKE = Phrase("a bike", "a bike", ("Fahrrad",) * 3, definite=False)
WHO = _pronoun("who", "who", "wer wen wem", THIRD)
_RELATIVES = {
    "m": _pronoun("who", "who", "der den dem", THIRD),
    "f": _pronoun("who", "who", "die die der", THIRD),
    "n": _pronoun("who", "who", "das das dem", THIRD),
    "p": _pronoun("who", "who", "die die denen", PLURAL),
}


def name(text: str, gender: str = "") -> Phrase:
    """Return a proper name, which is the same in every case and in both languages."""
    return Phrase(text, text, (text, text, text), THIRD, gender)


def both(first: Phrase, second: Phrase) -> Phrase:
    """Return both phrases: `Anna and Peter`."""
    german = _triple(f"{a} und {b}" for a, b in zip(first.german, second.german, strict=True))
    english = f"{first.english} and {second.english}"
    return Phrase(english, english, german, PLURAL, "p")


@cache
def noun_phrase(
    determiner: str, noun: Noun, adjectives: tuple[Adjective, ...] = (), plural: bool = False
) -> Phrase:
    """Return a noun with its determiner and adjectives, agreeing in gender, number and case.

    `determiner` is a word ("the", "a", "my", ...), "" for none, "not a" for German `kein`, a number
    ("three", "25") or an owner ("Anna's").
    """
    gender = "p" if plural else noun.gender
    word = noun.english_plural if plural else noun.english
    described = [adjective.english for adjective in adjectives]
    article, words, endings = determiner, ("", "", ""), _STRONG
    if determiner in _DETERMINERS:
        english_plural, stem, forms, endings = _DETERMINERS[determiner]
        words = _triple(stem + form.strip("-") for form in forms[gender].split())
        if determiner == "a" and plural:  # no article, so that the adjectives carry the case
            words, endings = ("", "", ""), _STRONG
        if determiner in ("a", "not a"):
            # A mass noun has no article in English, even if German negates it with kein.
            article = "an" if [*described, word][0][0] in "aeiou" else "a"
            article = article if noun.english_plural else ""
        article = english_plural if plural else article
    elif determiner.endswith("'s"):
        words = (determiner.replace("'", ""),) * 3
    elif determiner:
        words = (determiner if determiner.isdigit() else _NUMBERS[determiner],) * 3
    ends = endings[gender].split()
    german = _triple(
        _join(words[case], *(a.stem + ends[case] for a in adjectives), _form(noun, case, plural))
        for case in (NOMINATIVE, ACCUSATIVE, DATIVE)
    )
    english = _join(article, *described, word)
    return Phrase(
        english,
        english,
        german,
        PLURAL if plural else THIRD,
        gender,
        definite=determiner.endswith("'s") or (determiner in _DETERMINERS and determiner not in _INDEFINITE),
        tags=noun.tags,
    )


def _form(noun: Noun, case: int, plural: bool) -> str:
    if plural:
        # The dative plural ends in n, except after s: mit den Hunden, mit den Autos.
        return noun.german_plural + ("n" if case == DATIVE and noun.german_plural[-1] not in "ns" else "")
    return noun.german_plural if noun.weak and case != NOMINATIVE else noun.german


def with_preposition(english: str, german: str, phrase: Phrase, case: int) -> Pair:
    """Return the phrase with its preposition: `in the garden`, `im Garten`."""
    first, space, rest = phrase.german[case].partition(" ")
    start = f"{german} {first}"
    return f"{english} {phrase.english_object}", _CONTRACTIONS.get(start, start) + space + rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """The meaning of a clause. Adverbials are (English, German) pairs."""

    subject: Phrase
    verb: Verb
    mood: str = "present"
    negated: bool = False
    dative: Phrase | None = None
    accusative: Phrase | None = None
    frequency: Pair | None = None
    time: Pair | None = None
    clock: Pair | None = None
    manner: Pair | None = None
    place: Pair | None = None  # where it happens
    goal: Pair | None = None  # the place that the verb requires: where to, or where something is
    complement: Pair | None = None  # after to be
    front: str = ""  # what comes first: "time", "place" or "" for the subject


# --- English


def english(clause: Clause, order: str = "plain") -> str:
    """Return the clause in English. `order` is plain, question or infinitive."""
    subject, verb, thing = clause.subject, clause.verb, clause.accusative
    objects = [phrase.english_object for phrase in (clause.dative, thing) if phrase]
    if verb.particle:  # picks up the boy, picks him up
        objects.insert(1 if thing and thing.pronoun else 0, verb.particle)
    ends = {"manner": clause.manner, "goal": clause.goal, "place": clause.place}
    ends |= {"complement": clause.complement, "clock": clause.clock, "time": clause.time}
    tail = objects + [pair[0] for slot, pair in ends.items() if pair and slot != clause.front]
    fronted = ends.get(clause.front)
    if order == "infinitive":
        return _join("to", verb.english, *tail)
    helper, rest = _english_verb(clause, ask=order == "question")
    if clause.negated:
        helper = "cannot" if helper == "can" else f"{helper} not"
    start = [helper, subject.english] if order == "question" else [subject.english, helper]
    often = clause.frequency[0] if clause.frequency else ""
    return _join(fronted[0] if fronted else "", *start, often, *rest, *tail)


def _english_verb(clause: Clause, ask: bool) -> tuple[str, list[str]]:
    """Return the helper (do, can, is, ... or "") and the other words of the verb."""
    verb, mood, who = clause.verb, MOODS[clause.mood], clause.subject.agreement
    if verb.english == "be" and not mood.english:
        past = mood.time == "past"
        return (("was", "were", "was", "were") if past else ("am", "are", "is", "are"))[who], []
    if mood.helper:  # "would like to" has one word before the subject of a question
        helper, *rest = mood.english.split()
        return helper, [*rest, verb.english]
    past = mood.time == "past"
    # "have to", "want to" and "like to" are conjugated like verbs.
    base, third, former = verb.english, verb.english_third, verb.english_past
    rest = []
    if mood.english:
        first = mood.english.split()[0]
        plain = {"had": "have", "wanted": "want"}.get(first, first)
        base, third, former = plain, {"have": "has"}.get(plain, plain + "s"), first
        rest = ["to", verb.english]
    if clause.negated or ask:
        return ("did" if past else "does" if who == THIRD else "do"), [base, *rest]
    return "", [former if past else third if who == THIRD else base, *rest]


# --- German


def german(clause: Clause, order: str = "second") -> str:
    """Return the clause in German. `order` is second, first, final (finite verb) or zu (infinitive)."""
    verb = clause.verb
    finite, rest = _german_verb(clause)
    fronted = {"time": clause.time, "place": clause.place}.get(clause.front)
    # "I like the dress" is "Mir gefällt das Kleid": the German dative takes the place of the subject.
    subject = clause.subject.german[DATIVE if verb.frame == "swap" else NOMINATIVE]
    middle = _middle(clause)
    match order:
        case "zu":
            words = [*middle, f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"]
        case "final":
            # A separated prefix is joined to its verb again: weil er aufsteht.
            joined = [verb.prefix + finite] if rest == [verb.prefix] else [*rest, finite]
            words = [subject, *middle, *joined]
        case "first":
            words = [finite, subject, *middle, *rest]
        case _ if fronted:
            words = [fronted[1], finite, subject, *middle, *rest]
        case _:
            words = [subject, finite, *middle, *rest]
    return _join(*words)


def _german_verb(clause: Clause) -> tuple[str, list[str]]:
    """Return the finite verb and the words at the end: prefix, infinitive or participle."""
    verb, mood = clause.verb, MOODS[clause.mood]
    swapped = verb.frame == "swap" and clause.accusative
    who = clause.accusative.agreement if swapped and clause.accusative else clause.subject.agreement
    if mood.finite:
        return mood.finite[who], [verb.prefix + verb.infinitive]
    if mood.time != "past":
        return verb.finite[who], [verb.prefix] if verb.prefix else []
    if verb.preterite:
        return verb.preterite[who], []
    helper = GERMAN_VERBS["sein"].finite if verb.with_sein else ("habe", "hast", "hat", "haben")
    return helper[who], [verb.participle]


def _middle(clause: Clause) -> list[str]:
    """Return what comes between the finite verb and the end, in order."""
    case = NOMINATIVE if clause.verb.frame == "swap" else ACCUSATIVE
    objects = [(clause.dative, DATIVE), (clause.accusative, case)]
    pronouns = [p.german[c] for p, c in objects if p and p.pronoun]
    definite = [p.german[c] for p, c in objects if p and not p.pronoun and p.definite]
    others = [p.german[c] for p, c in objects if p and not p.pronoun and not p.definite]
    adverbs = [clause.frequency[1]] if clause.frequency else []
    # "kein" in an object negates the clause; otherwise "nicht" does.
    if clause.negated and not any(text.startswith("kein") for text in others):
        adverbs.append("nicht")
    if clause.mood == "like to":
        adverbs.append("gern")
    time = _german(None if clause.front == "time" else clause.time, clause.clock)
    # Definite objects come before a negation: Er kauft das Auto heute nicht.
    refused = clause.negated or "nie" in adverbs
    known = [*definite, *time, *adverbs] if refused else [*time, *adverbs, *definite]
    around = _german(clause.manner, None if clause.front == "place" else clause.place)
    return [*pronouns, *known, *around, *others, *_german(clause.goal, clause.complement)]


def _german(*adverbials: Pair | None) -> list[str]:
    return [pair[1] for pair in adverbials if pair]


# --- sentences


def relative(phrase: Phrase, clause: Clause) -> Pair:
    """Return `who ...` and `, der ...,`: the clause with its subject replaced by a pronoun for `phrase`."""
    about = replace(clause, subject=_RELATIVES[phrase.gender])
    return english(about), f", {german(about, 'final')},"


def object_relative(phrase: Phrase, clause: Clause) -> Pair:
    """Return `that he reads` and `, das er liest,`: a clause without its accusative, about `phrase`."""
    pronoun = _RELATIVES[phrase.gender].german[ACCUSATIVE]
    return f"that {english(clause)}", f", {pronoun} {german(clause, 'final')},"


def finish(english_text: str, german_text: str, end: str = ".") -> Pair:
    """Add the capital and the final mark; remove double commas and one before the end."""
    return _finish(english_text, end), _finish(german_text, end)


def politely(german_text: str) -> str:
    """Return the text with Sie for du, except as a subject."""
    text = re.sub(r"\bdein(?=(e|en|em|er|es)?\b)", "Ihr", german_text)
    return re.sub(r"\bdir\b", "Ihnen", re.sub(r"\bdich\b", "Sie", text))


def _finish(text: str, end: str) -> str:
    text = text.replace(" ,", ",").replace(",,", ",").rstrip(",")
    return text[0].upper() + text[1:] + end


def words(sentence: str) -> list[str]:
    """Return the words of a sentence without punctuation."""
    return re.sub(r"[,.?]", "", sentence).split()
