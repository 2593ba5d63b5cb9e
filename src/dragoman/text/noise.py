"""Noise for synthetic sources: words are left out, blanked and moved, as a function of a key."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

from dragoman.text.scripts import UNSPACED, is_unspaced

DROPPED, BLANKED = 0.1, 0.1  # shares of the words
FARTHEST = 3  # places that a word moves at most
BLANK = "␣"  # U+2423, open box: one character, one token where it is frequent, and rare in real text
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


def noised(
    text: str, key: str, *, dropped: float = DROPPED, blanked: float = BLANKED, farthest: int = FARTHEST
) -> str:
    """Return the text with noise: the same for the same key.

    Each word is left out with probability `dropped`; each that stays becomes `BLANK` with probability
    `blanked`; then the words are shuffled so that none moves by more than `farthest` places. One word always
    stays. In scripts without spaces between words, each character counts as a word. Edunov et al. 2018,
    section 3; the shuffle is from Lample et al. 2018, section 2.3.
    """
    random = Random(key)
    words = _WORD.findall(text)
    kept = [word for word in words if random.random() >= dropped] or words[:1]
    glued = [is_unspaced(word) for word in kept]
    kept = [BLANK if random.random() < blanked else word for word in kept]
    # A word passes another only if it stands less than farthest + 1 places behind it.
    places = [place + random.random() * (farthest + 1) for place in range(len(kept))]
    order = sorted(range(len(kept)), key=places.__getitem__)
    spaces = ["", *("" if glued[one] or glued[two] else " " for one, two in pairwise(order))]
    return "".join(space + kept[place] for space, place in zip(spaces, order, strict=False))
