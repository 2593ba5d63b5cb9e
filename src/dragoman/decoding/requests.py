"""What every engine needs of a request: valid tokens, its length limit, and its random numbers. No torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from dragoman.base.errors import ConfigError
from dragoman.decoding.engine import Request, Tokens
from dragoman.decoding.options import Beam, Sample
from dragoman.decoding.rules import Banned, Once, Prefix, Rule
from dragoman.models.shapes import ModelConfig


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


def prefix_of(request: Request) -> tuple[int, ...]:
    """The forced prefix of a request, or nothing. Raises ConfigError for two."""
    prefixes = [rule.tokens for rule in request.rules if isinstance(rule, Prefix) and rule.tokens]
    if len(set(prefixes)) > 1:
        raise ConfigError("two prefixes for one sentence", hint="give each sentence at most one")
    return prefixes[0] if prefixes else ()


def required_of(rules: Iterable[Rule]) -> tuple[int, ...]:
    """The tokens that `Once` asks for, sorted."""
    return tuple(sorted({token for rule in rules if isinstance(rule, Once) for token in rule.tokens}))


def check_required(request: Request, config: ModelConfig) -> None:
    """Raise ConfigError for a token of `Once` that is outside the vocabulary or may not be generated."""
    required = required_of(request.rules)
    if not required:
        return
    check_tokens("tokens that appear once", required, config.target_vocab)
    never = {config.end_id, *never_generated_ids(config, request.how)}
    never |= {token for rule in request.rules if isinstance(rule, Banned) for token in rule.tokens}
    if clash := sorted(never.intersection(required)):
        raise ConfigError(
            f"token {clash[0]} must appear once and may not be generated",
            hint="it is banned, or padding, start or end: leave it out of one rule",
        )


def limit_of(request: Request) -> int:
    """The length limit of a translation in tokens. It is raised to hold the prefix and what `Once` asks for.

    Raises ConfigError if it is negative.
    """
    prefix, required = prefix_of(request), required_of(request.rules)
    least = len(prefix) + len(set(required).difference(prefix))
    limit = max(request.max_tokens, least) if least else request.max_tokens
    if limit < 0:
        raise ConfigError(f"a limit of {limit} tokens", hint="use at least 0")
    return limit


def draw_key(source: Tokens) -> int:
    """Return a number that identifies a sentence, the same in every process and engine."""
    text = ",".join(map(str, source)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
