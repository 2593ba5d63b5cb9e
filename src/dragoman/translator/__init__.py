"""The public API of a trained model: text in, text out. Imports no torch; the PyTorch engine does.

translator = Translator.load("runs/en-de")
translator("A man rides a bike.")
translator.translate(lines, beam=5, n_best=3)
translator.inspect("A man rides a bike.")

A translator is a tokenizer and an engine. Start with `translator.py`; a line goes through `lines.py`,
`exchange.py` and `translation.py`.
"""

from __future__ import annotations

from dragoman.translator.translation import Translation
from dragoman.translator.translator import Translator

__all__ = ["Translation", "Translator"]
