"""Measure how well `dragoman data pairs` aligns sentences, against Gale and Church's lengths alone.

    python benchmarks/pairs.py --data FOLDER
    python benchmarks/pairs.py --po dpkg/man/po/de.po apt/doc/po/de.po [--older OLD.po ...]

Of the line pairs of FOLDER/test.en and test.de (or --name valid) it makes two documents: some lines are
deleted, some split at a comma or a conjunction, some joined with the next line, and blocks of the target
stand elsewhere. Which sentences belong together is then known.

Of a PO file it makes two documents: its messages in the order of the file, each a paragraph. Messages without
a finished translation are in the source alone. With --older the translations are those of an older version:
some messages are new then, and some are gone. Pairs with no message of both versions do not count.

Prints precision, recall and F1 in percent. They are strict: every sentence of a bead must be right. Of a PO
file a message is right if all its sentences are in pairs, and none with those of another message. Prints also
how many pairs lie within one message, in percent, by confidence.
"""

from __future__ import annotations

import argparse
import gzip
import math
import random
import re
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path

from dragoman.base.tables import aligned
from dragoman.data.align import Prose, align_sentences
from dragoman.documents.context.around import plain_text
from dragoman.documents.formats import Languages, format_named
from dragoman.documents.segment import Status, full_text
from dragoman.text.segmenter import segment_text

Beads = list[tuple[tuple[int, ...], tuple[int, ...]]]  # the numbers of the sentences of both sides

_CUT = re.compile(r"(?<=[,;:]) (?=\w)| (?=(?:and|but|because|which|und|aber|weil|et|mais|que) )")
_SHORTEST = 12  # characters of a half
_MARKUP = re.compile(r"\b[A-Z]<([^<>]*)>")  # of man pages in PO files: B<dpkg>
_BANDS = (0.0, 0.5, 0.8, 0.95)  # of confidence
_PRIOR = {(1, 1): 0.89, (1, 0): 0.0099, (0, 1): 0.0099, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}


@dataclass
class Case:
    """Two documents and their true alignment."""

    name: str
    source: Prose
    target: Prose
    gold: Beads
    keys: Sequence[list[Hashable]] = ()  # of a PO file: the message of each sentence


def made(pairs: Sequence[tuple[str, str]], languages: Sequence[str], seed: int, moves: int) -> Case:
    """Make two documents of parallel lines."""
    chance = random.Random(seed)
    units: list[tuple[list[str], list[str]]] = []  # the sentences of a bead
    rest = list(pairs)[::-1]
    while rest:
        source, target = rest.pop()
        sides = [[source], [target]]
        case = chance.random()
        if case < 0.10:
            sides[chance.randrange(2)] = []
        elif case < 0.18 and rest:  # two lines joined on one side
            more = rest.pop()
            joined = chance.randrange(2)
            sides = [[one, other] for one, other in zip((source, target), more, strict=True)]
            sides[joined] = [" ".join(sides[joined])]
        elif case < 0.28:
            side = chance.randrange(2)
            sides[side] = halves(sides[side][0], chance)
        units.append((sides[0], sides[1]))
    order = list(range(len(units)))
    for _ in range(moves):
        size = chance.randint(8, 30)
        start = chance.randrange(len(order) - size)
        block = order[start : start + size]
        del order[start : start + size]
        at = chance.randrange(len(order))
        order[at:at] = block
    places: list[list[tuple[int, ...]]] = [[()] * len(units), [()] * len(units)]
    texts: list[list[str]] = [[], []]
    for side, numbers in enumerate((range(len(units)), order)):
        for number in numbers:
            own = units[number][side]
            places[side][number] = tuple(range(len(texts[side]), len(texts[side]) + len(own)))
            texts[side] += own
    gold = [(a, b) for a, b in zip(*places, strict=True) if a and b]
    return Case("", Prose(texts[0], languages[0]), Prose(texts[1], languages[1]), gold)


