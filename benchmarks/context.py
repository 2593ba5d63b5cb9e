"""Measure whether context decides translations: contrastive sets, and their making.

    python benchmarks/context.py grammar FOLDER [--documents 30000] [--updates 700] [--examples 1000]

Trains a tiny model on sentences of the embedded grammar and on documents of two, whose first decides the
second: "it" is er, sie or es; "plant" is Pflanze or Fabrik; "you" is du or Sie. Each of the three sets holds
every second sentence in two contexts, so a model that does not read them is right half of the time.

    python benchmarks/context.py pronouns MODEL SOURCE TARGET FILE

Writes a contrastive set from English text in order and its German translation. It takes lines with one
"it" and one "er", "sie" or "es", or with one at the place that the model's attention links with "it". The
wrong translations have the two other pronouns there. Text with a space before each full stop is detokenised
first.

    python benchmarks/context.py catalogues OUTPUT FILE...

Reads catalogues of English programs, such as de.po, and writes training text (messages.jsonl) and a
contrastive set (messages.contrast.jsonl) of messages that the catalogues translate in several ways. A message
of the set is not in the training text, but its translations are, in other contexts.

    python benchmarks/context.py lines SOURCE TARGET FILE

Writes text in order, in which blank lines part the documents, as training text like messages.jsonl.

    python benchmarks/context.py table FOLDER

Reads what `dragoman evaluate --json` wrote as TEXT.MODEL.SEED.json: the last step of benchmarks/context.toml.

Prints for each set of the grammar the share of right translations preferred without context, with it, and
with the context of the other example, which should make the other translation the preferred one; of
"pronouns", how many lines have each; of "catalogues" and "lines", how much the files have; of "table", means
and standard deviations over the seeds.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman import Translator
from dragoman.documents.context.catalogues import open_catalogues
from dragoman.text.corpora.context import SENTENCES
from dragoman.text.corpora.corpus import open_corpus
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


def train_on_grammar(folder: Path, count: int, updates: int, examples: int) -> None:
    if not (folder / "train.jsonl").exists():
        write(folder, count, examples)
    command = [sys.executable, "-m", "dragoman"]
    model = folder / "model"
    options = (
        f"training.max_updates={updates} training.optimizer=muon training.learning_rate=0.006 "
        "training.schedule=cosine training.warmup=100 data.context=0.7 data.formality=0.3 data.placeholders=0"
    )
    subprocess.run(
        [
            *(*command, "train", str(folder / "train.jsonl"), "--valid", str(folder / "valid.jsonl")),
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
            for path in (str(folder / f"{name}.jsonl"), str(folder / f"{name}.swapped.jsonl"))
        )
        shares = (told["alone"], told["in context"], swapped["in context"])
        alone, right, other = (rows[-1]["share"] for rows in shares)
        print(f"{name:10} alone {alone:.1%}  in context {right:.1%}  in the other context {other:.1%}")


_SPACES = re.compile(r"\s+(?=[.,!?;:)%]|'(?:m|s|re|ve|ll|d)\b|n't\b)|(?<=[(])\s+")
_PRONOUNS = ("er", "sie", "es")
_OTHERS = {"he", "him", "she", "her", "they", "them"}


def write_pronouns(model: Path, source: Path, target: Path, output: Path) -> None:
    pairs = [(line.source, line.target) for line in open_corpus([source, target])]
    if sum(text.endswith(" .") for text, _ in pairs) > len(pairs) / 3:
        pairs = [(_SPACES.sub("", one), _SPACES.sub("", other)) for one, other in pairs]
    translator = Translator.load(model)
    found: Counter[str] = Counter()
    rows: list[dict[str, object]] = []
    for number, alignment in enumerate(translator.align(pairs)):
        words, translated = (side.split() for side in pairs[number])
        lower = [word.lower().strip(".,!?;:") for word in words]
        # "Sie" within a sentence is "you", and may be at its beginning.
        polite = [
            n for n, word in enumerate(translated) if word == "Sie" and (n or {"you", "your"} & set(lower))
        ]
        places = [n for n, one in enumerate(translated) if one.lower() in _PRONOUNS and n not in polite]
        linked = {j for i, j in alignment.words() if lower[i] == "it"}
        # Without another person in the source, the only pronoun is that of "it", whatever the attention says.
        alone = len(places) == 1 and not _OTHERS & set(lower)
        if lower.count("it") != 1 or not (alone or len(linked.intersection(places)) == 1):
            continue
        place = places[0] if alone else linked.intersection(places).pop()
        word = translated[place]

        def told(pronoun: str, place: int = place, translated: list[str] = translated) -> str:
            own = pronoun.capitalize() if translated[place][0].isupper() else pronoun
            return " ".join([*translated[:place], own, *translated[place + 1 :]])

        before = pairs[max(0, number - SENTENCES) : number]
        found[word.lower()] += 1
        rows.append(
            {
                "source": pairs[number][0],
                "right": " ".join(translated),
                "wrong": [told(one) for one in _PRONOUNS if one != word.lower()],
                "kind": word.lower(),
                "context": " ".join(one for one, _ in before),
                "context_target": " ".join(other for _, other in before),
            }
        )
    _write(output, rows)
    print(f"{len(rows):,} of {len(pairs):,} lines: {', '.join(f'{n:,} {one}' for one, n in found.items())}")


def write_messages(output: Path, files: Sequence[Path]) -> None:
    corpus = open_catalogues(files, ("en", "de"))
    lines = list(dict.fromkeys((one.source, one.target, one.context) for one in corpus))
    times = Counter((source, target) for source, target, _ in lines)
    ways: dict[str, dict[str, None]] = {}
    for source, target, _ in lines:
        ways.setdefault(source, {})[target] = None
    train: list[dict[str, object]] = []
    told: list[dict[str, object]] = []
    for number, (source, target, context) in enumerate(lines):
        kept = [other for other in ways[source] if other != target and times[source, other]]
        if kept and context and times[source, target] > 1:
            times[source, target] -= 1
            told.append({"source": source, "right": target, "wrong": kept, "context": context})
        else:
            train.append({"source": source, "target": target, "context": context, "document": str(number)})
    output.mkdir(parents=True, exist_ok=True)
    _write(output / "messages.jsonl", train)
    _write(output / "messages.contrast.jsonl", told)
    print(f"{len(train):,} messages to learn from, {len(told):,} to measure")


def write_lines(source: Path, target: Path, output: Path) -> None:
    rows: list[dict[str, object]] = []
    documents = 1
    for line in open_corpus([source, target]):
        if line.source.strip():
            rows.append({"source": line.source, "target": line.target, "document": f"text {documents}"})
        else:
            documents += 1
    _write(output, rows)
    print(f"{len(rows):,} lines to learn from")


def print_table(folder: Path) -> None:
    found: dict[str, list[float]] = {}
    for path in sorted(folder.glob("*.*.*.json")):
        text, model, _ = path.stem.split(".")
        told = json.loads(path.read_text(encoding="utf-8"))
        if "cased" in told:
            values = {score: told["cased"][score]["value"] for score in ("bleu", "chrf")}
        else:  # the last row is of all kinds
            values = {how: 100 * told[how][-1]["share"] for how in ("alone", "in context") if how in told}
        for name, value in values.items():
            found.setdefault(f"{text:12} {model:16} {name:10}", []).append(value)
    for name, several in found.items():
        deviation = statistics.stdev(several) if len(several) > 1 else 0.0
        print(f"{name} {statistics.fmean(several):6.2f} ± {deviation:.2f}  ({len(several)})")


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    grammar = commands.add_parser("grammar")
    grammar.add_argument("folder", type=Path)
    grammar.add_argument("--documents", type=int, default=30_000)
    grammar.add_argument("--updates", type=int, default=700)
    grammar.add_argument("--examples", type=int, default=1000)
    for command, names in (("pronouns", "model source target output"), ("lines", "source target output")):
        parser_ = commands.add_parser(command)
        for name in names.split():
            parser_.add_argument(name, type=Path)
    catalogues = commands.add_parser("catalogues")
    catalogues.add_argument("output", type=Path)
    catalogues.add_argument("files", type=Path, nargs="+")
    commands.add_parser("table").add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.command == "table":
        print_table(args.folder)
    elif args.command == "lines":
        write_lines(args.source, args.target, args.output)
    elif args.command == "catalogues":
        write_messages(args.output, args.files)
    elif args.command == "grammar":
        train_on_grammar(args.folder, args.documents, args.updates, args.examples)
    else:
        write_pronouns(args.model, args.source, args.target, args.output)


if __name__ == "__main__":
    main()
