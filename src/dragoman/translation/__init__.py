"""Translation without PyTorch: search options, the native engine, the model folder, memories, terms.

Start with `translator.py`; a line goes through `lines.py`, `exchange.py` and `translation.py`. Nothing in
this folder imports torch when it is loaded.
"""
