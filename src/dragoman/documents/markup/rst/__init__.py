"""reStructuredText: blocks, inline markup, tables."""
