"""Build a Trace from a model and a sentence, with hooks and the model's own functions.

First a search translates the sentence and is recorded. Then source and translation go through the model
again, teacher-forced, so that every array has one row per token.

L layers, H heads, Q queries, K keys, S source tokens, T target tokens, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np
import torch
from torch import Tensor

from dragoman.base.config import to_table
from dragoman.base.errors import ConfigError, DataError
from dragoman.inspection import terms
from dragoman.inspection.intervening import Choices, intervened
from dragoman.inspection.intervention import LONGEST, Intervention
from dragoman.inspection.positions import positions_of
from dragoman.inspection.record import Alternative, Fate, Found, Model, Node, Step, Text, Token, Tree, Word
from dragoman.inspection.trace import Trace
from dragoman.inspection.weights import attention_of, recording, word_alignment
from dragoman.models.folder.bundle import Bundle
from dragoman.models.mode import evaluating
from dragoman.models.search.beam import search
from dragoman.models.search.engine import pad
from dragoman.models.search.rows import Choice
from dragoman.models.search.rule_masks import mask_of
from dragoman.models.search.scoring import score
from dragoman.text.formality import Formality
from dragoman.text.guidance import CONTEXT_CHARACTERS, CONTEXT_TOKENS, Context, Guidance, reading
from dragoman.text.spans import Span, spans_of_surfaces, united, words_of
from dragoman.text.tokenizers.marks import split_marks
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.search.engine import Hypothesis, Request, without_start
from dragoman.translation.search.options import Beam
from dragoman.translation.search.requests import limit_of, trackers_of
from dragoman.translation.search.rules import Prefix, Rule, keeping
from dragoman.version import __version__

ALTERNATIVES = 20  # of each step
_WIDEST = 50  # beam
_CONTEXT = " ⟨context⟩ "  # between a text and its context
_NOTHING = Intervention()
Spell = Callable[[int], tuple[str, str]]  # a token's piece and text


class InspectOptions(TypedDict, total=False):
    """The options of `inspect`, of any run."""

    target: str | None
    context: str
    formality: Formality | None
    start: Sequence[int]
    beam: Beam | None
    prefix: Sequence[int]
    rules: Sequence[Rule]
    max_extra_tokens: int
    name: str
    every_step: Callable[[], None]


def inspect(
    bundle: Bundle,
    text: str,
    *,
    target: str | None = None,
    context: str = "",
    formality: Formality | None = None,
    start: Sequence[int] = (),
    beam: Beam | None = None,
    prefix: Sequence[int] = (),
    rules: Sequence[Rule] = (),
    max_extra_tokens: int = 50,
    name: str = "",
    intervention: Intervention = _NOTHING,
    every_step: Callable[[], None] = lambda: None,
) -> Trace:
    """Return the trace of `text` and its translation, or of `target`, in which case no search runs.

    `context` is what stands before the text; the model reads it behind the text, and so the trace has it.
    The trace also has the mark of the `formality`.
    `start` are the first tokens of any translation, the mark of its language, whose log-probability a search
    does not count. `prefix` and `rules` apply to the search. `name` is the name of the model, by default its
    languages. `every_step` is called at each step of the search and may raise to end it. The trace describes
    the run with the `intervention`; `contrast` also shows its effect.

    Raises DataError for text without tokens or with more than 512, ConfigError for a beam above 50, because
    a step of the tree has about the square of the beam in nodes, and for an intervention that the model or
    a given translation does not allow.
    """
    tokenizer, how = bundle.tokenizer, beam or bundle.generation
    if intervention.length_penalty is not None:
        how = replace(how, length_penalty=intervention.length_penalty)
    if target is not None and intervention.of_search:
        raise ConfigError(
            "a given translation together with an intervention in the search",
            hint="change heads and positions only, or leave out the translation",
        )
    if how.size > _WIDEST:
        raise ConfigError(
            f"a beam of {how.size} cannot be inspected",
            hint=f"use at most {_WIDEST}, because every candidate is shown",
        )
    text, own, spans = _read(tokenizer, text.strip())
    beside = Guidance(context=Context(context) if context else None, formality=formality)
    given = reading(tokenizer, text, _encoded(own, "the text"), beside)
    source, marks = given.tokens, {}  # names of marks by their places
    if formality:
        at = next(number for number, place in enumerate(given.own) if place > number)
        mark, first = f"⟨{formality}⟩ ", spans[at][0]
        moved = [(a + len(mark), b + len(mark)) for a, b in spans[at:]]
        spans[at:], text = [(first, first + len(mark) - 1), *moved], text[:first] + mark + text[first:]
        marks[at] = mark.strip()
    if context:
        marks[len(spans)] = _CONTEXT.strip()
        _, _, near = split_marks(context[-CONTEXT_CHARACTERS:], tokenizer.vocabularies[0].marks)
        near, _, read = _read(tokenizer, near)
        behind = len(text) + len(_CONTEXT)
        read = [(a + behind, b + behind) for a, b in read[-CONTEXT_TOKENS:]]
        spans, text = [*spans, (len(text) + 1, behind - 1), *read], text + _CONTEXT + near
    model = intervened(bundle.model, intervention)
    device = model.device
    pair = pad([source], model.config.pad_id, model.config.end_id, device)
    with torch.no_grad(), evaluating(model):
        tree = None
        if target is None:
            recorder = Recorder(how, model.config.end_id, _speller(tokenizer))
            request = Request(
                source=source, how=how, max_tokens=len(start) + len(own) + max_extra_tokens,
                rules=(Prefix((*start, *prefix)), *rules, *keeping(own, tokenizer.placeholders)),
                unscored=len(start),
            )  # fmt: skip
            chosen = Choices(intervention, tokenizer, how, model.config)
            chosen.check_prefix(len(start) + len(prefix), marks=len(start))

            def watch(choice: Choice) -> None:
                every_step()
                recorder.watch(choice)

            limit = max(limit_of(request), chosen.least)
            trackers_B = trackers_of([request.rules])
            begun = sum(len(rule.tokens) for rule in request.rules if isinstance(rule, Prefix))
            obeyed = mask_of([request.rules], model.config.end_id, [limit], trackers_B, [len(start)])
            (hypotheses,) = search(
                model, model.encode(*pair), replace(how, n_best=how.rows),
                limit_B=torch.full_like(pair[1], limit), mask=chosen.over(obeyed, begun=begun),
                watch=watch, trackers_B=trackers_B,
            )  # fmt: skip
            predicted, tree = hypotheses[0].tokens, recorder.tree(hypotheses[0])
        else:
            tokens = _encoded(tokenizer.encode_target([target.strip()])[0], "the translation")
            (whole,) = score(model, *pair, [[*start, *tokens]], how)
            if whole.logp == -math.inf:
                what = "the translation has a token that the model's generation.banned forbids"
                raise DataError(what, hint="give another one, or remove the token there")
            predicted, hypotheses = whole.tokens, [without_start(whole, len(start), how)]
        inputs = torch.tensor([[model.config.start_id, *predicted]], device=device)

        with recording(model) as weights, terms.watching(model) as calls:
            logits_TV = model.decode(inputs, model.encode(*pair))[0].float()
        logit_terms = terms.logit_terms(model, calls)

    attention = tuple(attention_of(weights))
    pieces = tokenizer.source_pieces(source)
    for place, mark in marks.items():
        pieces[place] = mark
    start_id, end_id = model.config.start_id, model.config.end_id
    start_piece, end_piece = tokenizer.target_pieces([start_id, end_id])
    eos = end_id, end_piece
    source_side = _side(text, bundle.source_language, source, pieces, spans, eos)
    pieces, places = tokenizer.target_pieces(predicted), tokenizer.target_spans(predicted)
    target_text = tokenizer.decode(predicted)
    target_side = _side(target_text, bundle.target_language, predicted, pieces, places, eos, len(start))
    alignment, note = word_alignment(attention, source_side, target_side)
    return Trace(
        dragoman=__version__,
        model=Model(
            title=name or f"{bundle.source_language} to {bundle.target_language}",
            architecture=bundle.model.config.architecture,
            parameters=sum(weight.numel() for weight in bundle.model.parameters()),
            source_language=bundle.source_language,
            target_language=bundle.target_language,
            config=to_table(bundle.model.config),
        ),
        search=to_table(how) if tree else {},
        source=source_side,
        target=target_side,
        inputs=(_special(start_id, start_piece), *target_side.tokens[:-1]),
        translations=tuple(
            Found(text=tokenizer.decode(one.tokens), score=one.score, logp=one.logp, truncated=one.truncated)
            for one in hypotheses
        ),
        attention=attention,
        steps=tuple(_steps(logits_TV, [*predicted, model.config.end_id], _speller(tokenizer))),
        alignment=alignment,
        alignment_note=note,
        beam=tree,
        positions=positions_of(model, max(len(source), len(predicted)) + 1),
        terms=logit_terms,
    )


def _read(tokenizer: Tokenizer, text: str) -> tuple[str, list[int], list[Span]]:
    """Return a source as it is cut into tokens, its tokens, and their places. It is normalised only once."""
    (text,) = tokenizer.normalise([text], "source")
    vocabulary = tokenizer.vocabularies[0]
    return text, vocabulary.encode([text])[0], spans_of_surfaces(vocabulary.surfaces(text), text)


def _encoded(tokens: list[int], what: str) -> list[int]:
    if not tokens:
        raise DataError(f"{what} is empty", hint="give a sentence in quotes")
    if len(tokens) > LONGEST:
        raise DataError(
            f"{what} has {len(tokens)} tokens, at most {LONGEST} can be inspected",
            hint="give one sentence, not a page",
        )
    return tokens


def _speller(tokenizer: Tokenizer) -> Spell:
    """Return a function from a target token to its piece and its text."""

    def spell(token: int) -> tuple[str, str]:
        piece = tokenizer.target_pieces([token])[0]
        return piece, piece.replace("\u2581", " ").strip() or piece

    return spell


def _side(
    text: str,
    language: str,
    ids: Sequence[int],
    pieces: Sequence[str],
    places: Sequence[Span],
    eos: tuple[int, str],
    marks: int = 0,
) -> Text:
    """The tokens and words of a side. The first `marks` tokens belong to no word."""
    numbers = [None] * marks + words_of(places[marks:], text)
    tokens = [
        Token(id=i, piece=piece, text=text[start:end], start=start, end=end, word=number)
        for i, piece, (start, end), number in zip(ids, pieces, places, numbers, strict=True)
    ]
    words = [Word(text=text[start:end], start=start, end=end) for start, end in united(places, numbers)]
    tokens.append(_special(*eos, len(text)))
    return Text(text=text, language=language, tokens=tuple(tokens), words=tuple(words))


def _special(token: int, name: str, at: int = 0) -> Token:
    return Token(id=token, piece=name, text=name, start=at, end=at, word=None)


def _steps(logits_TV: Tensor, tokens: Sequence[int], spell: Spell) -> Iterator[Step]:
    logp_TV = logits_TV.log_softmax(-1)
    entropy_T = torch.special.entr(logp_TV.exp()).sum(-1).tolist()
    best = logp_TV.topk(min(ALTERNATIVES, logp_TV.shape[1]))
    for t, token in enumerate(tokens):
        piece, text = spell(token)
        logp = float(logp_TV[t, token])
        likeliest = zip(best.indices[t].tolist(), best.values[t].exp().tolist(), strict=True)
        others = [
            Alternative(token=other, piece=spell(other)[0], text=spell(other)[1], probability=probability)
            for other, probability in likeliest
        ]
        yield Step(
            token=token,
            piece=piece,
            text=text,
            probability=float(np.exp(logp)),
            logp=logp,
            entropy=entropy_T[t],
            alternatives=tuple(others),
        )


@dataclass
class Recorder:
    """Records the search for one sentence: `search(..., watch=recorder.watch)`."""

    how: Beam
    end_id: int
    spell: Spell
    nodes: list[Node] = field(default_factory=list)
    _of_prefix: dict[tuple[int, ...], int | None] = field(default_factory=lambda: {(): None})

    def watch(self, choice: Choice) -> None:
        """Record one step: for each live row its best tokens, the end, and the tokens that rules ban."""
        rows = choice.live.token_NT.tolist()
        kept: set[tuple[int, int]] = set()
        if len(choice.going_B):
            chosen = zip(
                *(x[0].tolist() for x in (choice.row_BQ, choice.token_BQ, choice.total_BQ)), strict=True
            )
            kept = {(row, token) for row, token, total in chosen if total > -math.inf}
        free_NV = choice.logits_NV.log_softmax(-1)
        for row, prefix in enumerate(rows):
            total = float(choice.live.total_N[row])
            if total == -math.inf:
                continue  # an empty row: there are fewer hypotheses than rows
            best = zip(choice.token_NK[row].tolist(), choice.logp_NK[row].tolist(), strict=True)
            for token, logp in best:
                if logp == -math.inf:
                    continue  # the rules allow fewer tokens than the beam is wide
                fate: Fate = "kept" if (row, token) in kept else "pruned"
                self._add(prefix, token, logp, total, fate)
            end = float(choice.end_N[row])
            if end > -math.inf:
                self._add(prefix, self.end_id, end, total, "finished" if choice.finish_N[row] else "pruned")
            allowed_V = choice.logp_NV[row].clone()
            allowed_V[self.end_id] = end
            for logp, token in zip(
                *(x.tolist() for x in free_NV[row].topk(choice.token_NK.shape[1])), strict=True
            ):
                if float(allowed_V[token]) == -math.inf:
                    self._add(prefix, token, logp, total, "banned")

    def tree(self, best: Hypothesis) -> Tree:
        """Return the whole tree, with the path to `best` marked."""
        path = set()
        at = self._of_prefix.get((*best.tokens, self.end_id))
        while at is not None:
            path.add(at)
            at = self.nodes[at].parent
        nodes = tuple(replace(node, best=number in path) for number, node in enumerate(self.nodes))
        return Tree(size=self.how.size, nodes=nodes)

    def _add(self, prefix: Sequence[int], token: int, logp: float, total: float, fate: Fate) -> None:
        piece, text = self.spell(token)
        if fate in ("kept", "finished"):
            self._of_prefix[(*prefix, token)] = len(self.nodes)
        self.nodes.append(
            Node(
                parent=self._of_prefix[tuple(prefix)],
                step=len(prefix),
                token=token,
                piece=piece,
                text=text,
                logp=logp,
                total=total + logp,
                score=self.how.normalise(total + logp, len(prefix) + 1),
                fate=fate,
                best=False,
            )
        )
