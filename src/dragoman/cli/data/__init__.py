"""`dragoman data`: look at parallel text, clean it, divide it, and find pairs in documents."""
