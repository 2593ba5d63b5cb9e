"""Which translations need a correction, as far as a reference tells.

A translation counts as one that needs a correction if it takes more than half as many edits to turn it into
the reference as the reference has words: TER above 50 (Snover et al. 2006), in lower case. This is a
stand-in for the judgement of a person. Another good translation may share few words with the reference and
counts as needing a correction; a small but grave error, such as a lost "not", does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.evaluation.measures import line_ter

EDITS = 50.0  # TER above which a translation needs a correction


def needs_correction(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str | None = None
) -> list[bool]:
    """Return for each translation whether its TER against the reference is above 50."""
    return [ter > EDITS for ter in line_ter(hypotheses, references, target_language)]
