"""Measure the effect of terms on translations of held-out text: none, soft and hard.

    python benchmarks/terms.py MODEL test.en test.de --lexicon train.en train.de

The terms of a line are words and phrases that word alignment links with their translations in the reference
(`text/lexicon/term_pairs.py`), at most three. The alignment is learnt from the lexicon and the text. A system
gets the most frequent form of each translation, as in a dictionary, not the form in the reference. `--count`
lines with terms are translated.

Prints for each mode the share of terms whose form in the reference is in the translation, the share that is
there in any form, chrF, and the seconds. `soft` needs a model that was trained with data.terms.

    python benchmarks/terms.py MODEL test.en test.de --list benchmarks/terms.csv --count 500

With a list, the lines are the first that have one of its terms. It has a third column: the usual translation
of the term, then other forms of it, separated by |. Prints for each mode: `used`, the share of terms that the
translation has, each as often as the source; `in place`, the share in lines that have a term exactly as
often, before the last mark that ends a sentence, and no form of its usual translation, although another word
of the source may have it, too; chrF; chrF with the usual translations put back, as references have only
these, so that the terms themselves cost nothing; and seconds of processor time.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from random import Random

from dragoman import Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.metrics import score_corpus
from dragoman.text.corpora.lines import read_lines
from dragoman.text.guidance import Guidance, Note, SourcePhrase
from dragoman.text.lexicon.term_pairs import TermPair, TermPairs
from dragoman.translation.terms.terms import Term, TermList, places_of, unused_terms

Pair = tuple[str, str]
_MOST = 3  # terms of a line


@dataclass(frozen=True)
class Sample:
    """A line, its reference and its terms."""

    source: str
    reference: str
    terms: tuple[TermPair, ...]

    @property
    def forms(self) -> list[str]:
        """What the reference has for each term."""
        return [self.reference[one.target_start : one.target_end] for one in self.terms]


class Given:
    """The terms of each sample as guidance: notes, phrases, or both if a model reads notes."""

    def __init__(self, samples: Sequence[Sample], way: str, *, reads: bool) -> None:
        self._samples, self._way, self._reads = {sample.source: sample for sample in samples}, way, reads

    def guide(self, lines: Sequence[str]) -> list[Guidance | None]:
        return [self._of(self._samples[line].terms) for line in lines]

    def _of(self, terms: Sequence[TermPair]) -> Guidance:
        notes = tuple(Note(one.start, one.end, one.form) for one in terms) if self._reads else ()
        if self._way == "soft":
            return Guidance(notes=notes)
        return Guidance(
            notes=notes, phrases=tuple(SourcePhrase(one.start, one.end, (one.form,)) for one in terms)
        )


def samples_of(pairs: Sequence[Pair], lexicon: Sequence[Pair], language: str, count: int) -> list[Sample]:
    """Return `count` different lines with terms, drawn at random, or all if there are fewer."""
    learnt = TermPairs.learn(lambda: chain(lexicon, pairs), target_language=language)
    random, samples = Random(1), dict[str, Sample]()
    for source, reference in pairs:
        if terms := learnt.of(source, reference):
            chosen = sorted(random.sample(terms, min(len(terms), _MOST)))
            samples.setdefault(source, Sample(source, reference, tuple(chosen)))
    found = [*samples.values()]
    return random.sample(found, min(count, len(found)))


def row(translator: Translator, samples: Sequence[Sample], way: str) -> list[str]:
    """Translate in one way, and return a row of the table."""
    using = copy(translator)
    using.guides = () if way == "none" else (Given(samples, way, reads="terms" in translator.reads),)
    began = time.perf_counter()
    texts = [one.text for one in using.translate([sample.source for sample in samples])]
    seconds = time.perf_counter() - began
    exact = any_form = total = 0
    for sample, text in zip(samples, texts, strict=True):
        for term, form in zip(sample.terms, sample.forms, strict=True):
            total += 1
            exact += form.lower() in text.lower()
            any_form += not unused_terms(text, [(form, term.form)], translator.target_language)
    references = [sample.reference for sample in samples]
    chrf = score_corpus(texts, references, metrics=["chrf"], bootstrap=0).chrf
    return [way, f"{exact / total:.1%}", f"{any_form / total:.1%}", f"{chrf.value:.1f}", f"{seconds:.1f}"]


def rows_of_list(translator: Translator, path: str, pairs: Sequence[Pair], count: int) -> list[list[str]]:
    """Translate the first lines that have terms of a list, and return the rows of the table."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = [*csv.reader(file)][1:]
    usual = {target: forms.split("|") for _, target, forms in lines}
    languages = translator.source_language, translator.target_language
    terms = TermList([Term(source, (target,)) for source, target, _ in lines], *languages)
    pairs = [pair for pair in pairs if terms.find(pair[0])][:count]
    rows = []
    for way in ["none", *(["soft"] if "terms" in translator.reads else []), "hard"]:
        using = translator if way == "none" else translator.using(terms=terms, terms_mode=way)
        began = time.process_time()
        texts = [one.text for one in using.translate([source for source, _ in pairs])]
        seconds = time.process_time() - began
        used = placed = total = 0
        for (source, _), text in zip(pairs, texts, strict=True):
            body = len(re.split(r"[.!?\u2026][\"\u201c\u201d]?(?=\s|$)(?!.*[.!?\u2026])", text)[0])
            for target, times in Counter(one.term.targets[0] for one in terms.find(source)).items():
                places = places_of(text, [target], languages[1])
                own = any(re.search(rf"(?<![\w-]){form}(?![\w-])", text) for form in usual[target])
                total += times
                used += min(len(places), times)
                placed += times * (len(places) == times and places[-1][1] <= body and not own)
        back = texts
        for target, forms in usual.items():
            back = [re.sub(rf"(?<!\w){target}(?!\w)", forms[0], text) for text in back]
        references = [reference for _, reference in pairs]
        scores = (
            score_corpus(each, references, metrics=["chrf"], bootstrap=0).chrf for each in (texts, back)
        )
        chrf = [f"{one.value:.1f}" for one in scores]
        rows.append([way, f"{used / total:.1%}", f"{placed / total:.1%}", *chrf, f"{seconds:.1f}"])
    print(f"{len(pairs):,} lines, {total:,} terms")
    return rows


