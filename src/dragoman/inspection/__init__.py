"""Look into a model at work. `inspect` returns a `Trace`, which shows itself as text or a page.

inspect.py       reads the model through hooks and its own functions
weights.py       attention weights, and the alignment of words from them
terms.py         splits attention logits into terms of content and position
positions.py     tables of positional encodings, with or without a model
intervention.py  changes to a run; intervening.py: applies them to a model and a search
contrast.py      a run with an intervention compared with the untouched one
record.py        the data of a Trace and its JSON; arrays.py: arrays in JSON
trace.py         the Trace with its displays
report.py        one HTML page, built from the files in `page/`
pictures.py      SVG and PNG; plain.py: text
"""

from __future__ import annotations

from dragoman.inspection.contrast import Contrast, contrast
from dragoman.inspection.inspect import inspect
from dragoman.inspection.intervention import Head, Intervention, TokenAt
from dragoman.inspection.trace import Trace

__all__ = ["Contrast", "Head", "Intervention", "TokenAt", "Trace", "contrast", "inspect"]
