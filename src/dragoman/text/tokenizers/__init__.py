"""Tokenizers: subwords, words, and those of other programs."""
