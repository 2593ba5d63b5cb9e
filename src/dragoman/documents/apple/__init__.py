"""Strings of Apple's platforms."""
