"""The words of the embedded English-German corpus in all their forms, derived from the tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dragoman.text.toy import lexicon


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun. Its plural is "" if it has none; `gender` is m, f or n."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    weak: bool
    tags: tuple[str, ...]
    adjectives: tuple[Adjective, ...] = ()


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective. `stem` takes the endings; the comparatives are "" if it has none."""

    english: str
    german: str
    stem: str
    english_comparative: str
    german_comparative: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with every form the grammar uses. `finite` is for ich, du, er, wir."""

    english: str
    english_third: str
    english_past: str
    particle: str  # "up" in "pick him up"
    infinitive: str
    prefix: str
    finite: tuple[str, str, str, str]
    preterite: tuple[str, ...]
    participle: str
    with_sein: bool
    subject: str
    frame: str
    objects: tuple[str, ...]
    traits: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mood:
    """How a clause's verb is used: a tense, a modal verb or the future."""

    english: str
    finite: tuple[str, ...]
    time: str
    helper: bool  # comes before the subject in an English question


def _nouns() -> dict[str, Noun]:
    described = {
        tag: tuple(ADJECTIVES[name] for name in names.split())
        for tag, names in (line.split(":") for line in lexicon.TABLES["described"].strip().splitlines())
    }
    nouns: dict[str, Noun] = {}
    tags: tuple[str, ...] = ()
    for line in lexicon.TABLES["nouns"].strip().splitlines():
        head, colon, rest = line.rpartition(":")
        tags = tuple(head.split()) if colon else tags
        for entry in rest.strip(" ,").split(","):
            english, article, german = entry.split()
            singular, _, plural = german.rstrip("*").partition("/")
            one, _, many = english.partition("/")
            gender = {"der": "m", "die": "f", "das": "n"}[article]
            # An ambiguous word has its second meaning under its German name.
            nouns[singular if one in nouns else one] = Noun(
                one, many, singular, plural, gender, german.endswith("*"), tags, described.get(tags[0], ())
            )
    for line in lexicon.TABLES["compounds"].strip().splitlines():
        front, heads = line.split(":")
        modifier, prefix = front.split()
        for head in heads.split(","):
            noun = nouns[head.strip()]
            name = f"{modifier} {noun.english}"
            nouns[name] = replace(
                noun,
                english=name,
                english_plural=noun.english_plural and f"{modifier} {noun.english_plural}",
                german=prefix + noun.german.lower(),
                german_plural=noun.german_plural and prefix + noun.german_plural.lower(),
            )
    return nouns


def _adjectives() -> dict[str, Adjective]:
    adjectives = {}
    for entry in lexicon.TABLES["adjectives"].replace("\n", " ").split(","):
        english, german, more, mehr = (word.strip("-").replace("_", " ") for word in entry.split())
        base, _, stem = german.partition(":")
        adjectives[english] = Adjective(english, base, stem or base, more, mehr)
    return adjectives


def _third(base: str) -> str:
    """Return the third person singular: reads, washes, carries."""
    word, space, rest = base.partition(" ")
    if word == "have":
        word = "has"
    elif word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "ies"
    else:
        word += "es" if word.endswith(("s", "sh", "ch", "x", "o")) else "s"
    return word + space + rest


def _verb(line: str) -> Verb:
    words, german, er, participle, subject, frame, *traits = line.split()
    particle = words.partition("/")[0].partition("^")[2]
    english, past = (word.partition("^")[0].replace("_", " ").strip("-") for word in words.split("/"))
    prefix, _, infinitive = german.rpartition("|")
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    regular = stem + ("et" if stem.endswith(("t", "d", "gn", "fn")) else "t")
    if er == "*":
        ich, du, er, wir = lexicon.IRREGULAR[infinitive].split()
    else:
        er = regular if er == "~" else er
        du = er[:-1] + ("t" if er[:-1].endswith(("s", "ß", "z")) else "st")
        ich, wir = stem + "e", infinitive
    kind, _, objects = frame.partition(":")
    base = lexicon.PRETERITES.get(infinitive, "")
    preterite = (base, base + "st", base, base + ("n" if base.endswith("e") else "en")) if base else ()
    return Verb(
        english=english,
        english_third=_third(english),
        english_past=past,
        particle=particle,
        infinitive=infinitive,
        prefix=prefix,
        finite=(ich, du, er, wir),
        preterite=preterite,
        participle=f"{prefix}ge{regular}" if participle == "~" else participle.lstrip("+"),
        with_sein=participle.startswith("+"),
        subject=subject,
        frame=kind.strip("-"),
        objects=tuple(" ".join(lexicon.GROUPS.get(tag, tag) for tag in objects.split(",")).split()),
        traits=frozenset(traits) - {"-"},
    )


def _moods() -> dict[str, Mood]:
    moods = {
        "present": Mood("", (), "present", False),
        "past": Mood("", (), "past", False),
        # "He likes to read" is "Er liest gern": German has an adverb where English has a verb.
        "like to": Mood("like to", (), "habit", False),
    }
    for line in lexicon.TABLES["moods"].strip().splitlines():
        name, *finite, time = line.split()
        english = name.replace("_", " ")
        helper = not english.endswith(" to") or english.startswith("would")
        moods[english] = Mood(english, tuple(finite), time, helper)
    return moods


ADJECTIVES = _adjectives()
NOUNS = _nouns()
VERBS = tuple(_verb(line) for line in lexicon.TABLES["verbs"].strip().splitlines())
GERMAN_VERBS = {
    verb.prefix + verb.infinitive: verb
    for verb in (*VERBS, *(_verb(line) for line in lexicon.TABLES["special_verbs"].strip().splitlines()))
}
MOODS = _moods()