def of_messages(path: Path, older: Path, languages: Sequence[str]) -> Case:
    """The documents of the messages of a PO file and the translations of an older one."""
    proses, places = [], list[dict[Hashable, tuple[int, ...]]]()
    keys: list[list[Hashable]] = [[], []]  # of the messages
    for side, (file, code) in enumerate(zip((path, older), languages, strict=True)):
        texts: dict[Hashable, list[str]] = {}
        for one in format_named("po").parse(file.read_bytes(), Languages(*languages)).segments:
            content = one.source if side == 0 else one.target if one.state is Status.DONE else None
            text = full_text(content or ()).replace("E<lt>", "").replace("E<gt>", "")
            text = plain_text((_MARKUP.sub(r"\1", _MARKUP.sub(r"\1", text)),), labels=True)
            if text:
                parts = segment_text(text, code, code, longest=None).sentences
                texts.setdefault((one.context, one.source), parts)
        keys[side] = [key for key, parts in texts.items() for _ in parts]
        begins = [number == 0 for parts in texts.values() for number in range(len(parts))]
        proses.append(Prose([one for parts in texts.values() for one in parts], code, begins))
        ends = accumulate(map(len, texts.values()))
        places.append(
            {key: (*range(end - len(texts[key]), end),) for key, end in zip(texts, ends, strict=True)}
        )
    gold = [(own, places[1][key]) for key, own in places[0].items() if key in places[1]]
    return Case("/".join(path.parts[-4:-1]), *proses, gold, keys)


def halves(text: str, chance: random.Random) -> list[str]:
    """Split a sentence so that both halves are text, if that is possible."""
    cuts = [one.start() for one in _CUT.finditer(text) if _SHORTEST < one.start() < len(text) - _SHORTEST]
    if not cuts:
        return [text]
    at = chance.choice(cuts)
    return [text[:at].strip(), text[at:].strip()]


def gale_church(source: Prose, target: Prose) -> Beads:
    """Align by lengths alone, as published in 1993, within 300 sentences of the diagonal."""
    lengths = [[len(text) for text in one.sentences] for one in (source, target)]
    sums = [[0], [0]]
    for side in (0, 1):
        for length in lengths[side]:
            sums[side].append(sums[side][-1] + length)
    n, m = len(lengths[0]), len(lengths[1])
    costs: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(n + 1):
        middle = round(i * m / max(n, 1))
        for j in range(max(0, middle - 300), min(m, middle + 300) + 1):
            best = costs.get((i, j))
            for step, prior in _PRIOR.items():
                before = costs.get((i - step[0], j - step[1]))
                if before is None:
                    continue
                cost = _cost(sums[0][i] - sums[0][i - step[0]], sums[1][j] - sums[1][j - step[1]])
                value = before[0] + cost - math.log(prior)
                if best is None or value < best[0]:
                    best = value, step
            if best is not None:
                costs[i, j] = best
    beads: Beads = []
    i, j = n, m
    while i or j:
        x, y = costs[i, j][1]
        beads.append((tuple(range(i - x, i)), tuple(range(j - y, j))))
        i, j = i - x, j - y
    return [one for one in beads if all(one)]


@lru_cache(1 << 18)
def _cost(ours: int, theirs: int) -> float:
    """-log of the probability of these lengths, in characters."""
    mean = (ours + theirs) / 2
    off = abs(theirs - ours) / math.sqrt(6.8 * mean) if mean else 0.0
    return -math.log(max(math.erfc(off / math.sqrt(2)), 1e-300))


def beads_of(source: Prose, target: Prose, chances: list[float] | None = None, **options: object) -> Beads:
    """The beads of `align`. Their confidences go to `chances`."""
    found = [one for one in align_sentences(source, target, **options) if all(one.sides)]  # type: ignore[arg-type]
    if chances is not None:
        chances[:] = [one.confidence for one in found]
    return [(tuple(range(*one.spans[0])), tuple(range(*one.spans[1]))) for one in found]


