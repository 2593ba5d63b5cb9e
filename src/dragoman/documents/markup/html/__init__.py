"""HTML: tokens, elements and the runs of text between them."""
