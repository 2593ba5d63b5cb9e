"""Measure a search with forced phrases: how many it satisfies, its cost, and its effect on chrF.

    python benchmarks/phrases.py --model runs/multi30k --text test.en --reference test.de

The phrases of a sentence are words of five letters or more of its reference, drawn at random, as whole words.
Only sentences with enough such words are translated.

Prints a row for each beam and number of phrases, compared with the same beam without phrases: the phrases
that it contains by chance, its time and its chrF. `rows` is the mean width of the beam with phrases.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sacrebleu.metrics.chrf import CHRF

from dragoman import Translator
from dragoman.base.tables import aligned
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Engine, Hypothesis, Request
from dragoman.translation.search.phrases import missing
from dragoman.translation.search.phrasing import Phrasing
from dragoman.translation.search.requests import beam_rows
from dragoman.translation.search.rules import Phrases

_LETTERS = 5  # of a word that may be a phrase


def drawn(tokenizer: Tokenizer, references: Sequence[str], count: int) -> list[Phrases | None]:
    """Phrases for each sentence; None if its reference has too few words."""
    joining = Phrasing(tokenizer).joining
    draw, rules = random.Random(1), []
    for reference in references:
        words = sorted({word.strip('.,;:!?"') for word in reference.split()})
        words = [word for word in words if len(word) >= _LETTERS and word.isalpha()]
        if len(words) < count:
            rules.append(None)
            continue
        forms = tokenizer.encode_target(draw.sample(words, count))
        rules.append(Phrases(tuple((tuple(form),) for form in forms), joining))
    return rules


def translated(engine: Engine, requests: Sequence[Request]) -> tuple[list[Hypothesis], float]:
    """The best translation of each request, and the seconds that they took."""
    start = time.perf_counter()
    answers = dict(engine.search(requests))
    seconds = time.perf_counter() - start
    return [answers[number][0] for number in range(len(requests))], seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--engine", choices=("native", "pytorch"), default="native")
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--phrases", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--repeats", type=int, default=3, help="the least time counts")
    options = parser.parse_args()

    translator = Translator.load(options.model, engine=options.engine)
    tokenizer, chrf = translator.tokenizer, CHRF()
    lines = options.text.read_text("utf-8").splitlines()[: options.lines]
    references = options.reference.read_text("utf-8").splitlines()[: options.lines]
    sources = tokenizer.encode_source(lines)
    table = [["beam", "phrases", "lines", "met", "before", "rows", "time", "chrF", "before", "longer"]]
    for size in options.beams:
        for count in options.phrases:
            rules = drawn(tokenizer, references, count)
            chosen = [number for number, rule in enumerate(rules) if rule is not None]
            how = replace(translator.generation, size=size)
            free = [Request(source=sources[n], how=how, max_tokens=len(sources[n]) + 50) for n in chosen]
            bound = [replace(one, rules=(rules[n],)) for one, n in zip(free, chosen, strict=True)]
            runs = [
                [translated(translator.engine, requests) for requests in (free, bound)]
                for _ in range(options.repeats)
            ]
            (without, _), (with_phrases, _) = runs[0]
            seconds = [min(run[which][1] for run in runs) for which in (0, 1)]
            shares, scores = [], []
            for found in (with_phrases, without):
                lacking = sum(
                    len(missing(rules[n], one.tokens)) for one, n in zip(found, chosen, strict=True)
                )
                shares.append(f"{1 - lacking / (count * len(chosen)):.1%}")
                texts = [tokenizer.decode(one.tokens) for one in found]
                scores.append(f"{chrf.corpus_score(texts, [[references[n] for n in chosen]]).score:.1f}")
            tokens = [sum(len(one.tokens) for one in found) for found in (with_phrases, without)]
            rows = sum(map(beam_rows, bound)) / len(bound)
            table.append(
                [
                    *map(str, (size, count, len(chosen))),
                    *shares,
                    f"{rows:.1f}",
                    f"x {seconds[1] / seconds[0]:.2f}",
                    *scores,
                    f"{tokens[0] / tokens[1] - 1:+.1%}",
                ]
            )
    print("\n".join(aligned(table)))


if __name__ == "__main__":
    main()
