"""Checks of a translation that need its two texts alone: no model, no document. Imports no torch."""
