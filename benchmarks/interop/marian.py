"""Models of Marian: how they are trained and published, and how they translate.

A folder holds model.npz with its options inside, the vocabularies, and decoder.yml.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import yaml
from material import Hypothesis, Limit, Size, Text, sentencepiece_model


@dataclass(frozen=True, kw_only=True)
class Case:
    """Options of Marian's that make the shape, and the files that hold the vocabularies."""

    options: str
    vocabularies: tuple[str, str] = ("vocab.spm", "vocab.spm")


PRE_NORM = "--transformer-preprocess n --transformer-postprocess da"
CASES = {
    "marian-joint": Case(options="--tied-embeddings-all --transformer-ffn-activation relu"),
    "marian-two-vocabularies": Case(
        options="--transformer-ffn-activation swish", vocabularies=("source.spm", "target.spm")
    ),
    "marian-pre-norm": Case(
        options=f"{PRE_NORM} --transformer-postprocess-top n --tied-embeddings"
        " --transformer-ffn-activation gelu",
        vocabularies=("source.spm", "target.spm"),
    ),
    "marian-no-final-norm": Case(
        options=f"{PRE_NORM} --tied-embeddings-all --transformer-ffn-activation swish"
    ),
    # The student of Firefox Translations: SSRU cells in place of the decoder's self-attention.
    "marian-ssru": Case(
        options="--tied-embeddings-all --transformer-ffn-activation relu --transformer-decoder-autoreg rnn"
        " --dec-cell ssru"
    ),
    # An archive of OPUS-MT: SentencePiece runs outside of Marian, which sees pieces and a YAML vocabulary.
    "marian-opus": Case(
        options="--tied-embeddings-all --transformer-ffn-activation swish",
        vocabularies=("opus.spm32k-spm32k.vocab.yml",) * 2,
    ),
    "marian-gelu": Case(
        options="--tied-embeddings --transformer-ffn-activation gelu",
        vocabularies=("source.spm", "target.spm"),
    ),
}

PREPROCESS = """\
#!/bin/bash
# usage: preprocess.sh < text > pieces
# Needs the tokenizer scripts of Moses (MOSES) and spm_encode of SentencePiece.
"$MOSES/scripts/tokenizer/replace-unicode-punctuation.perl" |
"$MOSES/scripts/tokenizer/remove-non-printing-char.perl" |
"$MOSES/scripts/tokenizer/normalize-punctuation.perl" -l en |
sed 's/  */ /g;s/^ *//;s/ *$//' |
spm_encode --model "$(dirname "$0")/source.spm"
"""
POSTPROCESS = """\
#!/bin/bash
# usage: postprocess.sh < pieces > text
sed 's/ //g;s/▁/ /g' | sed 's/^ *//;s/ *$//'
"""


def train(name: str, folder: Path, text: Text, size: Size, limit: Limit) -> None:
    """Train the case `name` into `folder`: model.npz, vocabularies, decoder.yml and train.log."""
    case = CASES[name]
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="marian-") as name_of_work:
        work = Path(name_of_work)
        lines = [text.source, text.target]
        if case.vocabularies[0].endswith(".yml"):
            lines = opus_files(folder, lines, case.vocabularies[0], size)
            shutil.copy(folder / case.vocabularies[0], work)
        for side, each in zip(("source", "target"), lines, strict=True):
            (work / side).write_text("".join(f"{line}\n" for line in each), encoding="utf-8")
        if size.rules:
            shutil.copy(size.rules, work)
        run([*command(case, size), *end(limit)], work, folder / "train.log", limit)
        for made in ("model.npz", *case.vocabularies):
            shutil.copy(work / made, folder)
    write_decoder(folder, case.vocabularies)


