"""Commands that serve pages and requests."""
