"""An intervention compared with the untouched run: both traces, and the differences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Unpack

import torch
from rich.cells import cell_len, set_cell_size

from dragoman.inspection.inspect import InspectOptions, inspect
from dragoman.inspection.intervening import intervened
from dragoman.inspection.intervention import Intervention
from dragoman.inspection.record import Record, TokenChange, Word, WordChange, to_table
from dragoman.inspection.trace import Trace
from dragoman.inspection.views.plain import text
from dragoman.inspection.views.report import report
from dragoman.models.folder.bundle import Bundle
from dragoman.models.mode import evaluating
from dragoman.models.search.engine import pad
from dragoman.models.search.scoring import score
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.text.clean import clean

FORMAT, VERSION = "dragoman-contrast", 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Contrast:
    """The effect of an intervention on one sentence.

    `of_untouched` and `of_changed` are the tokens of the two translations, each with its log-probability
    in the untouched model and in the changed one. The mark of a language is not among them. Rules of the
    search, such as a forced token, do not change them. `words` are the ranges of words that differ.
    """

    intervention: Intervention
    untouched: Trace
    changed: Trace
    of_untouched: tuple[TokenChange, ...]
    of_changed: tuple[TokenChange, ...]
    words: tuple[WordChange, ...]

    def difference(self) -> dict[str, Any]:
        """Return the intervention and the differences as plain values for JSON, without the traces."""
        return {
            "intervention": self.intervention.to_table(),
            "of_untouched": to_table(self.of_untouched),
            "of_changed": to_table(self.of_changed),
            "words": to_table(self.words),
        }

    def to_table(self, *, compact: bool = False) -> dict[str, Any]:
        """Return plain values for JSON. `compact` stores the numbers in arrays with 16 bits."""
        traces = {"untouched": self.untouched, "changed": self.changed}
        return {
            "format": FORMAT,
            "version": VERSION,
            **self.difference(),
            **{name: trace.to_table(compact=compact) for name, trace in traces.items()},
        }

    def to_json(self) -> str:
        """Return a JSON document with exact numbers."""
        return json.dumps(self.to_table(), ensure_ascii=False, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return one page with the difference and all views of both runs. It needs no network."""
        return report([self.untouched, self.changed], difference=self.difference())

    def summary(self) -> str:
        """Return both translations, the words that differ, and the log-probabilities of their tokens."""
        before, after = self.untouched.target, self.changed.target
        lines = [clean(str(self.intervention)), "", clean(before.text), clean(after.text), ""]
        lines += [
            f"  {_phrase(before.words, one.before)} -> {_phrase(after.words, one.after)}"
            for one in self.words
        ] or ["  no word differs"]
        for name, tokens in (("untouched", self.of_untouched), ("changed", self.of_changed)):
            lines += [
                "",
                f"log-probability of the {name} translation: in the untouched model, in the changed",
            ]
            lines += _columns(tokens)
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return f"{self.summary()}\n{text(self.changed)}"


def _phrase(words: Sequence[Word], place: tuple[int, int]) -> str:
    return clean(" ".join(word.text for word in words[slice(*place)])) or "(nothing)"


def _columns(tokens: Sequence[TokenChange]) -> Iterator[str]:
    rows = [(clean(token.text or token.piece), token.before, token.after) for token in tokens]
    rows.append(("sum", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    width = max(cell_len(name) for name, _, _ in rows)
    for name, before, after in rows:
        yield f"  {set_cell_size(name, width)} {before:9.3f} {after:9.3f}"


def contrast(
    bundle: Bundle, line: str, intervention: Intervention, **options: Unpack[InspectOptions]
) -> Contrast:
    """Inspect a line without and with the intervention. The options are as in `inspect`.

    Raises the errors of `inspect`.
    """
    changed = inspect(bundle, line, intervention=intervention, **options)  # the one that may be refused
    untouched = inspect(bundle, line, **options)
    models = bundle.model, intervened(bundle.model, intervention)
    marks = len(options.get("start", ()))
    return Contrast(
        intervention=intervention,
        untouched=untouched,
        changed=changed,
        of_untouched=tuple(_tokens(untouched, models))[marks:],
        of_changed=tuple(_tokens(changed, models))[marks:],
        words=tuple(_words(untouched, changed)),
    )


def _tokens(trace: Record, models: tuple[AnySeq2Seq, AnySeq2Seq]) -> Iterator[TokenChange]:
    """The tokens of a translation with their log-probabilities in both models."""
    before, after = (_logp(model, trace) for model in models)
    for token, one, other in zip(trace.target.tokens, before, after, strict=True):
        yield TokenChange(text=token.text, piece=token.piece, word=token.word, before=one, after=other)


def _logp(model: AnySeq2Seq, trace: Record) -> Sequence[float]:
    source = [token.id for token in trace.source.tokens[:-1]]
    target = [token.id for token in trace.target.tokens[:-1]]
    with torch.no_grad(), evaluating(model):
        pair = pad([source], model.config.pad_id, model.config.end_id, model.device)
        return score(model, *pair, [target])[0].token_logp


def _words(untouched: Record, changed: Record) -> Iterator[WordChange]:
    before, after = ([word.text for word in trace.target.words] for trace in (untouched, changed))
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield WordChange(before=(a, b), after=(c, d))
