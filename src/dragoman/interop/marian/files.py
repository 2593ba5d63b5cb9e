"""The files of a Marian model: find them, and read them without executing anything.

    model.npz, .bin  weights and, as `special:model.yml`, the options of the model
    decoder.yml      the model, its vocabularies and options of the search
    *.spm, *.yml     vocabularies: SentencePiece models, or lists of pieces

Archives of OPUS-MT have lists of pieces, and also source.spm and target.spm. A Firefox model has no
decoder.yml:

    model.ende.intgemm.alphas.bin             weights, 8 bit
    lex.50.50.ende.s2t.bin                    the shortlist
    vocab.ende.spm                            the vocabulary, or srcvocab.enja.spm and trgvocab.enja.spm
    metadata.json, registry.json              languages and digests
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from os.path import isfile  # also of names that no file can have, for which `Path.is_file` raises
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml  # type: ignore[import-untyped]
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.interop.marian.binary import Matrix, read_binary
from dragoman.text.corpora.languages import is_language

OPTIONS = "special:model.yml"

_INFLATION = 32  # weights hardly compress: an archive that grows more is not a model
_LONGEST = 64_000_000  # bytes; the vocabulary of a large model has about 5 million
_DEEPEST_YAML = 8
_UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)
# Firefox's search: src/translations in its sources; bergamot's configuration has the same.
_FIREFOX = {"beam-size": "1", "normalize": "1.0"}
_LISTS = {".yml", ".yaml", ".json", ".txt"}
_WHOLE = "was it copied whole?"


@dataclass(frozen=True, kw_only=True)
class Files:
    """Where the parts of a model are. `vocabularies` and `segmenters` are the source's and the target's.

    A segmenter is a SentencePiece model. It is the vocabulary itself, unless that is a list of pieces.
    """

    model: Path
    vocabularies: tuple[Path, Path]
    segmenters: tuple[Path, Path]
    decoding: dict[str, Any]
    shortlist: Path | None = None


def find(folder: Path) -> Files:
    """Return the files of the model in `folder`. Raises ModelError that names missing or extra files."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder", hint="give the folder that holds model.npz")
    settings = _settings(folder)
    decoding = {} if any(folder.glob("*.npz")) else dict(_FIREFOX)
    if settings:
        decoding = parse_mapping(read_limited(settings), str(settings))
    model = _model(folder, settings, decoding)
    vocabularies = _vocabularies(folder, settings, decoding)
    return Files(
        model=model,
        vocabularies=vocabularies,
        segmenters=_segmenters(folder, vocabularies),
        decoding=decoding,
        shortlist=_shortlist(folder, settings, decoding),
    )


def read_marian_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any], dict[str, Matrix]]:
    """Return the weights by name in float32, the options that were saved with them, and the 8-bit matrices.

    The multipliers of inputs, `NAME_QuantMultA`, are among the weights. Raises ModelError if the file is
    damaged.
    """
    if path.suffix != ".bin":
        return *read_npz(path), {}
    items = read_binary(path)
    options = _options(items, path)
    arrays = {name: one.weight if isinstance(one, Matrix) else one for name, one in items.items()}
    weights = {
        name: torch.from_numpy(np.array(one)) for name, one in arrays.items() if "special:" not in name
    }
    return weights, options, {name: one for name, one in items.items() if isinstance(one, Matrix)}


