"""The embedded English-German corpus: sentence pairs by a small grammar, as many as you like.

It is what the demo and the fast tests train on. Every pair is correct in both languages, and every
English sentence has exactly one German one and the other way round, so a perfect translator would
score 100. What has to be learnt is real all the same: gender and case, adjective endings, the verb
second or last, separable verbs, the perfect with haben or sein, compounds, negation.

Every choice is a function of the seed. `toy_lexicon` and `toy_words` hold the words, `toy_grammar`
puts a clause into words, `toy_clauses` thinks of clauses; here are the kinds of sentences made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dragoman.base.errors import ConfigError
from dragoman.text.toy import lexicon
from dragoman.text.toy.clauses import (
    TAGGED,
    Dice,
    at,
    being_so,
    beside,
    clause,
    describe,
    echo,
    is_specific,
    named,
    state,
    subject,
    thing,
)
from dragoman.text.toy.grammar import (
    DATIVE,
    NOMINATIVE,
    POSSESSIVES,
    PRONOUNS,
    THIRD,
    WHO,
    Clause,
    Phrase,
    english,
    finish,
    german,
    noun_phrase,
    object_relative,
    relative,
    words,
)
from dragoman.text.toy.lexicon import Pair
from dragoman.text.toy.words import ADJECTIVES, GERMAN_VERBS, NOUNS, VERBS, Verb

SHORTEST, LONGEST = 3, 16  # words in a sentence, on either side

# English sentences to show a trained model with. Their words are in the vocabulary, and `splits`
# leaves them out.
DEMO_SENTENCES = (
    "The old farmer gets up early every day.",
    "Yesterday my sister bought an expensive red dress.",
    "Peter stayed at home because he was sick.",
    "I know the woman who lives in Vienna.",
    "The children do not want to tidy up the kitchen.",
    "If it rains, we will drive to the station.",
)


@dataclass(frozen=True)
class Splits:
    """(English, German) pairs. No sentence of one part is in another, on either side."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def pairs(seed: int = 1, count: int = 20_000) -> list[Pair]:
    """`count` different (English, German) pairs. A smaller count gives the first of a larger one.

    Raises ConfigError for a negative count.
    """
    _check("count", count)
    stream = _distinct(seed)
    return [next(stream) for _ in range(count)]


def splits(seed: int = 1, train: int = 20_000, valid: int = 500, test: int = 500) -> Splits:
    """A training part and two held-out parts, all of whose words occur in the training part.

    Raises ConfigError for a negative size, and for held-out sentences without training ones.
    """
    for part, size in (("train", train), ("valid", valid), ("test", test)):
        _check(part, size)
    if valid + test and train < 1000:
        raise ConfigError(f"train = {train}", hint="1000 sentence pairs or more hold enough of the words")
    stream = (pair for pair in _distinct(seed) if pair[0] not in DEMO_SENTENCES)
    learnt = [next(stream) for _ in range(train)]
    known = [{word for pair in learnt for word in words(pair[side])} for side in (0, 1)]
    fair = (pair for pair in stream if all(known[side].issuperset(words(pair[side])) for side in (0, 1)))
    held = [next(fair) for _ in range(valid + test)]
    return Splits(learnt, held[:valid], held[valid:])


def sentences(seed: int) -> Iterator[Pair]:
    """(English, German) pairs without end, some of them more than once."""
    dice = Dice(seed)
    while True:
        pair = dice.pick(_KINDS)(dice)
        if all(SHORTEST <= len(words(side)) <= LONGEST for side in pair) and not _repeats(pair[0]):
            yield pair


def _distinct(seed: int) -> Iterator[Pair]:
    seen: set[str] = set()
    for pair in sentences(seed):
        if pair[0] not in seen:
            seen.add(pair[0])
            yield pair


def _check(what: str, count: int) -> None:
    if count < 0:
        raise ConfigError(f"{what} = {count}", hint="ask for 0 sentence pairs or more")