def scores(found: Beads, gold: Beads) -> tuple[float, float, float]:
    """Precision, recall, F1 in percent."""
    right = len({*found} & {*gold})
    precision, recall = right / max(len(found), 1), right / max(len(gold), 1)
    return 100 * precision, 100 * recall, 200 * precision * recall / max(precision + recall, 1e-9)


def message_scores(found: Beads, case: Case) -> tuple[tuple[float, float, float], list[bool | None]]:
    """Precision, recall and F1 of messages, and which beads are right: None if one does not count."""
    both = {*case.keys[0]} & {*case.keys[1]}
    linked, spoilt, covered = set[Hashable](), set[Hashable](), Counter[Hashable]()
    rights: list[bool | None] = []
    for bead in found:
        ours, theirs = ({keys[at] for at in side} for keys, side in zip(case.keys, bead, strict=True))
        if not (ours | theirs) & both:
            rights.append(None)
            continue
        linked |= ours
        rights.append(ours == theirs and len(ours) == 1)
        if not rights[-1]:
            spoilt |= ours | theirs
        covered.update(keys[at] for keys, side in zip(case.keys, bead, strict=True) for at in side)
    right = sum(
        (key := case.keys[0][a[0]]) not in spoilt and covered[key] == len(a) + len(b) for a, b in case.gold
    )
    precision, recall = right / max(len(linked), 1), right / max(len(case.gold), 1)
    return (100 * precision, 100 * recall, 200 * right / max(len(linked) + len(case.gold), 1)), rights


def read(path: Path) -> list[str]:
    """The lines of a file, compressed or not."""
    if not path.exists():
        path = path.with_name(f"{path.name}.gz")
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--po", type=Path, nargs="*", default=[])
    parser.add_argument("--older", type=Path, nargs="*", help="one for each --po; its translations are read")
    parser.add_argument("--name", default="test")
    parser.add_argument("--languages", nargs=2, default=("en", "de"))
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moves", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of the methods to run")
    given = parser.parse_args()
    rows = [["case", "sentences", "method", "P", "R", "F1", "seconds"]]
    files = zip(given.po, given.older or given.po, strict=True)
    cases = [of_messages(*both, given.languages) for both in files]
    for folder in given.data:
        sides = [read(folder / f"{given.name}.{code}")[: given.lines] for code in given.languages]
        pairs = [(a, b) for a, b in zip(*sides, strict=True) if a.strip() and b.strip()]
        cases.append(replace(made(pairs, given.languages, given.seed, given.moves), name=folder.name))
    chances: list[float] = []
    methods: dict[str, Callable[[Prose, Prose], Beads]] = {
        "Gale-Church": gale_church,
        "one pass": partial(beads_of, passes=1),
        "two passes": partial(beads_of, passes=2),
        "three passes": partial(beads_of, chances=chances),
    }
    bands: list[list[str]] = []
    for case in cases:
        for method, run in methods.items():
            if given.only and method not in given.only:
                continue
            start = time.process_time()
            found = run(case.source, case.target)
            seconds = time.process_time() - start
            size = f"{len(case.source.sentences)}+{len(case.target.sentences)}"
            result = scores(found, case.gold)
            if case.keys:
                result, rights = message_scores(found, case)
            if case.keys and method == "three passes":
                tally: list[list[bool]] = [[] for _ in _BANDS]
                for right, sure in zip(rights, chances, strict=True):
                    if right is not None:
                        tally[bisect(_BANDS, sure) - 1].append(right)
                shares = [f"{100 * sum(one) / max(len(one), 1):.1f} of {len(one)}" for one in tally]
                bands.append([case.name, *shares])
            rows.append([case.name, size, method, *(f"{one:.2f}" for one in result), f"{seconds:.1f}"])
    print("\n".join(aligned(rows, right={3, 4, 5, 6})))
    if bands:
        head = ["confidence from", *map(str, _BANDS)]
        print("\n" + "\n".join(aligned([head, *bands], right={1, 2, 3, 4})))


if __name__ == "__main__":
    main()
