"""Special ids: data of each tokenizer, and the ones that our own vocabularies begin with."""

from __future__ import annotations

from dataclasses import dataclass

PAD, START, END, UNKNOWN = range(4)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


@dataclass(frozen=True, kw_only=True)
class Specials:
    """The ids that a tokenizer uses for padding, start, end and unknown tokens; by default, our own.

    Several may be the same: Marian starts with padding, fairseq with the end.
    """

    pad: int = PAD
    start: int = START
    end: int = END
    unknown: int = UNKNOWN

    @property
    def ids(self) -> frozenset[int]:
        """All special ids."""
        return frozenset((self.pad, self.start, self.end, self.unknown))


OURS = Specials()
