"""XLIFF and TMX."""
