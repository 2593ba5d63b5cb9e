"""Strings and files: parallel text, how it is cut into tokens, and the embedded corpus. Knows no tensors."""