def read_npz(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the weights by name in float32, and the options that were saved with them.

    Raises ModelError if the archive is damaged, has pickled objects or quantised weights, or is not Marian's.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            inflated = sum(member.file_size for member in archive.infolist())
        if inflated > _INFLATION * path.stat().st_size:
            raise ModelError(f"{path}: it would unpack to {inflated:,} bytes", hint="do not trust this file")
        with np.load(path) as arrays:  # refuses pickled objects, numpy's default
            found = {name: arrays[name] for name in arrays.files}
    except _UNREADABLE as error:
        raise ModelError(f"{path}: cannot be read as a numpy archive ({error})", hint=_WHOLE) from error
    options = _options(found, path)
    weights = {name: array for name, array in found.items() if not name.startswith("special:")}
    packed = [n for n, one in weights.items() if not isinstance(one, np.ndarray) or one.dtype.kind != "f"]
    if packed:
        raise ModelError(
            f"{path}: quantised or packed weights ({packed[0]} and {len(packed) - 1} others)",
            hint="import the float32 model.npz that it was made from",
        )
    return {name: torch.from_numpy(np.array(one, np.float32)) for name, one in weights.items()}, options


def _options(items: dict[str, Any], path: Path) -> dict[str, Any]:
    """Take the options of the model out of what a file holds."""
    text = items.pop(OPTIONS, None)
    if not isinstance(text, np.ndarray) or text.dtype.itemsize != 1:
        raise ModelError(
            f"{path}: no options inside ({OPTIONS})", hint="is it Marian's model, not its optimizer?"
        )
    return parse_mapping(text.tobytes().rstrip(b"\0"), f"{path}: {OPTIONS}")


def read_limited(path: Path) -> bytes:
    """Return the bytes of a vocabulary or of a YAML file. Raises ModelError if it is missing or too long."""
    try:
        if path.stat().st_size > _LONGEST:
            raise ModelError(f"{path}: longer than {_LONGEST:,} bytes", hint="is it the right file?")
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_WHOLE) from error


def parse_mapping(data: bytes, where: str) -> dict[str, Any]:
    """Return a YAML mapping whose scalars stay strings, so that `no` and `1e3` can be pieces and words.

    Refuses tags, aliases and deep nesting, which Marian does not write. Raises ModelError.
    """
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        events = iter(yaml.parse(data.decode("utf-8"), Loader=loader))
        starts = (yaml.MappingStartEvent, yaml.SequenceStartEvent, yaml.ScalarEvent, yaml.AliasEvent)
        first = next((event for event in events if isinstance(event, starts)), None)
        value = {} if first is None else _value(first, events, 0)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise ModelError(f"{where}: not YAML as Marian writes it ({problem})", hint=_WHOLE) from error
    if not isinstance(value, dict):
        raise ModelError(f"{where}: not a list of keys and values", hint=_WHOLE)
    return value


def read_pieces(path: Path) -> list[str]:
    """Return the pieces of a list (.yml, .yaml, .json or .txt) by id; "" for an id without a piece.

    Raises ModelError if it is damaged.
    """
    if path.suffix == ".txt":
        return [line.removesuffix("\r") for line in _text(path).removesuffix("\n").split("\n")]
    if path.suffix == ".json":
        try:
            table = json.loads(_text(path))
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{path}: not valid JSON ({error})", hint=_WHOLE) from error
    else:
        table = parse_mapping(read_limited(path), str(path))
    try:
        ids = {str(piece): int(number) for piece, number in table.items()}
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: not a list of pieces and ids ({error})", hint=_WHOLE) from error
    if not ids or min(ids.values()) < 0 or max(ids.values()) > 2 * len(ids) + 1000:
        raise ModelError(f"{path}: not a list of pieces with ids from 0", hint=_WHOLE)
    pieces = [""] * (max(ids.values()) + 1)
    for piece, number in ids.items():
        pieces[number] = piece
    return pieces


def stated_languages(folder: Path) -> tuple[str, str]:
    """Return the languages that metadata.json, README.md or a name states; "und" if none does."""
    match _about(folder):
        case {"sourceLanguage": str(source), "targetLanguage": str(target)}:
            return source, target
    for name in ("README.md", "README"):
        path = folder / name
        text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
        stated = [re.search(rf"{side} language\(?s?\)?: *([\w-]+)", text) for side in ("source", "target")]
        if stated[0] and stated[1]:
            return stated[0][1], stated[1][1]
    files = "\n".join(path.name for path in folder.glob("model.*.bin"))
    pairs = re.findall(r"^model\.([a-z]{2})([a-z]{2})\.", files, re.MULTILINE)
    name = re.sub("^opus-mt-(tc-)?", "", folder.resolve().name)
    pairs += re.findall(r"(?=(?:^|[-_.])([a-z]{2,3})-([a-z]{2,3})(?:$|[-_.]))", name)
    pairs = [pair for pair in pairs if is_language(pair[0]) and is_language(pair[1])]
    return pairs[0] if pairs else ("und", "und")


