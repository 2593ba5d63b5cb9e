"""Views of a trace: a page, pictures, plain text."""