_CONTENT = {form for noun in NOUNS.values() for form in (noun.english, noun.english_plural)}
_CONTENT |= {*lexicon.WOMEN, *lexicon.MEN, *ADJECTIVES, *(first for first, _ in lexicon.CITIES)}


def _repeats(text: str) -> bool:
    """Whether a noun, name or adjective stands twice: "the old man and the old dog"."""
    content = [word for word in words(text) if word in _CONTENT]
    return len(content) != len(set(content))


# --- which verbs suit which kind of sentence

_PERSONAL = [verb for verb in VERBS if verb.subject in ("person", "being")]
_ACTIVE = [verb for verb in _PERSONAL if "state" not in verb.traits]
_WILLED = [verb for verb in _ACTIVE if "happens" not in verb.traits]
_ACTIONS = [verb for verb in _WILLED if verb.frame in ("acc", "dat", "dat+acc", "put")]
_PAST = [verb for verb in _ACTIVE if verb.english_past and "place" not in verb.traits]
_TO_PEOPLE = [v for v in _PERSONAL if v.frame in ("acc", "dat") and {"person", "kin"} & set(v.objects)]
# What one may do because it rains, or although one is tired.
_LIGHT = [
    verb
    for verb in _WILLED
    if verb.frame in ("", "goal", "trip", "stay") or set(verb.objects) & {"meal", "drink", "press", "game"}
]
_LIVELY = ("present", "present", "will", "can", "want to", "have to")
_LIGHT_PAST = [verb for verb in _LIGHT if verb.english_past]


def _verbs(infinitives: str) -> list[Verb]:
    return [GERMAN_VERBS[infinitive] for infinitive in infinitives.split()]


_ERRANDS = _verbs("kaufen suchen besuchen abholen essen trinken")
_JOURNEYS = _verbs("gehen fahren fliegen")
# What makes someone known: the man who lives in Berlin.
_LASTING = _verbs("wohnen arbeiten kochen kennen lieben haben brauchen gefallen helfen lernen sprechen")
_WITH_THINGS = _verbs("kaufen verkaufen finden reparieren waschen malen anprobieren verlieren")
_RANKED = ("person", "animal", "clothes", "vehicle", "furniture", "inside", "outing", "device")

# --- kinds of sentences


def _plain(dice: Dice) -> Pair:
    """Yesterday the woman bought an old car."""
    said = clause(dice)
    if said.time and dice.chance(0.4):
        said = replace(said, front="time")
    elif said.place and not said.time and dice.chance(0.25):
        said = replace(said, front="place")
    return finish(english(said), german(said))


def _condition(dice: Dice) -> Pair:
    """The soup is hot. My brother was tired yesterday."""
    if dice.chance(0.4):
        about, word = subject(dice), dice.pick(lexicon.STATES)
    else:
        noun = dice.pick(TAGGED[dice.pick((*_RANKED, "meal", "drink", "text", "vessel", "load", "room"))])
        word = dice.pick(noun.adjectives).english
        several = noun.english_plural and not {"inside", "outing", "room"} & set(noun.tags)
        about = noun_phrase(dice.pick(("the", "the", "this")), noun, (), bool(several) and dice.chance(0.2))
    negated = is_specific(about) and dice.chance(0.2)
    if word not in lexicon.STATES or dice.chance(0.7):
        said = state(about, word, "present", negated)
    else:
        said = state(about, word, "past", negated)
        if dice.chance(0.6):
            said = replace(said, time=dice.pick(lexicon.TIMES["past"]))
            said = replace(said, front="time" if dice.chance(0.4) else "")
    return finish(english(said), german(said))


