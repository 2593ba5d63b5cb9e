"""Open the source of a model as a folder: a folder, a checkpoint, an archive, or a name on the hub.

Nothing of it is executed. An archive is unpacked into a temporary folder, and only regular files of it.
"""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from dragoman.base.errors import ConfigError, DataError, DragomanError, ModelError
from dragoman.base.files import link_or_copy
from dragoman.translation.folder.checkpoint import model_folder

if TYPE_CHECKING:
    import tarfile
    import zipfile

log = logging.getLogger(__name__)

_LONGEST_PATH = 4_000
_MOST_FILES = 1_000
_MOST_BYTES = 20 * 2**30  # more than any translation model has
_BLOCK = 2**20
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_PAIR = re.compile(r"model\.([a-z]{4})\.")  # of languages, in Mozilla's names
_WANTED = ("*.json", "*.spm", "*.yml", "*.npz", "*.txt", "*.model")  # on the hub, besides weights
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that a model has


@contextmanager
def opened(source: str | Path, *, revision: str | None = None) -> Iterator[Path]:
    """Yield the folder of a model. A temporary one is deleted afterwards.

    A string may be a name on the hub; a `Path` never is, so that no misspelled path leaves this machine.
    `revision` is a branch, tag or commit on the hub. Raises ModelError if the source does not exist or is
    no folder, archive or name; ConfigError if only one there has revisions; DataError for an unsafe archive.
    """
    path, name = Path(source), str(source)
    if not name or len(name) > _LONGEST_PATH:
        raise ModelError(f"{name[:50]!r}: not the path or name of a model", hint="check the path")
    path = model_folder(path)
    if revision is not None and path.exists():
        raise ConfigError(f"{source}: --revision is for models on the hub", hint="leave it out")
    if path.is_dir() and not _zipped(path):
        yield path
    elif path.exists():
        import tempfile

        with tempfile.TemporaryDirectory(prefix="dragoman-") as temporary:
            folder = Path(temporary, path.name.split(".")[0] or "model")  # an import reads languages in it
            folder.mkdir()
            if path.is_file() and not path.name.removesuffix(".gz").endswith(".bin"):
                _unpack(path, folder)
                folder = path = _only_folder(folder)
            if path.is_file() or _zipped(path):
                folder = Path(temporary, "unzipped")
                folder.mkdir()
                _gather(path, folder)
            yield folder
    elif isinstance(source, str) and is_hub_name(source):
        yield download(source, revision=revision)
    else:
        raise ModelError(
            f"{source}: no such model folder",
            hint="check the path; dragoman train and dragoman import make model folders",
        )


def is_hub_name(source: str) -> bool:
    """Whether `source` is spelled as a name on the hub.

    It is not if its first part is a folder here: then it is a misspelled path, which should not leave this
    machine.
    """
    return _HUB_NAME.fullmatch(source) is not None and not Path(source).parent.exists()


