"""Marian as a peer: the program that made a model, run to compare its answers with ours.

It runs in a process of its own, because it ends the whole process on any error.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import sentencepiece

from dragoman.base.errors import DragomanError
from dragoman.interop import verify as comparing
from dragoman.interop.marian import files
from dragoman.interop.marian.shape import ModelOptions, is_pre_norm, is_recurrent
from dragoman.interop.verify import TOO_LONG, Agreement
from dragoman.models.folder.bundle import Bundle
from dragoman.text.tokenizers.punctuation import normalise_punctuation
from dragoman.translation.search.engine import Tokens

_FIXED = ("--cpu-threads", "1", "--quiet", "--max-length", "1000000", "--workspace", "512")
_FACTORS = (2, 8, 64, 1_000_000)


class Marian:
    """Marian with the model of a folder, as a `dragoman.interop.verify.Program`.

    Its methods raise DragomanError if Marian fails.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"Marian {version('pymarian')}"
        self._files = files.find(folder)
        self._sides = [
            _Pieces(*paths) for paths in zip(self._files.vocabularies, self._files.segmenters, strict=True)
        ]
        options = ModelOptions(files.read_marian_weights(self._files.model)[1], str(self._files.model))
        self._mistranslates = (
            options.text("type") == "transformer" and is_pre_norm(options) and not is_recurrent(options)
        )
        language = files.stated_languages(Path(folder))[0]
        self._punctuation = files.punctuation(Path(folder), language)
        self._flags = [
            f"--{name}" for name in ("allow-unk", "allow-special") if self._files.decoding.get(name) == "true"
        ]

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        if self._punctuation is not None:
            lines = [normalise_punctuation(line, self._punctuation) for line in lines]
        return self._sides[0].encode(lines)

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        return [self._sides[1].decode(target) for target in targets]

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]] | None:
        """The greedy translation of each source, of at most that many tokens.

        None for pre-norm self-attention in the decoder. From the second token on, Marian 1.12 takes keys and
        values there that are not normalised, unlike in training and scoring (DecoderLayerSelfAttention in
        src/models/transformer.h).
        """
        if self._mistranslates:
            return None
        # Marian's limit is a multiple of the source. Keep it low, because tables of positions are short.
        work: dict[int, list[int]] = {}
        for number, (source, most) in enumerate(zip(sources, max_tokens, strict=True)):
            needed = (most + 1) / (len(source) + 1)
            work.setdefault(next(factor for factor in _FACTORS if factor >= needed), []).append(number)
        found: dict[int, list[int]] = {}
        for factor, numbers in work.items():
            chosen = [sources[number] for number in numbers]
            answers = self.n_best(chosen, size=1, normalize=0.0, max_length_factor=factor)
            for number, source, answer in zip(numbers, chosen, answers, strict=True):
                if not answer:
                    what = f"{self.name}: no translation of a line of {len(source):,} tokens"
                    raise DragomanError(what, hint=TOO_LONG)
                found[number] = answer[0][0][: max_tokens[number]]
        return [found[number] for number in range(len(sources))]

    def n_best(
        self, sources: Sequence[Tokens], *, size: int, normalize: float, max_length_factor: float = 3.0
    ) -> list[list[tuple[list[int], list[float], float]]]:
        """The translations of a beam of `size`, best first: ids, log-probabilities, and score.

        The log-probability of the end comes last. A translation that is `max_length_factor` as long as its
        source is cut there and has none; scores have 6 digits, log-probabilities 5 decimals.
        """
        arguments = ["--vocabs", *map(str, self._files.vocabularies)]
        arguments += ["--max-length-factor", str(max_length_factor), *self._flags]
        arguments += ["--beam-size", str(size), "--normalize", str(normalize)]
        arguments += ["--n-best", "--word-scores", "--no-spm-encode", "--no-spm-decode"]
        arguments += ["--mini-batch", "1"]  # in a batch, the newer layers may lose the shorter sentences
        text = "".join(f"{self._sides[0].line(source)}\n" for source in sources)
        out = self._run("decode", arguments, text)
        found: list[list[tuple[list[int], list[float], float]]] = [[] for _ in sources]
        for line in out.split("\n")[:-1]:
            head, words, _, score = line.rsplit(" ||| ", 3)
            number, _, pieces = head.partition(" ||| ")
            logps = [float(logp) for logp in words.removeprefix("WordScores=").split()]
            found[int(number)].append((self._sides[1].ids(pieces), logps, float(score)))
        return found

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        with tempfile.TemporaryDirectory(prefix="dragoman-marian-") as work:
            vocabularies, texts = list[str](), list[str]()
            for side, name in enumerate(("source", "target")):
                names, text = (Path(work) / f"{name}.{end}" for end in ("yml", "txt"))
                names.write_text(self._sides[side].numbers(), "utf-8", newline="\n")
                lines = (" ".join(f"t{token}" for token in pair[side]) for pair in pairs)
                text.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
                vocabularies.append(str(names))
                texts.append(str(text))
            arguments = ["--vocabs", *vocabularies, "--train-sets", *texts]
            arguments += ["--mini-batch", "1"]  # as in `n_best`
            out = self._run("score", arguments, "").split()
        nothing = (not source and not target for source, target in pairs)
        return [0.0 if empty else float(logp) for empty, logp in zip(nothing, out, strict=True)]

    def _run(self, command: str, arguments: Sequence[str], text: str) -> str:
        model = ["--models" if command == "decode" else "--model", str(self._files.model)]
        run = subprocess.run(
            [sys.executable, "-m", "pymarian", command, *model, *arguments, *_FIXED],
            input=text.encode(),
            capture_output=True,
        )
        if run.returncode:
            lines = run.stderr.decode(errors="replace").splitlines()
            why = next((line for line in lines if "Error" in line), f"exit code {run.returncode}")
            raise DragomanError(
                f"{self.name} fails on {self._files.model}: {why}",
                hint="is it a model of this release of Marian's?",
            )
        return run.stdout.decode()


