"""What a model does with one sentence. `inspect` returns a `Trace`, which shows itself as text or a page.

inspect.py      reads the model through hooks and its own functions
beam.py         records the tree of a beam search
terms.py        splits attention logits into terms of content and position
positions.py    tables of positional encodings, with or without a model
record.py       the data of a Trace and its JSON; arrays.py: arrays in JSON
trace.py        the Trace with its displays
report.py       one HTML page, built from the files in `page/`
pictures.py     SVG and PNG; plain.py: text; views.py: the choice of attention to show
"""

from __future__ import annotations

from dragoman.inspection.inspect import inspect
from dragoman.inspection.trace import Trace

__all__ = ["Trace", "inspect"]