def _comparison(dice: Dice) -> Pair:
    """The dog is bigger than the cat. The dog is as big as the cat."""
    nouns = TAGGED[dice.pick(_RANKED)]
    noun = dice.pick(nouns)
    adjective = dice.pick([adjective for adjective in noun.adjectives if adjective.german_comparative])
    first, second = (
        noun_phrase(dice.pick(("the", "the", "this")), each) for each in (noun, dice.pick(nouns))
    )
    if noun.tags[0] == "person" and dice.chance(0.5):
        first = dice.pick((PRONOUNS["he"], PRONOUNS["she"], named(dice)))
    if dice.chance(0.7):
        relation = (f"{adjective.english_comparative} than", f"{adjective.german_comparative} als")
    else:
        relation = (f"as {adjective.english} as", f"so {adjective.german} wie")
    complement = (f"{relation[0]} {second.english}", f"{relation[1]} {second.german[NOMINATIVE]}")
    said = being_so(first, complement, negated=dice.chance(0.15))
    return finish(english(said), german(said))


def _amount(dice: Dice) -> Pair:
    """The lamp costs 25 euros. My sister is 12 years old."""
    if dice.chance(0.5):
        number = dice.pick(range(12, 60))
        about = thing(dice, ("clothes", "device", "text", "furniture", "picture"), definite=True)
        price = (f"{number} euros", f"{number} Euro")
        said = Clause(subject=about, verb=GERMAN_VERBS["kosten"], complement=price)
    else:
        about = subject(dice) if dice.chance(0.7) else thing(dice, ("vehicle", "picture"), definite=True)
        ages = range(12, 18) if "young" in about.tags else range(40 if "elder" in about.tags else 18, 60)
        number = dice.pick(ages)
        said = being_so(about, (f"{number} years old", f"{number} Jahre alt"))
    return finish(english(said), german(said))


def _position(dice: Dice) -> Pair:
    """There is a lamp on the table. The book is under the bed."""
    tag = dice.pick(("lay", "stand", "furniture"))
    noun, plural = dice.pick(TAGGED[tag]), dice.chance(0.3)
    indoors = tag == "furniture" or dice.chance(0.2)
    place = at(dice, "room", "inside") if indoors else beside(dice, DATIVE)
    # English says "is" where German says that a thing lies or stands.
    verb = GERMAN_VERBS["liegen" if tag == "lay" else "stehen"]
    if dice.chance(0.4):
        about = noun_phrase(dice.pick(("the", *POSSESSIVES)), noun, describe(dice, noun), plural)
        said = Clause(subject=about, verb=verb, goal=place, negated=dice.chance(0.15))
        return finish(english(replace(said, verb=GERMAN_VERBS["sein"])), german(said))
    count = dice.pick(lexicon.NUMBERS)[0] if plural else "a"
    none = dice.chance(0.15) and not {"a", "an"} & set(place[0].split())
    about = noun_phrase("no" if none else count, noun, describe(dice, noun), plural)
    there = "there are" if plural else "there is"
    finite = verb.finite[about.agreement]
    return finish(f"{there} {about.english} {place[0]}", f"{place[1]} {finite} {about.german[NOMINATIVE]}")


def _reason(dice: Dice, who: Phrase | None, past: bool) -> Clause:
    """Why someone does something: the weather, a state, a duty or a wish."""
    mood = "past" if past else "present"
    if who is None or dice.chance(0.25):
        if dice.chance(0.5):
            verb = GERMAN_VERBS[dice.pick(("regnen", "schneien"))]
            return Clause(subject=PRONOUNS["it"], verb=verb, mood=mood)
        return state(PRONOUNS["it"], dice.pick(("cold", "warm")), mood)
    if dice.chance(0.5):
        return state(who, dice.pick(lexicon.STATES), mood, dice.chance(0.15))
    mood = dice.pick(("had to", "wanted to") if past else ("have to", "want to"))
    return clause(dice, who, verbs=_LIGHT, mood=mood, adverbials=False)


