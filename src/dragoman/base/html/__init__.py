"""HTML files that need no network."""
