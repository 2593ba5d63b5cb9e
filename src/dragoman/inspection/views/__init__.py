"""What shows a trace: a page, pictures, plain text."""