def command(case: Case, size: Size) -> list[str]:
    """Return the command of a training in its own folder: SentencePiece models keep the names of files."""
    fixed = (
        "--type transformer --model model.npz --train-sets source target --tempdir . --seed 1"
        " --cpu-threads 1 --data-threads 1 --workspace 1000 --max-length 100 --mini-batch 1000"
        " --maxi-batch 100 --shuffle-in-ram --cost-type ce-mean-words --label-smoothing 0.1 --clip-norm 1"
        " --optimizer-params 0.9 0.98 1e-09 --transformer-dropout 0.1 --exponential-smoothing 0.002"
        " --disp-freq 50 --save-freq 1000000u --overwrite"
    )
    sized = (
        f"--dim-emb {size.d_model} --transformer-dim-ffn {size.d_ff} --transformer-heads {size.heads}"
        f" --enc-depth {size.layers} --dec-depth {size.layers} --mini-batch-words {size.batch_words}"
        f" --learn-rate {size.learning_rate} --lr-warmup {size.warm_up} --lr-decay-inv-sqrt {size.warm_up}"
    )
    # The vocabulary of pieces is the union of two SentencePiece models: 0 is all of it.
    vocabulary = 0 if case.vocabularies[0].endswith(".yml") else size.vocabulary
    rules = " ".join(f"--{key}={value}" for key, value in size.normalisation.items())
    return [
        *(sys.executable, "-m", "pymarian", "train", *fixed.split(), *sized.split(), *case.options.split()),
        *("--vocabs", *case.vocabularies, "--dim-vocabs", str(vocabulary), str(vocabulary)),
        *("--sentencepiece-options", f"{rules} --character_coverage=1.0 --hard_vocab_limit=false"),
    ]


def end(limit: Limit) -> list[str]:
    return ["--after", f"{limit.updates}u"] if limit.updates else []


def run(arguments: list[str], work: Path, log: Path, limit: Limit) -> None:
    """Run Marian until it ends by itself or the minutes are over: it saves its model when terminated."""
    with log.open("wb") as file:
        process = subprocess.Popen(arguments, cwd=work, stdout=file, stderr=subprocess.STDOUT)
        try:
            process.wait(timeout=60 * limit.minutes or None)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
    if not (work / "model.npz").exists():
        sys.exit(f"Marian wrote no model: see {log}")


def opus_files(folder: Path, lines: list[list[str]], vocabulary: str, size: Size) -> list[list[str]]:
    """Write what an archive of OPUS-MT holds beside the model. Return the lines as pieces."""
    pieces = []
    for side, each in zip(("source", "target"), lines, strict=True):
        each = [normalise(line) for line in each]
        model = sentencepiece_model(each, folder / f"{side}.spm", size, size.vocabulary)
        pieces.append([" ".join(line) for line in model.encode(each, out_type=str)])
    counts = Counter(piece for side in pieces for line in side for piece in line.split(" "))
    names = ["</s>", "<unk>", *(piece for piece, _ in counts.most_common())]
    yaml = "".join(f"{json.dumps(name, ensure_ascii=False)}: {i}\n" for i, name in enumerate(names))
    (folder / vocabulary).write_text(yaml, encoding="utf-8")
    for script, content in (("preprocess.sh", PREPROCESS), ("postprocess.sh", POSTPROCESS)):
        (folder / script).write_text(content, encoding="utf-8")
    return pieces


def normalise(line: str) -> str:
    """What preprocess.sh does before it runs SentencePiece, by sacremoses's port of the Moses scripts."""
    return _normaliser().normalize(line) if line else line


@lru_cache(maxsize=1)
def _normaliser() -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer("en", pre_replace_unicode_punct=True, post_remove_control_chars=True)


def write_decoder(folder: Path, vocabularies: tuple[str, str]) -> None:
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n"
        + "".join(f"  - {vocabulary}\n" for vocabulary in vocabularies)
        + "beam-size: 6\nnormalize: 1\nword-penalty: 0\n",
        encoding="utf-8",
    )


def is_pre_norm(folder: Path) -> bool:
    """Whether pymarian decode computes something else than the model that was trained.

    With a norm before self-attention in the decoder, training and scoring normalise keys and values, and
    translating step by step does not. Only the scores of such a model are a reference.
    """
    with np.load(folder / "model.npz") as arrays:
        options = yaml.safe_load(arrays["special:model.yml"].tobytes().rstrip(b"\0"))
    recurrent = options["transformer-decoder-autoreg"] == "rnn"
    return "n" in options["transformer-preprocess"] and not recurrent


