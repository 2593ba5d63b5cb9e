"""Measure the effect of terms on translations of held-out text: none, soft and hard.

    python benchmarks/terms.py MODEL test.en test.de --lexicon train.en train.de

The terms of a line are words and phrases that word alignment links with their translations in the reference
(`text/lexicon/term_pairs.py`), at most three. The alignment is learnt from the lexicon and the text. A system
gets the most frequent form of each translation, as in a dictionary, not the form in the reference. `--count`
lines with terms are translated.

Prints for each mode the share of terms whose form in the reference is in the translation, the share that is
there in any form, chrF, and the seconds. `soft` needs a model that was trained with data.terms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from random import Random

from dragoman import Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.metrics import score_corpus
from dragoman.text.corpora.lines import read_lines
from dragoman.text.guidance import Guidance, Note
from dragoman.text.lexicon.term_pairs import TermPair, TermPairs
from dragoman.translation.terms.terms import unused_terms

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
        forms = dict.fromkeys(one.form for one in terms)
        return Guidance(notes=notes, phrases=tuple((form, form[:1].upper() + form[1:]) for form in forms))


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
    given = parser.parse_args()
    translator = Translator.load(given.model)
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
