"""Text and files: parallel corpora, tokenizers and the embedded corpus. Imports no torch."""
