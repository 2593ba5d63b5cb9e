"""Commands that translate."""
