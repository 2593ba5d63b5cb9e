"""Tokenizers: subwords, words, and imported ones."""
