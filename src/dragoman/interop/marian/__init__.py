"""Marian's own models, in and out: model.npz with its options inside, vocabularies, decoder.yml."""

from dragoman.interop.marian.program import Marian as Program
from dragoman.interop.marian.program import verify
from dragoman.interop.marian.reading import read
from dragoman.interop.marian.writing import notes, unsupported, write

__all__ = ["Program", "notes", "read", "unsupported", "verify", "write"]