def check_sha256(folder: Path) -> None:
    """Raise ModelError if a file is not the one that Firefox's metadata.json or registry.json describes."""
    wanted = [(path, _about(folder).get("hash")) for path in folder.glob("model.*.bin")]
    for pair in _about(folder, "registry.json").values():
        for one in pair.values() if isinstance(pair, dict) else ():
            if isinstance(one, dict) and isinstance(name := one.get("name"), str):
                wanted.append((folder / Path(name).name.removesuffix(".gz"), one.get("expectedSha256Hash")))
    for path, digest in wanted:
        if isinstance(digest, str) and isfile(path) and sha256(path.read_bytes()).hexdigest() != digest:
            raise ModelError(f"{path}: not the file of the folder's JSON (SHA-256 {digest})", hint=_WHOLE)


def _about(folder: Path, name: str = "metadata.json") -> dict[str, Any]:
    """The table in a JSON file of a Firefox model, or an empty one. Raises ModelError for a damaged file."""
    try:
        about = json.loads((folder / name).read_bytes())
    except OSError:
        return {}
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{folder / name}: not valid JSON ({error})", hint=_WHOLE) from error
    return about if isinstance(about, dict) else {}


def punctuation(folder: Path, language: str) -> str | None:
    """Return the language whose punctuation preprocess.sh normalises by the Moses scripts, if it does.

    The script is read, never run. `language` stands for a variable in it.
    """
    path = folder / "preprocess.sh"
    text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
    call = re.search(r"normalize-punctuation(?:\.perl)?([^|\n]*)", text)
    if call is None:
        return None
    option = re.search(r"-l\s*\"?([\w-]+)", call[1])
    return option[1] if option else "en" if language == "und" else language


def _value(event: Any, events: Iterator[Any], depth: int) -> Any:
    kind = type(event).__name__
    if kind == "AliasEvent" or getattr(event, "tag", None):
        raise ValueError(f"line {event.start_mark.line + 1}: a tag or an alias")
    if depth > _DEEPEST_YAML:
        raise ValueError(f"line {event.start_mark.line + 1}: nested too deeply")
    if kind == "ScalarEvent":
        return event.value
    items = []
    while not type(event := next(events)).__name__.endswith("EndEvent"):
        items.append(_value(event, events, depth + 1))
    if kind == "SequenceStartEvent":
        return items
    keys = items[::2]
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("a key that is not text")
    return dict(zip(reversed(keys), reversed(items[1::2]), strict=True))  # of equal keys, the first counts


def _settings(folder: Path) -> Path | None:
    """Return decoder.yml, or the file that training writes next to the model, or bergamot's."""
    found = [*folder.glob("*decoder.yml"), *folder.glob("config*.yml")]
    names = sorted(path for path in found if not path.name.startswith("."))
    plain = folder / "decoder.yml"
    if plain in names:
        return plain
    models = [path for path in names if path.name == "model.npz.decoder.yml"] or names
    return models[0] if len(models) == 1 else None


