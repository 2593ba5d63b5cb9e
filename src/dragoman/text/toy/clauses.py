"""Random clauses that make sense: the topics of the embedded corpus.

A verb determines which subjects, objects, places and times may go with it, so that nobody reads a dog.
Every random choice is made by a `Dice`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from dragoman.text.toy import lexicon
from dragoman.text.toy.grammar import (
    ACCUSATIVE,
    BIKE,
    DATIVE,
    FIRST,
    POSSESSIVES,
    PRONOUNS,
    Clause,
    Phrase,
    both,
    name,
    noun_phrase,
    with_preposition,
)
from dragoman.text.toy.lexicon import Pair
from dragoman.text.toy.words import ADJECTIVES, GERMAN_VERBS, MOODS, NOUNS, VERBS, Adjective, Noun, Verb

T = TypeVar("T")


class Dice:
    """Random choices. It uses `random()` only, because Python promises that its numbers never change."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._random() * len(choices))]

    def chance(self, probability: float) -> bool:
        return self._random() < probability


TAGGED: dict[str, list[Noun]] = {}
for _noun in NOUNS.values():
    for _tag in _noun.tags:
        TAGGED.setdefault(_tag, []).append(_noun)

_PEOPLE = ("person", "kin")
_COUNTS = {number for number, _ in lexicon.NUMBERS} | set(map(str, range(100)))
_SINGULAR = ("the", "the", "the", "a", "a", "this")
_PLURAL = ("the", "the", "this", "a", *(number for number, _ in lexicon.NUMBERS))
_MODALS = [mood for mood in MOODS if mood not in ("present", "past", "like to", "will")]

# --- people and things


def describe(dice: Dice, noun: Noun, probability: float = 0.45) -> tuple[Adjective, ...]:
    """Return up to two adjectives that go with `noun`; a colour comes second."""
    if not noun.adjectives or not dice.chance(probability):
        return ()
    first = dice.pick(noun.adjectives)
    colours = [adjective for adjective in noun.adjectives if adjective.english in lexicon.COLOURS]
    if colours and first not in colours and dice.chance(0.65):
        return first, dice.pick(colours)
    return (first,)


def being(dice: Dice, tag: str, every: bool = False) -> Phrase:
    """Return a noun phrase for a person, a relative or an animal; with `every`, it may be "every man"."""
    noun = dice.pick(TAGGED[tag])
    plural = bool(noun.english_plural) and dice.chance(0.2)
    adjectives = describe(dice, noun, 0.2 if tag == "kin" else 0.35)
    if tag == "kin":
        determiner = dice.pick(lexicon.OWNERS) + "'s" if dice.chance(0.15) else dice.pick(POSSESSIVES)
    elif plural:
        determiner = dice.pick([word for word in _PLURAL if word != "a"])
    elif tag == "animal" and dice.chance(0.3):
        determiner = dice.pick(POSSESSIVES)
    elif every and tag == "person" and dice.chance(0.06):
        determiner = "every"
    else:
        determiner = dice.pick(_SINGULAR)
    return noun_phrase(determiner, noun, adjectives, plural)


def named(dice: Dice) -> Phrase:
    """Return the name of a person."""
    woman = dice.chance(0.5)
    return name(dice.pick(lexicon.WOMEN if woman else lexicon.MEN), "f" if woman else "m")


def subject(dice: Dice, kind: str = "person") -> Phrase:
    """Return a subject for a verb that needs a `kind`: person, being, transport, rider or thing."""
    if kind == "thing":
        return thing(dice, ("tool", "clothes", "vehicle", "furniture", "load", "text"), definite=True)
    if kind == "transport" or (kind == "rider" and dice.chance(0.6)):
        return noun_phrase(dice.pick(("the", "the", "this")), dice.pick(TAGGED["transport"]))
    if kind == "animal" or (kind == "being" and dice.chance(0.5)):
        return being(dice, "animal")
    if dice.chance(0.45):
        return PRONOUNS[dice.pick(("I", "I", "you", "you", "he", "she", "we", "they"))]
    if dice.chance(0.3):
        return named(dice)
    if dice.chance(0.06):
        return both(named(dice), named(dice))
    return being(dice, "kin" if dice.chance(0.35) else "person", every=True)


