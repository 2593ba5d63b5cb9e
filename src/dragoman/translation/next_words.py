"""The likely next words of a translation that has begun."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp

from dragoman.base.errors import ConfigError
from dragoman.text.blank import is_blank
from dragoman.text.spans import words_of
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Engine, Hypothesis, Request
from dragoman.translation.search.options import Beam
from dragoman.translation.search.rules import Banned, MinimumLength, Once, Phrases, Prefix, Rule

WIDTH = 16  # next tokens to try: two of them may spell the same word, or none
_LONGEST = 8  # tokens of a word


@dataclass(frozen=True)
class NextWord:
    """A word that may follow the beginning of a translation."""

    text: str  # the word, without spaces around it
    prefix: str  # the translation so far with this word
    probability: float  # of the tokens of the word, given those before it: 0 to 1


def next_words(
    tokenizer: Tokenizer, engine: Engine, request: Request, prefix: str, *, most: int
) -> list[NextWord]:
    """Return the likeliest next words, the best first. `request` forces the tokens of `prefix`.

    The best next tokens come from one step of a beam search, so all are different; the translations of an
    n-best list often share their next word. Greedy search then completes each token to a word. If `prefix`
    ends with a space, a new word begins; otherwise the last word may continue. The end of the translation is
    not among them.
    """
    if not 1 <= most <= WIDTH:
        raise ConfigError(f"{most} next words cannot be listed", hint=f"ask for 1 to {WIDTH}")
    if not request.source:
        return []
    begun = next((rule.tokens for rule in request.rules if isinstance(rule, Prefix)), ())
    how = request.how if isinstance(request.how, Beam) else Beam()
    how = replace(how, size=WIDTH, n_best=WIDTH, length_penalty=0.0, stop="full")
    rules = tuple(_rules_of_next_word(request.rules, begun))
    first = replace(
        request,
        how=how,
        # Without the end there are as many translations as rows, and none is cut from the list.
        rules=(*_after(begun, rules), MinimumLength(len(begun) + 1)),
        max_tokens=len(begun) + 1,
        attention=None,
    )
    ((_, heads),) = engine.search([first])
    starts = [one.tokens for one in heads if len(one.tokens) > len(begun)]
    completions = (
        replace(
            first,
            how=replace(how, size=1, n_best=1),
            rules=_after(tokens, rules),
            max_tokens=len(tokens) + _LONGEST,
        )
        for tokens in starts
    )
    found: dict[str, NextWord] = {}
    for _, (whole,) in engine.search(completions):
        word = _first_word(tokenizer, whole, len(begun), prefix)
        if word is not None and word.probability > getattr(found.get(word.text), "probability", -1.0):
            found[word.text] = word
    return sorted(found.values(), key=lambda one: -one.probability)[:most]


def _rules_of_next_word(rules: Iterable[Rule], begun: Sequence[int]) -> Iterator[Rule]:
    """The rules that hold for the next word, without the rules for a whole translation.

    Phrases and placeholders that are missing would come first, whatever follows the prefix.
    """
    for rule in rules:
        if isinstance(rule, Once):
            yield Banned(tuple(token for token in rule.tokens if token in begun))
        elif not isinstance(rule, Prefix | Phrases):
            yield rule


def _after(tokens: Sequence[int], rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return (Prefix(tuple(tokens)), *rules) if tokens else rules


def _first_word(tokenizer: Tokenizer, whole: Hypothesis, begun: int, prefix: str) -> NextWord | None:
    """The word that begins with the token behind the first `begun` ones, if it may follow the prefix."""
    text = tokenizer.decode(whole.tokens).replace("\r", " ").replace("\n", " ")
    spans = tokenizer.target_spans(whole.tokens)
    words = words_of(spans, text)
    # A token may be a space alone. Then the word begins with the next one.
    start = next((place for place in range(begun, len(spans)) if spans[place][0] < spans[place][1]), None)
    if start is None:
        return None
    end = start + 1
    while end < len(words) and words[end] == words[start]:
        end += 1
    if whole.truncated and end == len(words):
        return None  # too long to be a word
    head, word = text[: spans[start][0]], text[spans[start][0] : spans[end - 1][1]]
    if not head and not is_blank(prefix):
        return None
    if prefix[-1:].isspace() and not head[-1:].isspace():
        return None
    return NextWord(word, head + word, exp(sum(whole.token_logp[begun:end])))
