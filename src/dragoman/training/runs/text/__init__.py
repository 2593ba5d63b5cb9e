"""The text of a run: opened, translated by teachers, tokenised."""
