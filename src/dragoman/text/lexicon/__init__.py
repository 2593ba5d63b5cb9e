"""Which words translate which: lexicon, word links, stems, shortlists."""