def _subordinate(dice: Dice) -> Pair:
    """He stays at home because he is sick. If it rains, we will stay at home."""
    about, past = subject(dice), dice.chance(0.35)
    who = echo(about)
    reason = _reason(dice, who, past)
    conjunction = dice.pick((("because", "weil"), ("although", "obwohl"), ("if", "wenn")))
    if past and conjunction[0] == "if":  # in the past it is "when": German als
        conjunction = ("when", "als") if who else ("because", "weil")
        reason = state(who, dice.pick(("young", *lexicon.STATES)), "past") if who else reason
    verbs, mood = (_LIGHT_PAST, "past") if past else (_LIGHT, dice.pick(_LIVELY))
    main = clause(dice, about, verbs=verbs, mood=mood, adverbials=False)
    side = (f"{conjunction[0]} {english(reason)}", f"{conjunction[1]} {german(reason, 'final')}")
    if dice.chance(0.5):
        return finish(f"{english(main)} {side[0]}", f"{german(main)}, {side[1]}")
    return finish(f"{side[0]}, {english(main)}", f"{side[1]}, {german(main, 'first')}")


def _opinion(dice: Dice) -> Pair:
    """Anna says that the man bought a car."""
    about, verb = subject(dice), GERMAN_VERBS[dice.pick(("sagen", "glauben", "wissen", "hoffen"))]
    if about.english == "I" and verb.infinitive == "sagen":
        verb = GERMAN_VERBS["glauben"]
    doubted = verb.infinitive == "glauben" and is_specific(about) and dice.chance(0.2)
    main = Clause(subject=about, verb=verb, negated=doubted)
    side = clause(dice, verbs=_PERSONAL)
    return finish(f"{english(main)} that {english(side)}", f"{german(main)}, dass {german(side, 'final')}")


def _attempt(dice: Dice) -> Pair:
    """He tries to open the window."""
    about, verb = subject(dice), GERMAN_VERBS[dice.pick(("versuchen", "versprechen", "vergessen"))]
    main = Clause(subject=about, verb=verb, mood=dice.pick(("present", "past")))
    what = clause(dice, about, mood="present", verbs=_ACTIONS, adverbials=False, positive=True)
    return finish(f"{english(main)} {english(what, 'infinitive')}", f"{german(main)}, {german(what, 'zu')}")


def _purpose(dice: Dice) -> Pair:
    """She goes to the city to buy a dress."""
    about, mood = subject(dice), dice.pick(("past", "past", *_LIVELY))
    what = clause(dice, about, mood="present", verbs=_ERRANDS, adverbials=False, positive=True)
    main = clause(dice, about, mood=mood, verbs=_JOURNEYS, adverbials=False, positive=True)
    if main.verb.infinitive == "gehen":  # not everything can be had in the kitchen
        main = replace(main, goal=("to the city", "in die Stadt"))
    why = (english(what, "infinitive"), german(what, "zu"))
    return finish(f"{english(main)} {why[0]}", f"{german(main)}, um {why[1]}")


def _described(dice: Dice) -> tuple[Phrase, Pair]:
    """A person and a relative clause about them: the man, who lives in Berlin."""
    noun, plural = dice.pick(TAGGED["person"]), dice.chance(0.2)
    if dice.chance(0.25):
        phrase = noun_phrase("the", noun, (), plural)
        return phrase, relative(phrase, state(phrase, dice.pick(lexicon.STATES)))
    phrase = noun_phrase("the", noun, describe(dice, noun, 0.2), plural)
    if dice.chance(0.5):
        said = clause(dice, phrase, verbs=_LASTING, mood="present", adverbials=False, positive=True)
    else:
        said = clause(dice, phrase, verbs=_PAST, mood="past", adverbials=dice.chance(0.5))
    return phrase, relative(phrase, said)


def _relative_subject(dice: Dice) -> Pair:
    """The man who lives in Berlin is sick."""
    about, side = _described(dice)
    if side[0].startswith(("who is ", "who are ")) or dice.chance(0.7):
        main = clause(dice, about, verbs=_LIGHT, adverbials=False)
    else:
        main = state(about, dice.pick(lexicon.STATES), negated=dice.chance(0.15))
    main = replace(main, subject=_with_relative(about, side))
    return finish(english(main), german(main))


