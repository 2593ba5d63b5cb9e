"""Tuning a model on a translation memory without forgetting the rest."""