def read_pairs(source: str, target: str) -> Iterator[Pair]:
    pairs = zip(read_lines(source), read_lines(target), strict=True)
    return ((one.strip(), other.strip()) for one, other in pairs if one.strip() and other.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("reference")
    parser.add_argument(
        "--lexicon", nargs=2, metavar=("SOURCE", "TARGET"), help="more text to align words by"
    )
    parser.add_argument("--count", type=int, default=300, help="lines to translate")
    parser.add_argument("--list", metavar="FILE", help="terms with their usual translations")
    given = parser.parse_args()
    translator = Translator.load(given.model)
    if given.list:
        pairs = [*read_pairs(given.source, given.reference)]
        head = ["terms", "used", "in place", "chrF", "chrF put back", "seconds"]
        print(
            "\n".join(
                aligned([head, *rows_of_list(translator, given.list, pairs, given.count)], right=range(1, 6))
            )
        )
        return
    lexicon = [*read_pairs(*given.lexicon)] if given.lexicon else []
    samples = samples_of(
        [*read_pairs(given.source, given.reference)], lexicon, translator.target_language, given.count
    )
    if not samples:
        raise SystemExit("no terms found: name more text with --lexicon")
    ways = ["none", *(["soft"] if "terms" in translator.reads else []), "hard"]
    rows = [row(translator, samples, way) for way in ways]
    print(f"{len(samples):,} lines, {sum(len(one.terms) for one in samples):,} terms")
    head = ["terms", "form of the reference", "any form", "chrF", "seconds"]
    print("\n".join(aligned([head, *rows], right=range(1, 5))))


if __name__ == "__main__":
    main()
