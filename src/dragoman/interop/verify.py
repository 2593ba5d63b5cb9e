"""Compare a model with the same model in another program: tokens, translations and scores.

Both get the same lines. The tokens of each line must be equal, greedy translations must be equal, and so
must the log-probability of each translation. Where a greedy translation differs because two tokens are
equally likely up to rounding, it is a tie: counted and shown, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dragoman.base.errors import DragomanError
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import PyTorchEngine
from dragoman.text.toy.corpus import pairs
from dragoman.translation.lines import Addressed, Directions
from dragoman.translation.search.engine import Hypothesis, Request, Tokens
from dragoman.translation.search.rules import Prefix

TOO_LONG = "is a line too long? leave it out of --verify-on"
TOLERANCE = 1e-4  # nats a token by which two programs may differ in float32
EXTRA = 50  # tokens that a translation may be longer than its source
_ODD_LINES = [
    "Hello",
    "HOW MUCH DOES IT COST?",
    "It costs 1,234.50 € (or 12 %), doesn't it?",
    "“Quoted” – and—dashed… “twice”",
    "See https://example.org/a?b=c or write to me@example.org.",
    "Le garçon mange déjà une pomme, n'est-ce pas ?",
    "Große Straßen führen übers Land.",
    "Собака видит птицу.",
    "犬が鳥を見ている。",
    "الكلب يرى طائرا.",
    "🙂 ok 👍🏽",
]


class Program(Protocol):
    """Another program with the model loaded. Ids come from our tokenizer, without start and end."""

    @property
    def name(self) -> str:
        """The program and its version, as in "CTranslate2 4.8.5"."""
        ...

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The source ids of each line."""
        ...

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        """The text of each list of target ids."""
        ...

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]] | None:
        """The greedy translation of each source, of at most that many tokens.

        None if the program is known to translate this model in another way than it scores it.
        """
        ...

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        """The log-probability of each target given its source in nats, the end token's included."""
        ...


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far two programs agree. `worst` is the largest difference of log-probability a token, in nats.

    If not `translated`, only the scores of our translations were compared. `note` adds other facts. `equal`
    counts the equal lines of a program without scores, which rounds in another way.
    """

    program: str
    lines: int
    ties: int = 0
    worst: float = 0.0
    equal: int | None = None
    translated: bool = True
    note: str = ""

    def __str__(self) -> str:
        if self.equal is not None:
            return f"{self.program}: {self.equal} of {self.lines} translations equal"
        if not self.translated:
            scores = f"scores of {self.lines} translations"
            return f"{self.program}: {scores} differ by at most {self.worst:.1e} a token"
        ties = f", {self.ties} of them up to ties" if self.ties else ""
        return (
            f"{self.program}: {self.lines} translations equal{ties}; "
            f"scores differ by at most {self.worst:.1e} a token{self.note and '; '}{self.note}"
        )


def lines_to_compare(bundle: Bundle) -> list[str]:
    """Lines to compare on: plain sentences, other scripts, and odd lines.

    For a model of several languages they begin with marks, which no space follows: programs differ in it.
    """
    side = 1 if bundle.source_language.startswith("de") else 0
    lines = [pair[side] for pair in pairs(seed=1, count=16)]
    lines += _ODD_LINES
    if own := addresses(bundle):
        lines = [own[n % len(own)].text + line for n, line in enumerate(lines)]
    return lines


def addresses(bundle: Bundle) -> list[Addressed]:
    """The marks that a line may begin with, without spaces, for some pairs of a model that has marks.

    The pairs are those that it was trained on, or else some with each of its languages.
    """
    tokenizer, stated = bundle.tokenizer, (bundle.source_language, bundle.target_language)
    directions = Directions(tokenizer, stated, bundle.directions)
    sources, targets = directions.sources, directions.targets
    if not tokenizer.languages:
        return []
    pairs: Sequence[tuple[str, str | None]] = bundle.directions
    if not pairs or not targets:
        ends = targets[::-1] or (None,)
        count = max(len(sources), len(ends))
        pairs = [(sources[n % len(sources)], ends[n % len(ends)]) for n in range(count)]
    marks = (tokenizer.address(source, to).replace("<< ", "<<") for source, to in pairs)
    return [Addressed(text, tokenizer.target_start(to)) for text, (_, to) in zip(marks, pairs, strict=True)]


def verify(
    bundle: Bundle,
    program: Program,
    lines: Sequence[str],
    *,
    tolerance: float = TOLERANCE,
    start: Tokens = (),
) -> Agreement:
    """Compare greedy translations of the lines. Raises DragomanError that shows the first disagreement.

    Each translation is made to begin with `start`, the mark of a language, as the program does by itself.
    Otherwise those of a model that begins with marks have several, and only their scores are compared.

    The translations do not use the length penalty or the beam of `bundle.generation`, because programs
    differ in these. They use everything that changes the probability of a token.
    """
    tokenizer, engine = bundle.tokenizer, PyTorchEngine(bundle.model)
    lines = [line.strip() for line in lines]  # as `Translator` does
    greedy = replace(bundle.generation, size=1, n_best=1, length_penalty=0)
    sources = tokenizer.encode_source(lines)
    _expect_equal(program, "tokens", lines, sources, program.encode(lines))

    cycle = addresses(bundle) or [Addressed("")]
    starts = [tuple(start or cycle[n % len(cycle)].start) if sources[n] else () for n in range(len(sources))]
    limits = [len(begin) + len(source) + EXTRA for source, begin in zip(sources, starts, strict=True)]
    rules = [(Prefix(begin),) if begin else () for begin in starts]
    requests = [
        Request(source=sources[n], how=greedy, max_tokens=limits[n], rules=rules[n], unscored=len(starts[n]))
        for n in range(len(sources))
    ]
    found = dict(engine.search(requests))
    ours = [found[number][0] for number in range(len(sources))]
    translated = None if any(starts) and not start else _asked(program, program.translate, sources, limits)
    theirs = [list(each.tokens) for each in ours] if translated is None else translated

    differing = [n for n in range(len(lines)) if list(ours[n].tokens) != theirs[n]]
    scorable: list[tuple[Tokens, Tokens]] = [(sources[n], ours[n].tokens) for n in range(len(lines))]
    scorable += [(sources[n], theirs[n]) for n in differing]
    scored = dict(engine.score(scorable, greedy))
    worst = 0.0
    for number, score in enumerate(_asked(program, program.score, scorable)):
        own = scored[number]
        gap = abs(own.logp - score) / max(len(own.token_logp), 1)
        worst = max(worst, gap)
        if not gap <= tolerance:  # also if it is NaN
            line = lines[[*range(len(lines)), *differing][number]]
            raise _disagreement(program, "log-probability", line, own.logp, score)
    for place, n in enumerate(differing):
        if not _tied(scored[n], scored[len(lines) + place], tolerance):
            raise _disagreement(program, "translation", lines[n], list(ours[n].tokens), theirs[n])
    # Programs differ in how they show an unknown token or a mark, and in spaces at the ends.
    unspelled = {tokenizer.unk_id, *tokenizer.vocabularies[1].marks.values()}
    behind = {n: own.tokens[len(starts[n]) :] for n, own in enumerate(ours)}
    shown = [n for n, tokens in behind.items() if unspelled.isdisjoint(tokens)]
    texts = [tokenizer.decode(behind[n]).strip() for n in shown]
    its_texts = [text.strip() for text in program.decode([behind[n] for n in shown])]
    _expect_equal(program, "text", [lines[n] for n in shown], texts, its_texts)
    return Agreement(
        program=program.name,
        lines=len(lines),
        ties=len(differing),
        worst=worst,
        translated=translated is not None,
    )


def _asked(program: Program, method: Callable[..., Any], *arguments: object) -> Any:
    try:
        return method(*arguments)
    except DragomanError:
        raise
    except Exception as error:  # of any kind: most programs have short tables of positions
        raise DragomanError(f"{program.name}: {error}", hint=TOO_LONG) from error


def _tied(one: Hypothesis, other: Hypothesis, tolerance: float) -> bool:
    """Whether two translations part at tokens that are equally likely, up to the tolerance."""
    ends = [(*each.tokens, None) for each in (one, other)]  # None for the end token
    places = zip(*ends, one.token_logp, other.token_logp, strict=False)
    gap: float = next(abs(a - b) for token, another, a, b in places if token != another)
    return gap <= tolerance


def _expect_equal(
    program: Program, what: str, lines: Sequence[str], ours: Sequence[object], theirs: Sequence[object]
) -> None:
    for line, own, other in zip(lines, ours, theirs, strict=True):
        if own != other:
            raise _disagreement(program, what, line, own, other)


def _disagreement(program: Program, what: str, line: str, own: object, other: object) -> DragomanError:
    return DragomanError(
        f"{program.name} disagrees on the {what} of {line!r}: dragoman has {own}, it has {other}",
        hint="please report this model; --no-verify skips the comparison",
    )
