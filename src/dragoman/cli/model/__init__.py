"""Commands for model folders, models of other programs, and translation memories."""
