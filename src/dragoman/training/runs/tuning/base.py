"""A model of any kind that a run uses, with the digest of its weights: one to tune, or a teacher."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.config import read_toml
from dragoman.interop.formats import format_of, read_model
from dragoman.interop.source import opened
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.checkpoints.paths import Checkpoints, Part
from dragoman.training.runs.folder import RunFolder
from dragoman.translation.folder.checkpoint import run_of
from dragoman.translation.folder.config import WEIGHTS, FolderConfig, read_config
from dragoman.translation.folder.digest import digest_of
from dragoman.translation.folder.header import read_header
from dragoman.translation.folder.vocabulary import tokenizer_of_folder

if TYPE_CHECKING:
    from dragoman.models.folder.bundle import Bundle


_OWN: dict[Part, Part] = {"train": "train", "valid": "valid"}
_REPLAYED: dict[Part, Part] = {"train": "replay", "valid": "general"}


@dataclass(frozen=True, kw_only=True)
class Base:
    """A model that tuning starts from, or that teaches."""

    name: str  # as the user wrote it
    config: FolderConfig
    tokenizer: Tokenizer
    digest: str  # sha256 of its weights
    checkpoints: Checkpoints  # of its training, if they are still there
    general: dict[Part, Part]  # which of its texts are general, for training and for validation
    load: Callable[[], Bundle]  # a new copy of the model in float32
    folder: Path | None = None  # where it is, for a model of dragoman's


@contextmanager
def open_model(source: str | Path) -> Iterator[Base]:
    """Open a model folder, an archive, or a model of another program, as `Translator.load` does.

    Only models of other programs need PyTorch at once. Raises ModelError for a model that cannot be read.
    """
    with opened(source) as folder:
        if ours := format_of(folder) is None:
            config = read_config(folder)
            read_header(folder / WEIGHTS)  # so that missing weights are found before the text is read
            tokenizer, digest = tokenizer_of_folder(folder, config), config.weights
            digest = digest or digest_of(folder / WEIGHTS)
        else:
            bundle = read_model(folder)
            config, tokenizer, digest = bundle.config, bundle.tokenizer, _digest(bundle)
        run = run_of(Path(source)) if ours else folder  # a checkpoint's own folder has no text
        home = run if run.is_dir() else folder
        yield Base(
            name=str(source),
            config=config,
            tokenizer=tokenizer,
            digest=digest,
            checkpoints=Checkpoints(home / "checkpoints"),
            general=_REPLAYED if ours and _is_tuned(home) else _OWN,
            load=lambda: read_model(folder),
            folder=folder if ours else None,
        )


def _is_tuned(folder: Path) -> bool:
    """Whether tuning made the model. Then the text that it was trained on is a memory."""
    path = RunFolder(folder).recipe
    return path.exists() and bool(read_toml(path).get("tuning", {}).get("base"))


def _digest(bundle: Bundle) -> str:
    """The digest of weights that are not in a file of ours: of their names and numbers."""
    from dragoman.models.folder.weights import weights_of

    digest = hashlib.sha256()
    for name, weight in sorted(weights_of(bundle.model).items()):
        digest.update(name.encode())
        digest.update(weight.contiguous().numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"