def download(name: str, *, revision: str | None = None) -> Path:
    """Return the folder in the hub's cache with the files of a model that an import reads.

    Scripts and weights of other frameworks are not downloaded. Raises ModelError for an unknown
    model, DragomanError if the hub cannot be reached or huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import HfApi, snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError as error:
        raise DragomanError(
            f"{name}: no such folder, and models on the hub need huggingface_hub",
            hint="pip install 'dragoman[hub]'",
        ) from error
    log.info("asking the Hugging Face hub for %s", name)
    try:
        names = HfApi().list_repo_files(name, revision=revision)
        weights = next((one for one in _WEIGHTS if {one, f"{one}.index.json"} & {*names}), "")
        shards = weights.replace(".", "-*-of-*.")
        wanted = [*_WANTED, *([weights, shards] if weights else [])]
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted))
    except RepositoryNotFoundError as error:
        raise ModelError(f"{name}: no such folder, nor model on the hub", hint="check the name") from error
    except Exception as reason:  # of whichever HTTP library the client uses
        try:
            return Path(snapshot_download(name, revision=revision, local_files_only=True))
        except (LocalEntryNotFoundError, OSError):
            first = (str(reason) or type(reason).__name__).splitlines()[0]
            raise DragomanError(
                f"{name}: no such folder, and the hub cannot be reached ({first})",
                hint="check the path, or the connection",
            ) from reason


def _zipped(folder: Path) -> bool:
    """Whether a folder has a Firefox model as it is downloaded: model.ende.intgemm.alphas.bin.gz."""
    return any(folder.glob("*.bin.gz"))


def _gather(source: Path, folder: Path) -> None:
    """Bring the files of a Firefox model into `folder`, unzipped: all of a folder, or a .bin with its own.

    Files belong together if their names have the same pair of languages: `model.ende.intgemm.alphas.bin`
    and `vocab.ende.spm`.
    """
    one = source.is_file()
    pair = _PAIR.match(source.name) if one else None
    for path in sorted((source.parent if one else source).iterdir()):
        name = path.name.removesuffix(".gz")
        ours = name.endswith((".bin", ".spm"))
        if not path.is_file() or (folder / name).exists():  # unzipped already: it comes before its .gz
            continue
        if one and ours and path != source:
            other_model = name.endswith(".bin") and not name.startswith("lex")
            if other_model or (pair and pair[1] not in name.split(".")):
                continue
        if one and _is_of_another(path, source):
            continue
        if not ours or path.suffix != ".gz":
            link_or_copy(path, folder / path.name)
            continue
        try:
            with gzip.open(path) as packed:
                _copy(packed, folder / name, path, _MOST_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: a damaged file ({error})", hint="download it again") from error


def _is_of_another(path: Path, source: Path) -> bool:
    """Whether a file beside a .bin belongs to another model of their folder."""
    if path.suffix in (".yml", ".yaml"):
        named = set(re.findall(r"[\w.-]*model[\w.-]*\.bin", path.read_text("utf-8", "replace")))
        return bool(named) and source.name.removesuffix(".gz") not in named
    models = {one.name.removesuffix(".gz") for one in source.parent.glob("model.*.bin*")}
    return path.suffix == ".npz" or (path.name == "metadata.json" and len(models) > 1)


def _unpack(archive: Path, folder: Path) -> None:
    """Write the files of a zip or tar archive into `folder`."""
    import lzma
    import tarfile
    import zipfile

    try:
        if zipfile.is_zipfile(archive) and archive.suffix != ".npz":
            with zipfile.ZipFile(archive) as packed:
                _write_all(archive, folder, _zip_members(packed))
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                _write_all(archive, folder, _tar_members(tar))
        else:
            raise ModelError(f"{archive}: not a zip or tar archive", hint="give the folder of the model")
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{archive}: a damaged archive ({error})", hint="download it again") from error
    # Encrypted, an unknown compression, no name, or a name or size that no file can have here.
    except (RuntimeError, NotImplementedError, OSError, ValueError, IndexError, MemoryError) as error:
        # MemoryError: xz that asks for a dictionary of 4 GB
        reason = str(error) or "it needs too much memory"
        raise DataError(f"{archive}: cannot be unpacked ({reason})", hint="unpack it yourself") from error


Member = tuple[str, IO[bytes] | None]  # name, and contents if it is a regular file


def _zip_members(packed: zipfile.ZipFile) -> Iterator[Member]:
    for entry in packed.infolist():
        if not entry.is_dir():
            kind = entry.external_attr >> 28  # of a Unix file: 0 if unknown, 8 for a regular file
            yield entry.filename, packed.open(entry) if kind in (0, 8) else None


def _tar_members(tar: tarfile.TarFile) -> Iterator[Member]:
    for entry in tar:
        if not entry.isdir():
            yield entry.name, tar.extractfile(entry) if entry.isreg() else None


def _write_all(archive: Path, folder: Path, members: Iterable[Member]) -> None:
    left = _MOST_BYTES
    for number, (name, content) in enumerate(members, 1):
        pure = PurePosixPath(name.replace("\\", "/"))
        unsafe = pure.is_absolute() or ".." in pure.parts or ":" in name or "\0" in name
        if unsafe or content is None:
            what = "points outside the archive" if unsafe else "is not a regular file"
            raise DataError(f"{archive}: {name!r} {what}", hint="do not trust this archive")
        if number > _MOST_FILES:
            raise DataError(f"{archive}: more than {_MOST_FILES:,} files", hint="is it a model?")
        path = folder.joinpath(*pure.parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with content:
            left -= _copy(content, path, archive, left)


def _copy(content: IO[bytes] | gzip.GzipFile, path: Path, source: Path, most: int) -> int:
    """Write a file and return its size. Raises DataError about `source` for more than `most` bytes."""
    size = 0
    with path.open("wb") as file:
        while block := content.read(_BLOCK):
            size += len(block)
            if size > most:
                raise DataError(f"{source}: more than {_MOST_BYTES:,} bytes", hint="is it a model?")
            file.write(block)
    return size


def _only_folder(folder: Path) -> Path:
    """Return the folder inside, if an archive has nothing else at its top but what macOS adds."""
    inside = [path for path in folder.iterdir() if path.name != "__MACOSX"]
    return _only_folder(inside[0]) if len(inside) == 1 and inside[0].is_dir() else folder
