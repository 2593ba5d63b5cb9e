"""Runs compared: with several seeds, and of several recipes."""