def thing(
    dice: Dice, tags: Sequence[str], *, negated: bool = False, definite: bool = False, dozens: bool = False
) -> Phrase:
    """Return a thing with one of `tags`.

    With `dozens` it may be many, such as 25 apples. With `negated`, an indefinite one takes kein.
    """
    noun = dice.pick(TAGGED[dice.pick(tags)])
    adjectives = describe(dice, noun)
    if not noun.english_plural:
        known = definite or (noun.tags[0] not in ("game", "language") and dice.chance(0.25))
        return noun_phrase("the" if known else "not a" if negated else "", noun, adjectives)
    room = noun.tags[0] in ("room", "inside") or "firm" in noun.tags
    definite, plural = definite or room, not room and dice.chance(0.2)
    if definite:
        determiner = dice.pick(("the", "the", "this", *POSSESSIVES))
    elif dozens and dice.chance(0.15) and not negated:
        # Numbers as figures teach the model to copy.
        return noun_phrase(str(dice.pick(range(12, 60))), noun, (), True)
    elif plural:
        determiner = dice.pick(_PLURAL)
    else:
        determiner = dice.pick(("the", "the", "a", "a", "a", "this", dice.pick(POSSESSIVES)))
    if negated and determiner not in ("the", "this", *POSSESSIVES):
        determiner = "not a"
    return noun_phrase(determiner, noun, adjectives, plural)


def someone(dice: Dice, about: Phrase, case: int, tags: Sequence[str] = _PEOPLE) -> Phrase:
    """Return a person as an object of a clause about another person."""
    if dice.chance(0.3):
        # The comment at PRONOUNS explains why there is no "her" or "them" in the accusative.
        choices = ["I", "you", "he", "we", *(("she", "they") if case == DATIVE else ())]
        if about.english == "you":
            choices.remove("you")
        if about.agreement == FIRST or about.english == "we":
            choices = [choice for choice in choices if choice not in ("I", "we")]
        return PRONOUNS[dice.pick(choices)]
    return named(dice) if dice.chance(0.2) else being(dice, dice.pick(tags))


def is_specific(phrase: Phrase) -> bool:
    """Whether a clause about it may be negated or a question: not for "a man" or "every man"."""
    return phrase.definite and not phrase.english.startswith("every ")


def echo(phrase: Phrase) -> Phrase | None:
    """Return the pronoun for `phrase`; None if English and German differ, as "she" and "es" do for a girl."""
    if phrase.pronoun:
        return phrase
    return {"m": PRONOUNS["he"], "f": PRONOUNS["she"], "p": PRONOUNS["they"]}.get(phrase.gender)


# --- places

_AT = {
    **dict.fromkeys(("inside", "room", "outing"), ("in", "in")),
    "stop": ("at", "an"),
    "firm": ("at", "in"),
}
_TO = {
    **dict.fromkeys(("inside", "room"), ("into", "in", ACCUSATIVE)),
    "outing": ("to", "in", ACCUSATIVE),
    "stop": ("to", "zu", DATIVE),
}


def somewhere(dice: Dice, noun: Noun) -> Phrase:
    """Return a place as a noun phrase: the old garden."""
    determiner = dice.pick(("the", "the", "the", "the", "this", "a"))
    return noun_phrase(determiner, noun, describe(dice, noun, 0.2))


def at(dice: Dice, *tags: str) -> Pair:
    """Return where something happens: in the old house, im alten Haus."""
    noun = dice.pick(TAGGED[dice.pick(tags)])
    in_english, in_german = _AT[noun.tags[0]]
    return with_preposition(in_english, in_german, somewhere(dice, noun), DATIVE)


