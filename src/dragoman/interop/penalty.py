"""Length penalties in programs that only divide by a power of the length."""

from __future__ import annotations

from dragoman.translation.search.options import Beam

TYPICAL = 25  # tokens: where the length penalty of an exported model grows like ours


def power_of(beam: Beam) -> float:
    """Return the exponent p for which length^p grows like our length penalty at `TYPICAL` tokens.

    The logarithm of ((5 + n) / 6)^a grows by a n / (5 + n) with that of n.
    """
    if beam.normalization == "power":
        return beam.length_penalty
    return round(beam.length_penalty * TYPICAL / (5 + TYPICAL), 4)


def note_of_power(beam: Beam, program: str) -> list[str]:
    """Return a note about a penalty that becomes a power; empty if it is one already."""
    if beam.normalization == "power" or not beam.length_penalty:
        return []
    return [
        f"{program} has no gnmt length penalty. {beam.length_penalty:g} becomes a power of "
        f"{power_of(beam):g}, which grows alike at about {TYPICAL} tokens."
    ]
