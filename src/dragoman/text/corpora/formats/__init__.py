"""Formats of parallel text, one file each. Each reads `TextFile`s and yields `Line`s as a stream."""