def _model(folder: Path, settings: Path | None, decoding: dict[str, Any]) -> Path:
    if settings and (listed := _list(decoding, "models", settings)):
        if len(listed) > 1:
            raise ModelError(
                f"{settings}: an ensemble of {len(listed)} models",
                hint="leave one of them in its list, or average them",
            )
        return _present(folder, listed[0], settings)
    models = sorted(path for path in folder.glob("*.npz") if not path.name.endswith(".optimizer.npz"))
    models = models or sorted(path for path in folder.glob("*.bin") if not path.name.startswith("lex."))
    if folder / "model.npz" in models:
        return folder / "model.npz"
    if len(models) == 1:
        return models[0]
    if models:
        names = ", ".join(path.name for path in models)
        one = "give one of the files, or " if models[0].suffix == ".bin" else ""
        raise ModelError(
            f"{folder}: several models ({names})", hint=f"{one}name it in decoder.yml, under models"
        )
    raise ModelError(f"{folder}: no model (*.npz, *.bin)", hint="is it the folder of a Marian model?")


def _shortlist(folder: Path, settings: Path | None, decoding: dict[str, Any]) -> Path | None:
    """Return the binary shortlist. A list in text needs Marian's vocabularies and is left out."""
    if settings and (listed := _list(decoding, "shortlist", settings)):
        found = [_present(folder, listed[0], settings)]
    else:
        found = sorted(folder.glob("lex*.bin"))
    return found[0] if len(found) == 1 and found[0].suffix == ".bin" else None


def _vocabularies(folder: Path, settings: Path | None, decoding: dict[str, Any]) -> tuple[Path, Path]:
    if settings and (listed := _list(decoding, "vocabs", settings)):
        if len(listed) > 2:
            raise ModelError(
                f"{settings}: {len(listed)} vocabularies",
                hint="models with several sources are not supported",
            )
        paths = [_present(folder, name, settings) for name in listed]
    else:
        paths = _guessed_vocabularies(folder)
    for path in paths:
        if path.suffix not in {".spm", *_LISTS}:
            raise ModelError(
                f"{path}: a vocabulary of a kind that is not supported",
                hint=f"supported are .spm, {', '.join(sorted(_LISTS))}",
            )
    return paths[0], paths[-1]


def _guessed_vocabularies(folder: Path) -> list[Path]:
    lists = sorted(path for path in folder.glob("*vocab*") if path.suffix in _LISTS)
    models = sorted(folder.glob("*.spm"))
    for paths in (lists, models):
        if len(paths) == 1:
            return paths
        sides = [[path for path in paths if re.match(side, path.name)] for side in ("so?u?rc", "ta?rg|tr?g")]
        if all(len(side) == 1 for side in sides):
            return [side[0] for side in sides]
    found = ", ".join(path.name for path in [*lists, *models]) or "none"
    raise ModelError(
        f"{folder}: which are the vocabularies? There are: {found}",
        hint="name them in decoder.yml, under vocabs",
    )


def _segmenters(folder: Path, vocabularies: tuple[Path, Path]) -> tuple[Path, Path]:
    found = []
    for path, side in zip(vocabularies, ("source", "target"), strict=True):
        models = [path, folder / f"{side}.spm", *sorted(folder.glob("*.spm"))[:1]]
        model = next((model for model in models if model.suffix == ".spm" and model.is_file()), None)
        if model is None:
            bpe = next(iter(sorted([*folder.glob("*.bpe"), *folder.glob("*codes*")])), None)
            cutter = f"subword-nmt ({bpe.name})" if bpe else "no SentencePiece model"
            raise ModelError(
                f"{path}: a list of pieces, but {cutter} cuts the text",
                hint=f"models with SentencePiece are supported: {side}.spm belongs into the folder",
            )
        found.append(model)
    return found[0], found[1]


def _list(decoding: dict[str, Any], key: str, path: Path) -> list[str]:
    value = decoding.get(key, [])
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise ModelError(f"{path}: {key} is not a list of files", hint="restore the file")
    return items


def _present(folder: Path, name: str, settings: Path) -> Path:
    """Return the file of that name in the folder. Marian may have written another folder before it."""
    path = folder / Path(name).name
    if not isfile(path):
        raise ModelError(f"{path}: missing, but {settings.name} names it", hint=_WHOLE)
    return path


def _text(path: Path) -> str:
    try:
        return read_limited(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 ({error})", hint=_WHOLE) from error
