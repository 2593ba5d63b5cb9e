"""Teachers' translations of the training text: sequence-level distillation (Kim and Rush 2016, section 3.2).

    00000.jsonl, 00001.jsonl ...   the translations of some lines each: a line about the part, then pairs

A part is written whole, and names its inputs. So a run that was killed resumes at the next part,
and a part of other text, teachers or options is made again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import DataError
from dragoman.base.files import sweep
from dragoman.base.jobs import digest, read_part, write_part
from dragoman.base.progress import Meter
from dragoman.text.blank import is_blank
from dragoman.text.checks.loops import is_invention, loops
from dragoman.text.corpora.context import with_context
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.languages import Direction
from dragoman.text.corpora.lines import Line
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.distillation.options import REFERENCE, outputs_of
from dragoman.training.runs.recipe import Recipe, Stage
from dragoman.training.runs.text.directions import directions_of
from dragoman.training.runs.text.teachers import Teachers
from dragoman.training.runs.text.texts import Say, Texts

if TYPE_CHECKING:
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

LINES_OF_A_PART = 2_000
EMPTY, TOO_LONG, CUT, STUCK = "no source or no reference", "too long a source", "cut short", "empty or odd"


def epoch_weights(recipe: Recipe, stage: Stage | None = None) -> Mapping[str, float]:
    """How often an epoch has each pair of each training text, by its name; empty for a single text."""
    own = {} if stage is None else stage.weights
    corpora = {one.name: own.get(one.name, one.weight) for one in recipe.data.corpora}
    if recipe.teacher.models:
        return recipe.teacher.weights(corpora or {REFERENCE: 1.0})
    return {name: weight for name, weight in corpora.items() if weight}


def with_outputs(texts: Texts, checkpoints: Checkpoints, say: Say) -> Texts:
    """Return the texts with the teachers' translations. Translates the missing ones.

    Raises DataError, before anything is translated, if a run that has begun had other text.
    """
    teachers, recipe = texts.teachers, texts.recipe
    if teachers is None:
        return texts
    named = [one for one in recipe.data.corpora if one.source_language and one.target_language]
    directions = {one.name: directions_of(one)[0] for one in named}
    only = recipe.data.source_language or "", recipe.data.target_language or ""
    corpora: dict[str, Corpus] = dict(texts.corpora) or {REFERENCE: texts.training}
    if recipe.teacher.outputs != "none":
        for name, text in [*corpora.items()]:
            made = TeachersOutputs(
                teachers=teachers,
                direction=directions.get(name, only),
                text=text,
                folder=checkpoints.outputs(name),
                longest=recipe.data.filter.max_length,
                referenced=texts.referenced,
                in_context=recipe.data.context > 0,
                learnt=checkpoints.resumable,
                say=say,
            )
            corpora[outputs_of(name)] = made.corpus()
    corpora = {name: corpora[name] for name in epoch_weights(recipe)}
    training = texts.training if texts.referenced else corpora[outputs_of(REFERENCE)]
    return replace(texts, corpora=corpora, training=training)


@dataclass(kw_only=True)
class TeachersOutputs:
    """Translations of a text by teachers, in a folder. `longest` is the most tokens of a source.

    Lines without a source or a reference have none; if the text is not `referenced`, it has only sources. If
    a student has begun to learn from them, they are `learnt` and may not change. `in_context` keeps what
    stands before each line, and gives it to teachers that read it.
    """

    teachers: Teachers
    text: Corpus
    direction: Direction | None = None  # of the text; left out, that of the teachers
    folder: Path
    longest: int
    referenced: bool = True
    in_context: bool = False
    learnt: bool = False
    say: Say
    _translator: Translator | None = field(default=None, init=False)
    _meter: Meter | None = field(default=None, init=False)
    _left_out: Counter[str] = field(default_factory=Counter, init=False)

    def corpus(self) -> Corpus:
        """Translate the missing lines, and return the pairs of sources and translations.

        Raises DataError if no line has a translation to learn from, or if the text differs from the `learnt`
        translations.
        """
        sweep(self.folder)
        if self.learnt:
            self._check_same()
        paths: list[Path] = []
        done = pairs = 0
        for path, lines in self._parts():
            paths.append(path)
            about = self._about(lines)
            known = read_part(path, about)
            if known is None or type(known.get("pairs")) is not int:
                known = self._translate(path, lines, about, done)
            done, pairs = done + len(lines), pairs + known["pairs"]
            self._left_out.update(known["left_out"])
        for path in {*self.folder.glob("*.jsonl")} - {*paths}:  # of a longer text
            path.unlink()
        self._report(pairs)
        self._translator = None  # its memory is needed for training
        source, target = self.direction or self.teachers.languages
        return Corpus(
            "the teachers' translations", lambda: _read(paths), (source, target), files=[*map(str, paths)]
        )

    def _parts(self) -> Iterator[tuple[Path, list[Line]]]:
        """Yield the lines of each part, and its file."""
        lines, number = iter(self.text), 0
        if self.in_context:
            lines = (line._replace(context=beside.source) for line, beside in with_context(lines))
        while part := [*islice(lines, LINES_OF_A_PART)]:
            yield self.folder / f"{number:05}.jsonl", part
            number += 1

    def _check_same(self) -> None:
        """Raise DataError, and change nothing, if the parts are of other text or made otherwise."""
        left = {*self.folder.glob("*.jsonl")}
        for path, lines in self._parts():
            left.discard(path)
            before = read_part(path)
            if before is not None and not self._about(lines).items() <= before.items():
                break
        else:
            if not left:
                return
        raise DataError(
            f"{self.text.name}: changed since the teachers translated it for this run, or they translate "
            "otherwise now",
            hint="restore the text and the teachers, or choose another folder with -o",
        )

    def _about(self, lines: Sequence[Line]) -> dict[str, Any]:
        options = self.teachers.options
        search = [options.beam, options.searched, options.average, options.dtype]
        return {
            "made_with": [
                *self.teachers.made_with,
                options.outputs,
                *search,
                self.longest,
                self.referenced,
                *(self._languages or ()),
            ],
            "text": digest(
                "".join(f"{one}\n" for one in (line.source, line.target, *self._beside(line)))
                for line in lines
            ),
        }

    def _beside(self, line: Line) -> list[str]:
        return [line.context] if self.in_context else []

    def _translate(
        self, path: Path, lines: Sequence[Line], about: dict[str, Any], done: int
    ) -> dict[str, Any]:
        """Translate the lines of a part, after `done` others, and write it. Return its first line."""
        options, translator, meter = self.teachers.options, *self._loaded(done)
        languages, left_out = self._languages, Counter[str]()
        reads = self.in_context and "context" in translator.reads
        wanted: list[Line] = []
        for line, tokens in zip(
            lines, translator.tokenizer.encode_source([line.source for line in lines]), strict=True
        ):
            if is_blank(line.source) or (self.referenced and is_blank(line.target)):
                left_out[EMPTY] += 1
            elif len(tokens) > self.longest:
                left_out[TOO_LONG] += 1
            else:
                wanted.append(line)
        found = translator.stream(
            [line.source for line in wanted],
            window=len(lines),
            beam=options.beam,
            n_best=options.searched,
            split=False,
            context=[line.context for line in wanted] if reads else None,
            source=languages[0] if languages else None,
            to=languages[1] if languages else None,
        )
        rows: list[str] = []
        for number, (line, best) in enumerate(zip(wanted, found, strict=True)):
            meter(done + number)
            usable = [one for one in (best, *best.alternatives) if _fault(one) is None]
            if not usable:
                left_out[_fault(best) or STUCK] += 1
            chosen = self._chosen(line, [_text_of(one) for one in usable])
            source, beside = line.source.strip(), self._beside(line)
            rows += [json.dumps([source, text, *beside], ensure_ascii=False) + "\n" for text in chosen]
        meter(done + len(lines))
        return write_part(path, {**about, "pairs": len(rows), "left_out": dict(left_out)}, "".join(rows))

    @property
    def _languages(self) -> Direction | None:
        """The languages to translate in, for teachers of several."""
        return self.direction if self.teachers.known.several else None

    def _loaded(self, done: int) -> tuple[Translator, Meter]:
        """The teachers, which are loaded when the first part is translated, and the progress from there."""
        if self._translator is None or self._meter is None:
            if done:
                self.say(f"the teachers resume after {done:,} lines")
            total = sum(1 for _ in self.text)
            self._translator = self.teachers.translator()
            self._meter = Meter("the teachers translate", self.say, total=total, done=done)
        return self._translator, self._meter

    def _chosen(self, line: Line, texts: Sequence[str]) -> list[str]:
        """The translations of a line to learn from, of those that the teachers found."""
        match self.teachers.options.outputs:
            case "all":
                return [*dict.fromkeys(texts)]
            case "nearest" if texts:
                from dragoman.evaluation.metrics import line_bleu

                _, target = self.direction or self.teachers.languages
                scores = line_bleu(texts, [line.target] * len(texts), target)
                return [texts[scores.index(max(scores))]]  # the likeliest of equals
        return [*texts[:1]]

    def _report(self, pairs: int) -> None:
        counts = "; ".join(f"{reason}: {count:,}" for reason, count in sorted(self._left_out.items()))
        if not pairs:
            raise DataError(
                f"{self.text.name}: the teachers have no usable translation of any line ({counts})",
                hint="is the text in their source language, and data.filter.max_length long enough? Are they "
                "trained?",
            )
        self.say(
            f"the teachers' translations: {pairs:,} pairs" + (f"; lines left out: {counts}" if counts else "")
        )


def _fault(one: Translation) -> str | None:
    """Why not to learn from a translation."""
    if one.truncated:
        return CUT
    text = _text_of(one)
    return STUCK if not text or loops(text, one.source) or is_invention(text, one.source) else None


def _text_of(one: Translation) -> str:
    return one.text.strip()


def _read(parts: Sequence[Path]) -> Iterator[Line]:
    number = 0
    for path in parts:
        with path.open(encoding="utf-8", newline="\n") as file:
            next(file)
            for row in file:
                number += 1
                source, target, *beside = json.loads(row)
                # Each is a document, because lines around it may be left out.
                yield Line(number, source, target, "".join(beside), document=str(number))
