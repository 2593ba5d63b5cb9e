"""A SentencePiece model whose pieces are numbered by a vocabulary of its own: tokenizers of other programs.

Marian and Hugging Face's Marian models cut text with SentencePiece and look the pieces up in a list. A
piece that is not in the list is unknown. The list may have tokens that no text is cut into, such as the
target language `>>fra<<` at the beginning of a source.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count, takewhile

from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.marks import marks_among, split_marks
from dragoman.text.tokenizers.reserved import piece
from dragoman.text.tokenizers.subwords import Subwords


class Mapped:
    """Pieces of SentencePiece and their ids: `pieces[i]` is the piece of id i.

    Pad, start, end and unknown have no text.
    """

    spare = ()  # ids that never occur in text

    def __init__(self, model: bytes, pieces: Sequence[str], specials: Specials) -> None:
        """Raise ValueError if `model` is not a SentencePiece model, or a piece is listed twice."""
        self.subwords = Subwords(model)
        self._pieces = list(pieces)
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        if len(self._ids) != len(self._pieces):
            twice = next(piece for i, piece in enumerate(self._pieces) if self._ids[piece] != i)
            raise ValueError(f"the piece {twice!r} is listed twice")
        if max(specials.ids) >= len(self._pieces):
            raise ValueError("a special id is not in the vocabulary")
        self._specials = specials
        reserved = takewhile(self._ids.__contains__, map(piece, count(1)))  # of an exported model of ours
        self.reserved = tuple(self._ids[one] for one in reserved)
        self.marks = marks_among(enumerate(self._pieces))
        others = (i for i, piece in enumerate(pieces) if piece == "<mask>" or piece.startswith("<no piece "))
        self._silent = frozenset((*specials.ids, *others))

    @classmethod
    def from_files(cls, files: dict[str, bytes], specials: Specials) -> Mapped:
        """Return the vocabulary that `to_files` wrote. Raise ValueError for anything else."""
        pieces = json.loads(files[".vocab.json"])
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            raise ValueError("not a list of pieces")
        return cls(files[".spm"], pieces, specials)

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end. Raise DataError for half a surrogate pair.

        Marks of languages that begin a line are a token each, if the vocabulary has them.
        """
        split = [split_marks(line, self.marks) for line in lines]
        cut = self.subwords.cut([text for *_, text in split])
        unknown = self._specials.unknown
        return [
            marks + [self._ids.get(piece, unknown) for piece in pieces]
            for (marks, *_), pieces in zip(split, cut, strict=True)
        ]

    def __contains__(self, piece: str) -> bool:
        return piece in self._ids

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, or of the unknown one."""
        return self._ids.get(piece, self._specials.unknown)

    def sample(self, lines: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """Encode. Random cuts are not offered here, so nothing is random."""
        return self.encode(lines)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of the ids. Pad, start, end, unknown, mask and ids without a piece have none."""
        text = self.subwords.join([self._pieces[i] for i in ids if i not in self._silent])
        return text.replace("▁", " ").strip()  # a joint vocabulary has pieces that this side's model lacks

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id; ▁ is a space."""
        return [self._pieces[i] for i in ids]

    def surfaces(self, line: str) -> list[str]:
        """Return the part of the line that each token stands for; joined they are the line."""
        _, marks, text = split_marks(line, self.marks)
        return marks + self.subwords.parts(text)

    def to_files(self) -> dict[str, bytes]:
        """Return the SentencePiece model and the list of pieces, by the suffix of their files."""
        pieces = json.dumps(self._pieces, ensure_ascii=False, indent=0).encode()
        return {".spm": self.subwords.to_bytes(), ".vocab.json": pieces}
