"""Translations of words: lexicon, word links, stems, shortlists."""
