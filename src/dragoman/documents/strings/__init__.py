"""Catalogues of strings with keys, and ICU messages."""
