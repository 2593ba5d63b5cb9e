"""Word and OpenDocument."""
