"""What all contenders are given: batches of one text, as numbers for libraries and as files for toolkits.

A workload is a folder. `batches.npz` holds, for batch i, `source_i` (B, S) and `target_i` (B, T), int64,
padded with 0, each row ended by 2. `train.src` and `train.tgt` are the text, `train.pieces.*` the same in
subwords, `subwords.spm` the SentencePiece model, `pieces.txt` its subwords and `about.json` what it all is.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dragoman.base.errors import DataError
from dragoman.base.machine import cache_folder
from dragoman.models.shapes import TransformerConfig
from dragoman.text import subwords
from dragoman.text.ids import END, PAD, START
from dragoman.training.batches import collate, plan

VOCAB = 8000
FULL = 0.85  # of its budget that a batch must use, so that all are of one size


@dataclass(frozen=True, kw_only=True)
class About:
    """What a workload is."""

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
    """What `make` wrote."""
    return Workload(folder, About(**json.loads((folder / "about.json").read_text(encoding="utf-8"))))


def make(pairs: Sequence[tuple[str, str]], *, title: str, batch_tokens: int, batches: int) -> Workload:
    """The workload of this text, made once and kept in the cache. Raises DataError for too little text."""
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
            hint="give more text, or ask for fewer steps",
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
        made = Path(temporary) / "workload"
        made.mkdir()
        (made / "subwords.spm").write_bytes(vocabulary.to_bytes())
        names = [vocabulary.pieces([i])[0] for i in range(len(vocabulary))]
        (made / "pieces.txt").write_text("\n".join(names[4:]) + "\n", encoding="utf-8")
        for suffix, side, ids in (("src", 0, sources), ("tgt", 1, targets)):
            (made / f"train.{suffix}").write_text(
                "".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8"
            )
            cut = "".join(" ".join(names[i] for i in row) + "\n" for row in ids)
            (made / f"train.pieces.{suffix}").write_text(cut, encoding="utf-8")
        np.savez(made / "batches.npz", **arrays)  # type: ignore[arg-type]
        (made / "about.json").write_text(json.dumps(asdict(about)), encoding="utf-8")
        if not folder.exists():
            made.rename(folder)
    return load(folder)


def operations(shape: TransformerConfig, source: np.ndarray, target: np.ndarray) -> float:
    """Floating-point operations of one training step on a batch, of tokens that are no padding.

    A multiplication and an addition for each weight and token, the embeddings' lookups not counted, and
    those of the attention's two products; twice as many again for the backward pass.
    """
    s, t = int((source != PAD).sum()), int((target != PAD).sum())
    s_long, t_long = s / len(source), t / len(target)
    e, f = shape.d_model, shape.d_ff
    encoder = shape.encoder_layers * (4 * e * e + 2 * e * f + 2 * e * s_long) * s
    decoder = shape.decoder_layers * ((6 * e * e + 2 * e * f + 2 * e * (s_long + t_long)) * t + 2 * e * e * s)
    return 6 * (encoder + decoder + e * VOCAB * t)
