"""Markdown: blocks, inline marks, and the text that wraps."""
