"""Plain text, Markdown and HTML."""
