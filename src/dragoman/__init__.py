"""Train the Transformer on your own parallel text, translate with it, and see how it works."""

__version__ = "0.1.0"