def verify(bundle: Bundle, folder: Path, lines: Sequence[str]) -> Agreement:
    """Compare the model with the folder in Marian. Raises DragomanError if they disagree."""
    return comparing.verify(bundle, Marian(folder), lines)


class _Pieces:
    """One side's pieces and ids, as Marian numbers them."""

    def __init__(self, vocabulary: Path, segmenter: Path) -> None:
        self._cutter = sentencepiece.SentencePieceProcessor(model_file=str(segmenter))
        if vocabulary == segmenter:
            self._pieces = [self._cutter.id_to_piece(i) for i in range(len(self._cutter))]
            self._end, self._unknown = self._cutter.eos_id(), self._cutter.unk_id()
        else:
            self._pieces = files.read_pieces(vocabulary)
            self._end, self._unknown = self._pieces.index("</s>"), self._pieces.index("<unk>")
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        cut = self._cutter.encode(list(lines), out_type=str)
        return [[self._ids.get(piece, self._unknown) for piece in pieces] for pieces in cut]

    def decode(self, ids: Tokens) -> str:
        silent = (self._end, self._unknown)
        return str(self._cutter.decode_pieces([self._pieces[i] for i in ids if i not in silent])).strip()

    def line(self, ids: Tokens) -> str:
        return " ".join(self._pieces[i] for i in ids)

    def ids(self, line: str) -> list[int]:
        return [self._ids[piece] for piece in line.split(" ") if piece]

    def numbers(self) -> str:
        """A vocabulary in YAML that names each id by its number, so that any ids can be scored."""
        names = {self._end: "</s>", self._unknown: "<unk>"}
        return "".join(f"{names.get(i, f't{i}')}: {i}\n" for i in range(len(self._pieces)))
