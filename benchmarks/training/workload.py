"""The same text for all contenders: as batches of numbers for libraries, as files for toolkits.

A workload is a folder:

    batches.npz      batch i is `source_i` (B, S), `target_i` (B, T): int64, rows end in 2, padding is 0
    train.src, .tgt  the text; train.pieces.src, .tgt the same in subwords
    subwords.spm     the SentencePiece model; pieces.txt its subwords
    about.json       the fields of `About`
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from peers.timing import END, PAD, START

from dragoman.base.errors import DataError
from dragoman.base.machine import cache_folder
from dragoman.text import toy
from dragoman.text.tokenizers import subwords
from dragoman.training.data.batches import collate, plan

VOCAB = 8000
PAIRS = 40_000  # of the embedded corpus
FULL = 0.85  # share of its budget that a batch must use, so that all batches have about one size


@dataclass(frozen=True, kw_only=True)
class About:
    """Facts of a workload."""

    title: str
    pairs: int
    vocab: int
    batch_tokens: int
    batches: int


@dataclass(frozen=True)
class Workload:
    """A folder of batches."""

    folder: Path
    about: About

    @property
    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """source_BS and target_BT of each batch."""
        with np.load(self.folder / "batches.npz") as arrays:
            return [(arrays[f"source_{i}"], arrays[f"target_{i}"]) for i in range(self.about.batches)]


def load(folder: Path) -> Workload:
    """Return the workload that `make` wrote."""
    return Workload(folder, About(**json.loads((folder / "about.json").read_text(encoding="utf-8"))))


def embedded(*, batch_tokens: int, batches: int) -> Workload:
    """The workload of the embedded corpus."""
    return make(toy.pairs(count=PAIRS), title="embedded corpus", batch_tokens=batch_tokens, batches=batches)


def make(pairs: Sequence[tuple[str, str]], *, title: str, batch_tokens: int, batches: int) -> Workload:
    """Return the workload of this text, made or from the cache. Raises DataError for too little text."""
    text = "\n".join(f"{source}\t{target}" for source, target in pairs)
    facts = f"3 {title} {batch_tokens} {batches} {VOCAB}\n{text}"
    folder = cache_folder() / "bench" / hashlib.sha256(facts.encode()).hexdigest()[:16]
    if (folder / "about.json").exists():
        return load(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lines = [line for pair in pairs for line in pair]
    vocabulary = subwords.train(lines, "bpe", vocab_size=VOCAB, byte_fallback=False, character_coverage=1.0)
    sources, targets = (vocabulary.encode([pair[side] for pair in pairs]) for side in (0, 1))
    lengths = [np.array([len(ids) for ids in side]) for side in (sources, targets)]
    groups = [
        group
        for group in plan(*lengths, batch_tokens=batch_tokens, seed=1, epoch=0)
        if (lengths[1][group].max() + 1) * len(group) > FULL * batch_tokens
    ]
    if len(groups) < batches:
        raise DataError(
            f"{title}: {len(pairs):,} pairs fill {len(groups)} batches of {batch_tokens:,}, not {batches}",
            hint="use more text or fewer steps",
        )
    arrays: dict[str, np.ndarray] = {}
    for i, group in enumerate(groups[:batches]):
        batch = collate(
            [sources[row] for row in group], [targets[row] for row in group],
            pad_id=PAD, start_id=START, end_id=END,
        )  # fmt: skip
        arrays |= {f"source_{i}": batch.source_BS.numpy(), f"target_{i}": batch.predict_BT.numpy()}
    about = About(title=title, pairs=len(pairs), vocab=VOCAB, batch_tokens=batch_tokens, batches=batches)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        draft = Path(temporary) / "workload"
        draft.mkdir()
        (draft / "subwords.spm").write_bytes(vocabulary.to_bytes())
        names = [vocabulary.pieces([i])[0] for i in range(len(vocabulary))]
        (draft / "pieces.txt").write_text("\n".join(names[4:]) + "\n", encoding="utf-8", newline="\n")
        for suffix, side, ids in (("src", 0, sources), ("tgt", 1, targets)):
            (draft / f"train.{suffix}").write_text(
                "".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8", newline="\n"
            )
            cut = "".join(" ".join(names[i] for i in row) + "\n" for row in ids)
            (draft / f"train.pieces.{suffix}").write_text(cut, encoding="utf-8", newline="\n")
        np.savez(draft / "batches.npz", **arrays)  # type: ignore[arg-type]
        (draft / "about.json").write_text(json.dumps(asdict(about)), encoding="utf-8")
        if not folder.exists():
            draft.rename(folder)
    return load(folder)
