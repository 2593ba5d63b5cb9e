"""Measuring the quality of translations."""
