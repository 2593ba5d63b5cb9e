"""Parts of a request that every engine needs: valid tokens, length limit, random numbers. No torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache

from dragoman.base.errors import ConfigError
from dragoman.models.shapes import ModelConfig
from dragoman.translation.search.engine import Request, Tokens
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.phrases import Tracker
from dragoman.translation.search.rules import Banned, Once, Phrases, Prefix, Rule


def check_ids(side: str, lines: Iterable[Tokens], vocab: int) -> None:
    """Raise ConfigError for an id outside the vocabulary."""
    for line in lines:
        if line and not 0 <= min(line) <= max(line) < vocab:
            bad = next(token for token in line if not 0 <= token < vocab)
            raise ConfigError(
                f"{side} token {bad}, of a vocabulary of {vocab}",
                hint="encode the text with the tokenizer of this model",
            )


def check_tokens(what: str, tokens: Sequence[int], vocab: int) -> None:
    """Raise ConfigError for a token of a rule outside the vocabulary."""
    if tokens and not 0 <= min(tokens) <= max(tokens) < vocab:
        raise ConfigError(
            f"{what}: tokens from {min(tokens)} to {max(tokens)}, of a vocabulary of {vocab}",
            hint="encode the text with the tokenizer of this model",
        )


def never_generated_ids(config: ModelConfig, how: Beam | Sample) -> tuple[int, ...]:
    """The ids that no search generates, sorted: padding, start and `how.banned`, but never the end.

    Raises ConfigError for a banned token outside the vocabulary.
    """
    check_tokens("banned tokens", how.banned, config.target_vocab)
    return tuple(sorted({config.pad_id, config.start_id, *how.banned} - {config.end_id}))


def prefix_of(rules: Iterable[Rule]) -> tuple[int, ...]:
    """The forced prefix, or nothing. Raises ConfigError for two that differ."""
    prefixes = [rule.tokens for rule in rules if isinstance(rule, Prefix) and rule.tokens]
    if len(set(prefixes)) > 1:
        raise ConfigError("two prefixes for one sentence", hint="give each sentence at most one")
    return prefixes[0] if prefixes else ()


def required_of(rules: Iterable[Rule]) -> tuple[int, ...]:
    """The tokens that `Once` requires, sorted."""
    return tuple(sorted({token for rule in rules if isinstance(rule, Once) for token in rule.tokens}))


def check_required(request: Request, config: ModelConfig) -> None:
    """Raise ConfigError for a token of `Once` that is outside the vocabulary or may not be generated."""
    required = required_of(request.rules)
    if not required:
        return
    check_tokens("tokens that appear once", required, config.target_vocab)
    if clash := sorted(_forbidden(request, config).intersection(required)):
        raise ConfigError(
            f"token {clash[0]} must appear once and may not be generated",
            hint="it is banned, or padding, start or end: leave it out of one rule",
        )


def _forbidden(request: Request, config: ModelConfig) -> set[int]:
    banned = {token for rule in request.rules if isinstance(rule, Banned) for token in rule.tokens}
    return banned | {config.end_id, *never_generated_ids(config, request.how)}


def phrases_of(rules: Iterable[Rule]) -> Phrases | None:
    """The rule for phrases, or None if there are no phrases. Raises ConfigError for two."""
    found = [rule for rule in rules if isinstance(rule, Phrases) and rule.phrases]
    if len(found) > 1:
        raise ConfigError("two rules for phrases for one sentence", hint="put all phrases into one rule")
    return found[0] if found else None


def tokens_of(rule: Phrases | None) -> tuple[int, ...]:
    """The tokens of all phrases, sorted."""
    forms = (form for forms in rule.phrases for form in forms) if rule else ()
    return tuple(sorted({token for form in forms for token in form}))


def tracker_of(rules: Sequence[Rule]) -> Tracker | None:
    """The tracker of the phrases of a translation and the tokens of `Once`; None without phrases."""
    rule = phrases_of(rules)
    return Tracker(rule, required_of(rules)) if rule else None


def trackers_of(rules_B: Sequence[Sequence[Rule]]) -> list[Tracker] | None:
    """A tracker for each sentence of a batch, or None if no sentence has phrases."""
    trackers_B = [tracker_of(rules) for rules in rules_B]
    return [tracker or Tracker(None) for tracker in trackers_B] if any(trackers_B) else None


def beam_rows(request: Request) -> int:
    """Rows that a sentence takes in a batch."""
    tracker = tracker_of(request.rules)
    return request.how.rows if tracker is None else tracker.rows(request.how.rows)


def check_phrases(request: Request, config: ModelConfig) -> None:
    """Raise ConfigError for phrases that cannot be generated, or not by this search."""
    rule = phrases_of(request.rules)
    if rule is None:
        return
    if isinstance(request.how, Sample):
        raise ConfigError(
            "phrases cannot be used with sampling", hint="use a beam search, or leave out the phrases"
        )
    tokens = tokens_of(rule)
    check_tokens("tokens of phrases", tokens, config.target_vocab)
    _check_joining(rule.joining, config.target_vocab)
    never = _forbidden(request, config).union(required_of(request.rules))
    if clash := sorted(never.intersection(tokens)):
        raise ConfigError(
            f"a phrase needs token {clash[0]}, which another rule forbids",
            hint="the token is banned, reserved, or must appear exactly once: change the phrase or the other "
            "rule",
        )


@lru_cache(maxsize=16)  # half a vocabulary, the same for every sentence
def _check_joining(joining: frozenset[int], vocab: int) -> None:
    check_tokens("tokens that continue a word", sorted(joining), vocab)


def limit_of(request: Request) -> int:
    """The length limit of a translation in tokens.

    It is raised to hold the prefix and the tokens that `Once` and `Phrases` require.
    Raises ConfigError if it is negative.
    """
    prefix, required = prefix_of(request.rules), required_of(request.rules)
    least = len(prefix) + len(set(required).difference(prefix))
    if (tracker := tracker_of(request.rules)) is not None:
        least = len(prefix) + tracker.after(prefix).needed
    limit = max(request.max_tokens, least) if least else request.max_tokens
    if limit < 0:
        raise ConfigError(f"a limit of {limit} tokens", hint="use at least 0")
    return limit


def draw_key(source: Tokens) -> int:
    """Return a number that identifies a sentence, the same in every process and engine."""
    text = ",".join(map(str, source)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
