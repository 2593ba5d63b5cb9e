"""The embedded English-German corpus, made by a grammar."""

from dragoman.text.toy.corpus import DEMO_SENTENCES, Splits, pairs, sentences, splits

__all__ = ["DEMO_SENTENCES", "Splits", "pairs", "sentences", "splits"]
