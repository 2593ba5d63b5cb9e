"""Formats of parallel text that need a reader of their own. It yields `Line`s as a stream."""
