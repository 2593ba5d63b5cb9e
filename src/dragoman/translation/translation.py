"""A translation, and how it is made from a hypothesis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.text.blank import is_blank
from dragoman.text.checks.omissions import lacks_most
from dragoman.text.formality import Formality
from dragoman.text.guidance import Context, Guidance, Match, Reading
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.lines import Addressed, Directions
from dragoman.translation.search.alignment import Aligning, Alignment, alignment_of
from dragoman.translation.search.engine import Hypothesis, Tokens
from dragoman.translation.search.options import AttentionOf, Decoding

if TYPE_CHECKING:
    from dragoman.translation.search.risk import Risk, RiskModel


@dataclass(frozen=True, repr=False)
class Translation:
    """A line and its translation. `print` shows the text."""

    source: str
    text: str
    score: float  # log-probability, normalised for length; translations of one line can be compared
    tokens: tuple[str, ...]  # the text's pieces, as the tokenizer spells them
    token_logp: tuple[float, ...]  # log-probability of each token, then of the end of each sentence, if known
    truncated: bool  # the source was cut, or the length limit ended the translation
    alternatives: tuple[Translation, ...] = ()  # the next best, best first
    attention: tuple[tuple[float, ...], ...] = ()
    """The attention of each token, then of the end, to each source token, then to the source's end.

    Empty unless the option `attention` asks for it.
    """
    alignment: Alignment | None = None  # which tokens and words translate which; None unless requested
    match: Match | None = None  # the most similar line of the memory; with a score of 100 it was taken over
    risk: Risk | None = None  # doubts about it; None unless requested
    unused_terms: tuple[str, ...] = ()  # translations of terms of the line that are not in the text
    doubts: tuple[str, ...] = ()  # why sentences with placeholders are not translated, or only in parts

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Return the translation for a notebook: how probable each token is, and the alternatives."""
        from html import escape

        pieces = [piece.replace("▁", " ") for piece in self.tokens]
        shown = escape(self.text)
        # Several sentences have several ends, and placeholders are not among the tokens.
        if len(self.token_logp) == len(pieces) + 1 and "".join(pieces).strip() == self.text:
            chances = [min(exp(logp), 1.0) for logp in self.token_logp[:-1]]
            shown = "".join(
                f'<span title="{chance:.1%}" style="border-bottom: 3px solid rgb(0 114 178 / {chance:.2f})">'
                f"{escape(piece)}</span>"
                for piece, chance in zip(pieces, chances, strict=True)
            )
        others = [f"<li>{escape(one.text)} <small>{one.score:.3f}</small></li>" for one in self.alternatives]
        return (
            f'<div dir="auto">{escape(self.source)}</div>'
            f'<div dir="auto" style="font-size: 1.2em">{shown}</div><small>score {self.score:.3f}</small>'
            + (f"<ul>{''.join(others)}</ul>" if others else "")
        )

    @property
    def is_scored(self) -> bool:
        """Whether its score counts: no model has scored a copied line, or one that is translated in parts."""
        return bool(self.token_logp) or (self.match is not None and self.match.exact)

    @property
    def lacking(self) -> bool:
        """Whether the text seems to lack most of its source. What a memory has is never in doubt."""
        return not (self.match is not None and self.match.exact) and lacks_most(self.source, self.text)

    def __repr__(self) -> str:
        """Source, text and score, and the names of other fields that are set."""
        more = ["truncated"] if self.truncated else []
        more += [f"{len(self.alternatives)} alternatives"] if self.alternatives else []
        more += [name for name in ("attention", "alignment", "match", "risk") if getattr(self, name)]
        more += [f"unused_terms={self.unused_terms!r}"] if self.unused_terms else []
        more += [f"doubts={self.doubts!r}"] if self.doubts else []
        return f"<Translation {', '.join([f'{self.source!r} -> {self.text!r}', f'{self.score:.4f}', *more])}>"