def _with_relative(phrase: Phrase, side: Pair) -> Phrase:
    """`phrase` followed by its relative clause, as a subject."""
    nominative, accusative, dative = phrase.german
    with_clause = (nominative + side[1], accusative + side[1], dative + side[1])
    return replace(phrase, english=f"{phrase.english} {side[0]}", german=with_clause)


def _relative_object(dice: Dice) -> Pair:
    """Anna knows the man who lives in Berlin."""
    main = clause(dice, verbs=_TO_PEOPLE, adverbials=False)
    whom, side = _described(dice)
    main = replace(main, dative=whom) if main.verb.frame == "dat" else replace(main, accusative=whom)
    return finish(f"{english(main)} {side[0]}", f"{german(main)}{side[1]}")


def _relative_thing(dice: Dice) -> Pair:
    """The dress that Anna bought is red. I like the dress that Anna bought."""
    verb, likes = dice.pick(_WITH_THINGS), GERMAN_VERBS["gefallen"]
    noun = dice.pick(TAGGED[dice.pick(verb.objects)])
    item = noun_phrase("the", noun, (), plural=bool(noun.english_plural) and dice.chance(0.2))
    side = clause(dice, verbs=(verb,), mood="past", adverbials=False, positive=True)
    which = object_relative(item, replace(side, accusative=None))
    if noun.tags[0] in likes.objects and dice.chance(0.6):
        main = Clause(subject=subject(dice), verb=likes, accusative=item)
        return finish(f"{english(main)} {which[0]}", f"{german(main)}{which[1]}")
    main = state(_with_relative(item, which), dice.pick(noun.adjectives).english, negated=dice.chance(0.15))
    return finish(english(main), german(main))


def _coordination(dice: Dice) -> Pair:
    """Anna cooked, and Peter played chess."""
    past = dice.chance(0.4)
    first, second = (
        clause(dice, verbs=_PAST if past else _WILLED, mood="past" if past else "", adverbials=False)
        for _ in range(2)
    )
    if dice.chance(0.5):
        return finish(f"{english(first)}, and {english(second)}", f"{german(first)} und {german(second)}")
    return finish(f"{english(first)}, but {english(second)}", f"{german(first)}, aber {german(second)}")


def _question(dice: Dice) -> Pair:
    """Does the girl play chess? Why did he sell the car?"""
    if dice.chance(0.15):
        asked = clause(dice, WHO, verbs=_PERSONAL, positive=True)
        return finish(english(asked), german(asked), "?")
    about = subject(dice)
    while not is_specific(about) or about.english == "I":  # nobody asks "Do I sleep?"
        about = subject(dice)
    asked = clause(dice, about, verbs=_PERSONAL, positive=True)
    verb, word = asked.verb, ("", "")
    if dice.chance(0.2):
        word = ("why", "warum")
    elif verb.frame in ("home", "stay"):
        word, asked = ("where", "wo"), replace(asked, goal=None)
    elif verb in _WITH_THINGS and dice.chance(0.6):
        word, asked = ("what", "was"), replace(asked, accusative=None)
    elif not asked.place and {"place", "shop"} & verb.traits and dice.chance(0.4):
        word = ("where", "wo")
    elif not (asked.time or asked.clock or asked.frequency or "state" in verb.traits) and dice.chance(0.4):
        word = ("when", "wann")
    elif asked.mood == "present" and about.agreement != THIRD:
        word = ("why", "warum")  # each verb form that may stand first is one more to learn
    texts = (f"{word[0]} {english(asked, 'question')}", f"{word[1]} {german(asked, 'first')}")
    return finish(texts[0].strip(), texts[1].strip(), "?")


_SHARES: dict[Callable[[Dice], Pair], int] = {
    _plain: 36,
    _condition: 7,
    _comparison: 4,
    _amount: 4,
    _position: 7,
    _subordinate: 11,
    _opinion: 7,
    _attempt: 4,
    _purpose: 4,
    _relative_subject: 3,
    _relative_object: 3,
    _relative_thing: 3,
    _coordination: 3,
    _question: 9,
}
_KINDS = [kind for kind, share in _SHARES.items() for _ in range(share)]
