"""Parallel text in files: formats, compression, shards, filters."""