@dataclass(frozen=True)
class TranslationMaker:
    """Makes translations from the hypotheses of the engine."""

    tokenizer: Tokenizer
    directions: Directions
    decoding: Decoding
    aligning: Aligning | None  # see `aligning_for`
    risk_model: RiskModel | None

    @cached_property
    def languages(self) -> tuple[str, str]:
        """Source and target."""
        source, target = self.directions.stated
        return self.decoding.source or source, self.decoding.to or target

    def addressed(self, line: str, languages: tuple[str | None, str | None] | None = None) -> Addressed:
        """What the model reads for a line without spaces around it."""
        source, to = languages or (self.decoding.source, self.decoding.to)
        return self.directions.addressed("" if is_blank(line) else line, source, to)

    @property
    def attention(self) -> AttentionOf | None:
        """The attention that the engine has to return."""
        return self.decoding.attention_of if self.aligning is None else self.aligning.attention

    def translation(
        self,
        source: str,
        read: str,
        tokens: Tokens,
        hypothesis: Hypothesis,
        *,
        given: str | None = None,
        cut: bool = False,
    ) -> Translation:
        """The translation of a source, or its `given` translation, whose tokens `hypothesis` has.

        `read` is the text that the model read for the source, and `tokens` its tokens. `cut` says that these
        are only the first.
        """
        text = self._text(hypothesis) if given is None else given if hypothesis.token_logp else given.strip()
        alignment = risk = None
        if self.aligning is not None:
            spans = (
                self.tokenizer.target_spans(hypothesis.tokens) if given is None else self._given_spans(text)
            )
            alignment = alignment_of(
                self.tokenizer, source, read, tokens, text, spans, hypothesis, reading=self.aligning.reading
            )
        if self.decoding.risk:
            from dragoman.translation.search.evidence import evidence_of
            from dragoman.translation.search.risk import assess

            evidence = evidence_of(source, text, hypothesis.token_logp, hypothesis.attention, alignment)
            risk = assess(
                self.risk_model, evidence, source, text, self.languages, several=bool(self.directions.targets)
            )
        return Translation(
            source=source,
            text=text,
            score=hypothesis.score,
            tokens=tuple(self.tokenizer.target_pieces(hypothesis.tokens)),
            token_logp=hypothesis.token_logp,
            truncated=hypothesis.truncated or cut,
            attention=hypothesis.attention if self.decoding.attention is not None else (),
            alignment=alignment if self.decoding.alignment else None,
            risk=risk,
        )

    def _given_spans(self, text: str) -> list[tuple[int, int]]:
        """The spans of the tokens of a given translation, whose outer space is not read."""
        shift = len(text) - len(text.lstrip())
        return [(a + shift, b + shift) for a, b in self.tokenizer.spans(text.strip(), "target")]

    def _text(self, hypothesis: Hypothesis) -> str:
        # With byte fallback a translation can contain a line break. Keep it one line.
        return self.tokenizer.decode(hypothesis.tokens).replace("\r", " ").replace("\n", " ")


def beside_line(
    guidance: Guidance | None, context: Context | None, formality: Formality | None
) -> Guidance | None:
    """The guidance of a line with its context and formality."""
    if context is None and formality is None:
        return guidance
    return replace(guidance or Guidance(), context=context, formality=formality)


def to_line(hypothesis: Hypothesis, reading: Reading | None) -> Hypothesis:
    """The hypothesis with the attention to the line alone, and to the end."""
    if reading is None or not hypothesis.attention or len(reading.own) == len(reading.tokens):
        return hypothesis
    rows = tuple((*(row[place] for place in reading.own), row[-1]) for row in hypothesis.attention)
    return replace(hypothesis, attention=rows)


def aligning_for(decoding: Decoding, own: Aligning | None) -> Aligning | None:
    """The attention that aligns, if the options need it: theirs, or the model's (`own`).

    Raises ConfigError if an alignment is requested and the model has no attention.
    """
    if not decoding.alignment:
        return own if decoding.risk else None
    chosen = decoding.attention_of
    if chosen is None and own is None:
        raise ConfigError("this model has no attention to align words by", hint="leave alignment out")
    return own if chosen is None or (own and own.attention == chosen) else Aligning(chosen)
