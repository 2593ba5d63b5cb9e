"""What teachers make of the training text: sequence-level distillation (Kim and Rush 2016, section 3.2).

    00000.jsonl, 00001.jsonl ...   the translations of some lines each: a line about the part, then pairs

A part is written whole, and says what it was made from. So a run that was killed goes on at the next part,
and a part of other text, teachers or options is made again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import DataError
from dragoman.base.files import sweep, write_whole
from dragoman.runs.pace import Pace
from dragoman.runs.teacher import Teachers
from dragoman.runs.texts import Say
from dragoman.text.checks.loops import is_invention, loops
from dragoman.text.corpus import Corpus
from dragoman.text.lines import Line

if TYPE_CHECKING:
    from dragoman.translator import Translation, Translator

LINES_OF_A_PART = 2_000
EMPTY, TOO_LONG, CUT, STUCK = "no source or no reference", "too long a source", "cut short", "empty or odd"


@dataclass(kw_only=True)
class TeachersOutputs:
    """Translations of a text by teachers, in a folder. `longest` is the most tokens of a source.

    Lines without a source or a reference have none; if the text is not `referenced`, it has only sources. If
    a student has begun to learn from them, they are `learnt` and may not become others.
    """

    teachers: Teachers
    text: Corpus
    folder: Path
    longest: int
    referenced: bool = True
    learnt: bool = False
    say: Say
    _translator: Translator | None = field(default=None, init=False)
    _left_out: Counter[str] = field(default_factory=Counter, init=False)

    def corpus(self) -> Corpus:
        """Translate what is not translated yet, and return the pairs of sources and translations.

        Raises DataError if no line has a translation to learn from, or if the text is not that of the
        translations that are `learnt`.
        """
        sweep(self.folder)
        if self.learnt:
            self._check_same()
        total = sum(1 for _ in self.text)
        pace = Pace("the teachers translate", total, "lines", self.say)
        parts: list[Path] = []
        done = pairs = 0
        for number, lines in enumerate(_parts(self.text)):
            parts.append(path := self.folder / f"{number:05}.jsonl")
            about = self._about(lines)
            if (known := _intact(path, about)) is None:
                if self._translator is None:
                    if done:
                        self.say(f"the teachers go on after {done:,} lines")
                    pace.done(done)
                known = self._translate(path, lines, about, pace, done)
                pace.done(done + len(lines))
            done, pairs = done + len(lines), pairs + known["pairs"]
            self._left_out.update(known["left_out"])
        for path in set(self.folder.glob("*.jsonl")) - {*parts}:  # of a longer text
            path.unlink()
        self._report(pairs)
        self._translator = None  # its memory is needed for training
        source, target = self.teachers.languages
        return Corpus(
            "the teachers' translations", lambda: _read(parts), (source, target), files=[*map(str, parts)]
        )

    def _check_same(self) -> None:
        """Raise DataError, and change nothing, if the parts are of other text or made otherwise."""
        left = {*self.folder.glob("*.jsonl")}
        for number, lines in enumerate(_parts(self.text)):
            path = self.folder / f"{number:05}.jsonl"
            left.discard(path)
            about, before = self._about(lines), _header(path)
            if before is not None and any(before.get(key) != value for key, value in about.items()):
                break
        else:
            if not left:
                return
        raise DataError(
            f"{self.text.name}: not what the teachers translated when this run began, or they translate "
            "otherwise now",
            hint="restore the text and the teachers, or choose another folder with -o",
        )

    def _about(self, lines: Sequence[Line]) -> dict[str, Any]:
        options = self.teachers.options
        search = [options.beam, options.searched, options.average, options.dtype]
        digest = hashlib.blake2b(digest_size=16)
        for line in lines:
            digest.update(f"{line.source}\n{line.target}\n".encode())
        return {
            "made_with": [*self.teachers.made_with, options.outputs, *search, self.longest, self.referenced],
            "text": digest.hexdigest(),
        }

    def _translate(
        self, path: Path, lines: Sequence[Line], about: dict[str, Any], pace: Pace, done: int
    ) -> dict[str, Any]:
        """Translate the lines of a part, after `done` others, and write it. Return its first line."""
        if self._translator is None:
            self._translator = self.teachers.translator()
        options, translator = self.teachers.options, self._translator
        left_out = Counter[str]()
        wanted: list[Line] = []
        for line, tokens in zip(
            lines, translator.tokenizer.encode_source([line.source for line in lines]), strict=True
        ):
            if not line.source.strip() or (self.referenced and not line.target.strip()):
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
        )
        rows: list[str] = []
        for number, (line, best) in enumerate(zip(wanted, found, strict=True)):
            pace.done(done + number)
            usable = [one for one in (best, *best.alternatives) if _fault(one) is None]
            if not usable:
                left_out[_fault(best) or STUCK] += 1
            chosen = self._chosen(line, [_text_of(one) for one in usable])
            source = line.source.strip()
            rows += [json.dumps([source, text], ensure_ascii=False) + "\n" for text in chosen]
        content = "".join(rows)
        header = {
            **about,
            "pairs": len(rows),
            "left_out": dict(left_out),
            "digest": _digest(content),
        }
        write_whole(path, json.dumps(header) + "\n" + content)
        return header

    def _chosen(self, line: Line, texts: Sequence[str]) -> list[str]:
        """The translations of a line to learn from, of those that the teachers found."""
        match self.teachers.options.outputs:
            case "all":
                return [*dict.fromkeys(texts)]
            case "nearest" if texts:
                from dragoman.evaluation.measures import line_bleu

                scores = line_bleu(texts, [line.target] * len(texts), self.teachers.languages[1])
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


def _parts(text: Corpus) -> Iterator[list[Line]]:
    lines = iter(text)
    while part := [*islice(lines, LINES_OF_A_PART)]:
        yield part


def _fault(one: Translation) -> str | None:
    """Why not to learn from a translation."""
    if one.truncated:
        return CUT
    text = _text_of(one)
    return STUCK if not text or loops(text, one.source) or is_invention(text, one.source) else None


def _text_of(one: Translation) -> str:
    return one.text.strip()


def _intact(path: Path, about: dict[str, Any]) -> dict[str, Any] | None:
    """The first line of a part that was made from this, or None if it has to be made again."""
    try:
        first, _, content = path.read_text(encoding="utf-8").partition("\n")
        header: dict[str, Any] = json.loads(first)
        same = all(header[key] == value for key, value in about.items()) and header["digest"] == _digest(
            content
        )
        return header if same and type(header["pairs"]) is int else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _header(path: Path) -> dict[str, Any] | None:
    """The first line of a part, or None if it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            header = json.loads(file.readline())
        return header if isinstance(header, dict) else None
    except (OSError, ValueError, RecursionError):
        return None


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _read(parts: Sequence[Path]) -> Iterator[Line]:
    number = 0
    for path in parts:
        with path.open(encoding="utf-8", newline="\n") as file:
            next(file)
            for row in file:
                number += 1
                yield Line(number, *json.loads(row))