def to(dice: Dice, *tags: str) -> Pair:
    """Return a direction: into the garden, in den Garten."""
    noun = dice.pick(TAGGED[dice.pick(tags)])
    in_english, in_german, case = _TO[noun.tags[0]]
    return with_preposition(in_english, in_german, somewhere(dice, noun), case)


def beside(dice: Dice, case: int) -> Pair:
    """Return a place such as "next to the bed": dative for where it is, accusative for where it is put."""
    in_english, in_german = dice.pick(lexicon.SURFACES)
    return with_preposition(in_english, in_german, somewhere(dice, dice.pick(TAGGED["furniture"])), case)


def city(dice: Dice, in_english: str, in_german: str) -> Pair:
    """Return a phrase for being in a city or going to one."""
    first, second = dice.pick(lexicon.CITIES)
    return f"{in_english} {first}", f"{in_german} {second}"


def _goal(dice: Dice, verb: Verb, about: Phrase) -> Pair | None:
    """Return the place that the verb requires: he goes home, she lives in Berlin."""
    match verb.frame:
        case "goal" if "animal" in about.tags:
            return to(dice, "inside")
        case "goal" if verb.infinitive == "gehen" and dice.chance(0.15):
            return "home", "nach Hause"
        case "goal":
            return to(dice, "inside", "room", "outing", "stop")
        case "trip" if dice.chance(0.5):
            return to(dice, "outing", "stop")
        case "trip" | "city":
            return city(dice, "to", "nach")
        case "home" if dice.chance(0.5):
            return city(dice, "in", "in")
        case "home":
            noun = NOUNS[dice.pick(("house", "flat"))]
            return with_preposition("in", "in", noun_phrase("a", noun, describe(dice, noun, 0.8)), DATIVE)
        case "stay" if dice.chance(0.5):
            return "at home", "zu Hause"
        case "stay":
            return at(dice, "inside", "outing", "room")
        case "put":
            return beside(dice, ACCUSATIVE)
    return to(dice, "inside", "room") if "into" in verb.traits else None


# --- clauses


def clause(
    dice: Dice,
    about: Phrase | None = None,
    *,
    verbs: Sequence[Verb] = VERBS,
    mood: str = "",
    adverbials: bool = True,
    positive: bool = False,
) -> Clause:
    """Return a clause about `about`, or any subject, with one of `verbs`, which must suit the subject."""
    verb = dice.pick(verbs)
    about = about or subject(dice, verb.subject)
    mood = mood or _mood(dice, verb)
    negated = not positive and is_specific(about) and dice.chance(0.15)
    # "Er isst nicht gern Brot" negates the liking, not the bread.
    dative, accusative = _objects(dice, verb, about, negated and mood != "like to")
    goal = _goal(dice, verb, about)
    core = Clause(
        subject=about, verb=verb, mood=mood, negated=negated, dative=dative, accusative=accusative, goal=goal
    )
    return core if not adverbials or "state" in verb.traits else _with_adverbials(dice, core)


def state(about: Phrase, adjective: str, mood: str = "present", negated: bool = False) -> Clause:
    """Return the clause "`about` is `adjective`"."""
    return being_so(about, (adjective, ADJECTIVES[adjective].german), mood, negated)


def being_so(about: Phrase, complement: Pair, mood: str = "present", negated: bool = False) -> Clause:
    """Return the clause "`about` is `complement`"."""
    return Clause(subject=about, verb=GERMAN_VERBS["sein"], mood=mood, negated=negated, complement=complement)


def _mood(dice: Dice, verb: Verb) -> str:
    if "state" in verb.traits:
        return "past" if verb.english_past and dice.chance(0.3) else "present"
    if "habit" in verb.traits and dice.chance(0.1):
        return "like to"
    if dice.chance(0.4):
        return "present"
    if verb.english_past and dice.chance(0.5):
        return "past"
    if dice.chance(0.25):
        return "will"
    return dice.pick(("can", "could")) if "happens" in verb.traits else dice.pick(_MODALS)


