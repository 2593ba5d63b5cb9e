"""Measure whether context decides translations: contrastive sets of the embedded grammar.

    python benchmarks/context.py FOLDER [--documents 30000] [--updates 700] [--examples 1000]

Trains a tiny model on sentences of the grammar and on documents of two, whose first decides the second:
"it" is er, sie or es; "plant" is Pflanze or Fabrik; "you" is du or Sie. Each of the three sets holds every
second sentence in two contexts, so a model that does not read them prefers the right translation of half.

Prints for each set the share of right translations preferred without context, with it, and with the context
of the other example, which should make the other translation the preferred one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from dragoman.text.toy import corpus, lexicon
from dragoman.text.toy.clauses import TAGGED, Dice, clause, named, state
from dragoman.text.toy.grammar import (
    IT,
    POLITE,
    POSSESSIVES,
    PRONOUNS,
    Phrase,
    english,
    finish,
    german,
    noun_phrase,
    politely,
)
from dragoman.text.toy.lexicon import Pair
from dragoman.text.toy.words import GERMAN_VERBS, NOUNS, VERBS

Document = tuple[Pair, Pair]  # two sentences, each with its translation
_THINGS = ("clothes", "vehicle", "furniture", "device", "picture")
_WITH_THINGS = [GERMAN_VERBS[name] for name in "kaufen verkaufen finden malen verlieren".split()]
_PERSONAL = [verb for verb in VERBS if verb.subject in ("person", "being")]
# An ambiguous word: two nouns, each with those that go with it.
_WORDS = (
    (("plant", ("garden", "park", "forest")), ("Fabrik", ("bank", "city", "office"))),
    (("key", ("door", "house", "car")), ("Taste", ("radio", "lamp", "school book"))),
)
_SIZES = ("big", "small", "new", "old")


def _said(dice: Dice, about: Phrase) -> Pair:
    main = state(about, dice.pick(_SIZES), negated=dice.chance(0.3))
    return finish(english(main), german(main))


def _done(dice: Dice, thing: Phrase, seed: int) -> Pair:
    """A sentence about the thing; the same seed gives the same one about another."""
    own = Dice(seed)
    if own.chance(0.5):
        return _said(own, thing)
    main = replace(clause(own, verbs=_WITH_THINGS, adverbials=False, positive=True), accusative=thing)
    return finish(english(main), german(main))


def pronouns(dice: Dice) -> tuple[Document, Document]:
    """It is old, of things of two genders."""
    nouns = [noun for tag in _THINGS for noun in TAGGED[tag] if noun.english_plural]
    first, second = dice.pick(nouns), dice.pick(nouns)
    while first.gender == second.gender:
        second = dice.pick(nouns)
    seed = int(dice.pick(range(10**9)))
    found = []
    for noun in (first, second):
        item = noun_phrase(dice.pick(("the", "this", *POSSESSIVES)), noun)
        found.append((_said(dice, item), _done(dice, IT[noun.gender], seed)))
    return found[0], found[1]


def ambiguous(dice: Dice) -> tuple[Document, Document]:
    """The plant is big, beside a garden or a bank."""
    article, seed = dice.pick(("the", "this", *POSSESSIVES)), int(dice.pick(range(10**9)))
    found = []
    for name, cues in dice.pick(_WORDS):
        cue = noun_phrase(dice.pick(("the", "this")), NOUNS[dice.pick(cues)])
        found.append((_said(dice, cue), _done(dice, noun_phrase(article, NOUNS[name]), seed)))
    return found[0], found[1]


def address(dice: Dice) -> tuple[Document, Document]:
    """Do you know the man, after a first name or a title."""
    seed, found = int(dice.pick(range(10**9))), []
    for polite in (False, True):
        title, surname = dice.pick(lexicon.TITLES), dice.pick(lexicon.SURNAMES)
        called = (f"{title[0]} {surname}", f"{title[1]} {surname}") if polite else (named(dice).english,) * 2
        before = _spoken(dice, polite=polite)
        texts = [text[:1].lower() + text[1:] for text in before]
        first = f"{called[0]}, {texts[0]}", f"{called[1]}, {texts[1]}"
        found.append((first, _spoken(Dice(seed), polite=polite)))
    return found[0], found[1]


def _spoken(dice: Dice, *, polite: bool) -> Pair:
    main = clause(dice, PRONOUNS["you"], verbs=_PERSONAL, positive=True)
    main = replace(main, subject=POLITE) if polite else main
    text = german(main, "first")
    return finish(english(main, "question"), politely(text) if polite else text, "?")


SETS: dict[str, Callable[[Dice], tuple[Document, Document]]] = {
    "pronouns": pronouns,
    "words": ambiguous,
    "address": address,
}


def documents(name: str, seed: int) -> Iterator[tuple[Document, Document]]:
    """Yield pairs of documents of one set whose second sentences differ in German alone, without end."""
    dice = Dice(seed)
    while True:
        first, second = SETS[name](dice)
        if first[1][0] == second[1][0] and first[1][1] != second[1][1]:
            yield first, second


def write(folder: Path, count: int, examples: int) -> None:
    """Write the training text and the contrastive sets. No example is a document of the training text."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = corpus.splits(seed=1, train=20_000, valid=300, test=300)
    lines = [{"source": source, "target": target, "document": ""} for source, target in parts.train]
    seen = set()
    for name in SETS:
        stream = documents(name, seed=1)
        for number in range(count // len(SETS) // 2):
            for half, document in enumerate(next(stream)):
                seen.add((document[0][0], document[1][0]))
                lines += [
                    {"source": s, "target": t, "document": f"{name}{number}{half}"} for s, t in document
                ]
    _write(folder / "train.jsonl", lines)
    _write(folder / "valid.jsonl", [{"source": source, "target": target} for source, target in parts.valid])
    for name in SETS:
        fresh = (
            both
            for both in documents(name, seed=2)
            if not any((one[0][0], one[1][0]) in seen for one in both)
        )
        told: list[dict[str, object]] = []
        swapped: list[dict[str, object]] = []
        while len(told) < examples:
            first, second = next(fresh)
            for one, other in ((first, second), (second, first)):
                row: dict[str, object] = {
                    "source": one[1][0],
                    "right": one[1][1],
                    "wrong": [other[1][1]],
                    "kind": name,
                }
                told.append(row | {"context": one[0][0]})
                swapped.append(row | {"context": other[0][0]})
        _write(folder / f"{name}.jsonl", told)
        _write(folder / f"{name}.swapped.jsonl", swapped)


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=30_000)
    parser.add_argument("--updates", type=int, default=700)
    parser.add_argument("--examples", type=int, default=1000)
    args = parser.parse_args()
    if not (args.folder / "train.jsonl").exists():
        write(args.folder, args.documents, args.examples)
    command = [sys.executable, "-m", "dragoman"]
    model = args.folder / "model"
    options = (
        f"training.max_updates={args.updates} training.optimizer=muon training.schedule=cosine "
        "training.learning_rate=0.006 training.warmup=100 data.context=0.7 data.formality=0.3 data.placeholders=0"
    )
    subprocess.run(
        [
            *(
                *command,
                "train",
                str(args.folder / "train.jsonl"),
                "--valid",
                str(args.folder / "valid.jsonl"),
            ),
            *("-o", str(model), "--preset", "tiny", "--source-language", "en", "--target-language", "de"),
            *options.split(),
        ],
        check=True,
    )
    for name in SETS:
        told, swapped = (
            json.loads(
                subprocess.check_output([*command, "evaluate", str(model), "--contrast", path, "--json"])
            )
            for path in (str(args.folder / f"{name}.jsonl"), str(args.folder / f"{name}.swapped.jsonl"))
        )
        alone, right, other = (
            one["share"] for one in (told["alone"][-1], told["in context"][-1], swapped["in context"][-1])
        )
        print(f"{name:10} alone {alone:.1%}  in context {right:.1%}  in the other context {other:.1%}")


if __name__ == "__main__":
    main()
