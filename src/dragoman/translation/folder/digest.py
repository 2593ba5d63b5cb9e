"""The digest of a model's weights: a file that was damaged or exchanged is refused. Imports no torch.

It is SHA-256 of the bytes of model.safetensors, so `sha256sum` and the Hugging Face hub show the same number.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dragoman.base.errors import ModelError

_FORM = re.compile(r"sha256:[0-9a-f]{64}")


def is_digest(value: object) -> bool:
    """Whether `value` is text in the form that `digest_of` returns."""
    return isinstance(value, str) and _FORM.fullmatch(value) is not None


def digest_of(path: Path) -> str:
    """Return `sha256:` and the SHA-256 of a file in hexadecimal. The file is read once, in blocks.

    Raises ModelError if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read ({error.strerror or error})", hint="restore the file or train again"
        ) from error


def check_digest(path: Path, digest: str | None) -> None:
    """Raise ModelError unless the file has the digest. None, in folders of release 0.1, allows any."""
    if digest is not None and digest_of(path) != digest:
        raise ModelError(
            f"{path}: damaged, or not the weights that config.json names: their digests differ",
            hint="copy the folder again; in a training folder, repeat the command that trained it",
        )
