"""The models of Firefox Translations, in and out: 8-bit weights of Marian's, their shortlist and vocabulary.

fxtranslate, bergamot, translateLocally and Firefox load them. Marian's `files.py` lists the files.
"""

from dragoman.interop.firefox.program import Fxtranslate as Program
from dragoman.interop.firefox.program import verify
from dragoman.interop.firefox.reading import save
from dragoman.interop.firefox.writing import notes, unsupported, write
from dragoman.interop.marian.reading import read

__all__ = ["Program", "notes", "read", "save", "unsupported", "verify", "write"]
