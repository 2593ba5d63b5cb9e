"""Measure how well a model estimates the risk of its translations.

    python benchmarks/risk.py MODEL SOURCE REFERENCE [--lines N] [--greedy]

The text must not be the training text. Every second line fits the probabilities and thresholds; the figures
are measured on the other lines. Errors are planted in the model's own translations and in the references: an
omitted phrase, a phrase added from another line, a wrong number.

Prints the expected calibration error, a table for each detector, and the same for the mean log-probability of
the tokens alone, with its own threshold chosen in the same way. The last table is the cost: the time of a
translation with and without the risk, the minimum of three turns each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from dragoman import Decoding, Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.risk.calibrate import Example, examples_of, fit_risk, measure_risk, threshold
from dragoman.translation.search.risk import DETECTED

_TURNS = 3
_TIMED = 500  # lines


def by_likelihood(fitted: Sequence[Example], measured: Sequence[Example]) -> list[list[str]]:
    """Return a row for each kind of error: found, and false alarms, by the mean log-probability alone."""
    limit = threshold([-one.evidence.figures["logp mean"] for one in fitted if one.error is None])

    def share(error: str | None) -> str:
        flagged = [-one.evidence.figures["logp mean"] > limit for one in measured if one.error == error]
        return f"{sum(flagged) / max(len(flagged), 1):.1%}"

    return [[kind, share(kind), share(None)] for kind in DETECTED]


def seconds(translator: Translator, lines: list[str], decoding: Decoding) -> float:
    """Return the time of translating the lines."""
    began = time.perf_counter()
    translator.translate(lines, decoding)
    return time.perf_counter() - began


def cost(translator: Translator, lines: list[str]) -> list[list[str]]:
    """Return a row for each search: seconds without the risk, with it, and their ratio."""
    rows = []
    for name, beam in (("greedy", 1), ("beam 4", 4)):
        plain, risky = (
            min(seconds(translator, lines, Decoding(beam=beam, risk=risk)) for _ in range(_TURNS))
            for risk in (False, True)
        )
        rows.append([name, f"{plain:.2f}", f"{risky:.2f}", f"{risky / plain:.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--lines", type=int, default=2000, help="lines at most, spread over the text")
    parser.add_argument("--greedy", action="store_true", help="translate greedily")
    options = parser.parse_args()
    translator = Translator.load(options.model)
    sources, references = (
        path.read_text(encoding="utf-8").splitlines() for path in (options.source, options.reference)
    )
    decoding = Decoding(beam=1 if options.greedy else None)
    examples = examples_of(
        translator, zip(sources, references, strict=True), decoding, most=options.lines, progress=print
    )
    fitted, measured = examples.half(0), examples.half(1)
    print(f"\n{measure_risk(fit_risk(fitted), measured).to_text()}")
    for name, one, other in (
        ("translations", fitted.searched, measured.searched),
        ("references", fitted.given, measured.given),
    ):
        print()
        head = [f"mean log-probability alone, {name}", "found", "false alarms"]
        print("\n".join(aligned([head, *by_likelihood(one, other)], right=(1, 2))))
    rows = cost(translator, sources[:_TIMED])
    print()
    print("\n".join(aligned([["seconds", "without", "with risk", "ratio"], *rows], right=(1, 2, 3))))


if __name__ == "__main__":
    main()
