"""Whole training runs, from raw text to a model folder."""
