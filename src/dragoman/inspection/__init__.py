"""What a model does with one sentence, to look at: `inspect` makes a `Trace`, which shows itself.

inspect.py      reads the model through hooks and its own functions
beam.py         the tree of a beam search
terms.py        attention logits, split into content and position
positions.py    what the model knows of positions; the laboratory without a model
record.py       what a Trace holds, and how it is written; arrays.py: its numbers
trace.py        the Trace, which shows itself
report.py       one HTML page, of the files in `page/`
pictures.py     SVG and PNG; plain.py: text; views.py: which attention they show
"""

from __future__ import annotations

from dragoman.inspection.inspect import inspect
from dragoman.inspection.trace import Trace

__all__ = ["Trace", "inspect"]