def _objects(dice: Dice, verb: Verb, about: Phrase, refuse: bool) -> tuple[Phrase | None, Phrase | None]:
    """Return the objects in the dative and in the accusative."""
    things = [tag for tag in verb.objects if tag not in _PEOPLE]
    people = [tag for tag in verb.objects if tag in _PEOPLE]
    match verb.frame:
        case "dat":
            return _known(dice, about, DATIVE, refuse), None
        case "dat+acc":
            # "die Zeitung einer Frau" would also mean a woman's newspaper.
            return _known(dice, about, DATIVE, True), thing(dice, things, negated=refuse)
        case "bike":
            return None, BIKE
        case "swap":
            return None, thing(dice, things, definite=True)
        case "acc" if dice.chance(len(people) / len(verb.objects)):
            return None, _known(dice, about, ACCUSATIVE, refuse, people)
        case "acc" | "put":
            return None, thing(dice, things, negated=refuse, dozens="shop" in verb.traits)
    return None, None


def _known(dice: Dice, about: Phrase, case: int, refuse: bool, tags: Sequence[str] = _PEOPLE) -> Phrase:
    """Return a person; with `refuse` a specific one, since "keinem Mann" would change the meaning."""
    while True:
        phrase = someone(dice, about, case, tags)
        if is_specific(phrase) or not refuse:
            return phrase


def _with_adverbials(dice: Dice, core: Clause) -> Clause:
    traits = core.verb.traits
    usual = core.mood == "present" and "habit" in traits and not core.negated
    if core.accusative is not None and core.accusative.english.split()[0] in _COUNTS:
        usual = False  # nobody always washes ten cars
    if usual and is_specific(core.subject) and dice.chance(0.25):
        core = replace(core, frequency=dice.pick(lexicon.FREQUENCIES))
    elif usual and dice.chance(0.5):
        core = replace(core, time=dice.pick(lexicon.EVERY + lexicon.SEASONS))
    elif dice.chance(0.45) and (time := _time(dice, core)):
        core = replace(core, time=time)
    if "job" in traits and dice.chance(0.3):
        core = replace(core, place=at(dice, "firm"))
    elif "place" in traits and core.verb.frame in ("", "bike") and dice.chance(0.08):
        core = replace(core, place=dice.pick(lexicon.WEATHER))
    elif "place" in traits and dice.chance(0.25):
        wild = "animal" in core.subject.tags
        tags = ("inside",) if wild else ("inside", "room", "outing", "stop")
        core = replace(core, place=at(dice, *tags))
    elif ("shop" in traits and dice.chance(0.25)) or ("arrival" in traits and dice.chance(0.4)):
        core = replace(core, place=city(dice, "in", "in"))
    for manner, choices in lexicon.MANNERS.items():
        if manner in traits and dice.chance(0.5):
            core = replace(core, manner=dice.pick(choices))
    if "clock" in traits and not core.manner and not core.negated and dice.chance(0.4):
        hour = dice.pick(range(5, 12))
        core = replace(core, clock=(f"at {hour} o'clock", f"um {hour} Uhr"))
    return core


def _time(dice: Dice, core: Clause) -> Pair | None:
    """Return a time such as a day or week, if the clause may have one."""
    time = MOODS[core.mood].time
    if time == "present" and core.mood != "present" and dice.chance(0.6):
        time = "future"  # "tomorrow he wants to cook" is as good as "today"
    if "long" in core.verb.traits or ("year" in core.verb.traits and dice.chance(0.3)):
        return lexicon.YEARS.get(time)
    if core.mood == "past" and not core.negated and dice.chance(0.15):
        count, unit = dice.pick(lexicon.NUMBERS), dice.pick(lexicon.AGO)
        return f"{count[0]} {unit[0]} ago", f"vor {count[1]} {unit[1]}"
    return dice.pick(lexicon.TIMES[time])
