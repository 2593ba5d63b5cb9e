"""A page that shows training runs while they train. It reads metrics.jsonl and training.toml.

tail.py         the new lines of a file that another program writes
series.py       measurements in bounded memory, thinned to their minima and maxima
history.py      one run, read from its lines
watch.py        the runs to watch, and news about them
recipes.py      the options of training.toml
attention.py    attention to the source by checkpoint; needs PyTorch and the checkpoints
app.py          the routes
"""
