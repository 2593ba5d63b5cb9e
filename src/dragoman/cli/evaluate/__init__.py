"""Commands that score, judge and choose translations."""
