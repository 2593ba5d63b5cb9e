"""Commands that train models, and related ones."""