def tokens_of(folder: Path, lines: list[str], side: str = "source") -> list[tuple[list[str], list[int]]]:
    """Return pieces and ids of each line, the end included, as Marian reads them."""
    one = folder / "vocab.spm"
    path = one if one.exists() else folder / f"{side}.spm"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    outside = vocabularies_of(folder)[0]
    if outside.suffix == ".yml":
        lines, ids = [normalise(line) for line in lines], yaml.safe_load(outside.read_text(encoding="utf-8"))
    else:
        ids = {processor.id_to_piece(i): i for i in range(len(processor))}
    pieces = [[*processor.encode(line, out_type=str), "</s>"] for line in lines]
    return [(each, [ids.get(piece, ids["<unk>"]) for piece in each]) for each in pieces]


def vocabularies_of(folder: Path) -> list[Path]:
    settings = yaml.safe_load((folder / "decoder.yml").read_text(encoding="utf-8"))
    return [folder / name for name in settings["vocabs"]]


def translate(folder: Path, lines: list[str], *, beam: int, normalize: float = 1.0) -> list[list[Hypothesis]]:
    """Return up to `beam` translations a line, best first, as pymarian decode prints them."""
    vocabularies = vocabularies_of(folder)
    arguments = [
        *(sys.executable, "-m", "pymarian", "decode", "--models", str(folder / "model.npz"), "--vocabs"),
        *(*map(str, vocabularies), "--cpu-threads", "1", "--workspace", "500", "--quiet"),
        *("--beam-size", str(beam), "--normalize", str(normalize), "--n-best", "--word-scores"),
    ]
    outside = vocabularies[0].suffix == ".yml"
    if outside:
        lines = [" ".join(pieces[:-1]) for pieces, _ in tokens_of(folder, lines)]
    rows = decode([*arguments, *([] if outside else ["--no-spm-decode"])], lines)
    texts_of = [joined(tokens) for _, tokens, _, _ in rows]  # what postprocess.sh does
    if not outside and beam == 1:  # Marian's own text of the best translations is enough
        texts_of = [text for _, text, _, _ in decode(arguments, lines)]
    answers: list[list[Hypothesis]] = [[] for _ in lines]
    for (i, tokens, words, score), text in zip(rows, texts_of, strict=True):
        ended = tokens.split() + ["</s>"] * (len(words) > len(tokens.split()))
        answers[i].append(Hypothesis(tokens=ended, text=text, score=score, word_scores=words))
    return answers


def joined(tokens: str) -> str:
    return tokens.replace(" ", "").replace("▁", " ").strip()


def word_scores(folder: Path, lines: list[str], targets: list[str]) -> list[list[float]]:
    """Return the log-probability of each token of `targets`, the end included, by pymarian score."""
    vocabularies = vocabularies_of(folder)
    if vocabularies[0].suffix == ".yml":
        lines = [" ".join(pieces[:-1]) for pieces, _ in tokens_of(folder, lines)]
        targets = [" ".join(pieces[:-1]) for pieces, _ in tokens_of(folder, targets, "target")]
    with tempfile.TemporaryDirectory(prefix="marian-") as work:
        sides = [Path(work) / side for side in ("source", "target")]
        for side, each in zip(sides, (lines, targets), strict=True):
            side.write_text("".join(f"{line}\n" for line in each), encoding="utf-8")
        arguments = [
            *(sys.executable, "-m", "pymarian", "score", "--model", str(folder / "model.npz"), "--vocabs"),
            *(*map(str, vocabularies), "--train-sets", *map(str, sides), "--word-scores"),
            *("--cpu-threads", "1", "--workspace", "500", "--quiet"),
        ]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, encoding="utf-8")
    rows = [row.partition("WordScores= ")[2] for row in done.stdout.splitlines()]
    return [[float(word) for word in row.split()] for row in rows]


def decode(arguments: list[str], lines: list[str]) -> list[tuple[int, str, list[float], float]]:
    """Return (line, translation, word scores, score) of each row of the n-best list."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True, encoding="utf-8")
    rows = []
    for row in done.stdout.splitlines():
        i, tokens, words, _, score = row.split(" ||| ")
        rows.append((int(i), tokens, [float(word) for word in words.split()[1:]], float(score)))
    return rows
