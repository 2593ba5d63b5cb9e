"""Text and files: parallel corpora, tokenizers, word vectors and the embedded corpus. Imports no torch."""
