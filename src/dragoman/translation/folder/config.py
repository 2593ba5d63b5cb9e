"""The configuration in a model folder: shape, languages and search. Imports no torch."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from os.path import exists  # also of names that no file can have, for which `Path.exists` raises
from pathlib import Path
from typing import Any, get_args

from dragoman.base.config import from_table, plain, to_table
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import broken, json_of_model, sealed, write_whole
from dragoman.base.options import entries
from dragoman.models.shapes import Architecture, SSRUConfig, TransformerConfig
from dragoman.translation.folder.digest import is_digest
from dragoman.translation.folder.quantised import Quantised
from dragoman.translation.search.options import AttentionOf, Beam

log = logging.getLogger(__name__)

FORMAT_VERSION = 1
_QUANTISED_VERSION = 2  # of quantised folders: a release that cannot read int8 refuses them
WEIGHTS = "model.safetensors"
DIGESTS = "digests.json"  # of the small files (`base/files.py`); none in release 0.1
_NEEDED = ("config.json", "generation.json", "tokenizer.json")
SHORTLIST, RISK = "shortlist.safetensors", "risk.json"  # these may be deleted
ADAPTER = "adapter.json"  # instead of config.json, in an adapter folder (`translation/folder/adapter.py`)
CARD = "README.md"
_RESTORE = "restore the file or train again"
_SHAPES: dict[str, type[Architecture]] = {kind.architecture: kind for kind in get_args(Architecture)}
ARCHITECTURES = list(_SHAPES)


# The options of each section in release 0.1, which refuses a folder that has any other. Later options are
# written only where they differ from their defaults, so that it reads all folders that it can use. A section
# that is not listed here is written in full.
_EVERY_MODEL = "source_vocab target_vocab d_model dropout tie output_bias pad_id start_id end_id"
_FIRST = {
    section: frozenset(names.split())
    for section, names in {
        "transformer": f"{_EVERY_MODEL} d_ff heads encoder_layers decoder_layers attention_dropout "
        "activation_dropout norm activation positions window attention_bias",
        "recurrent": f"{_EVERY_MODEL} cell layers bidirectional reverse_source attention",
        "convolutional": f"{_EVERY_MODEL} encoder_layers decoder_layers kernel dilated positions",
        "generation": "size length_penalty normalization n_best",
    }.items()
}


@dataclass(frozen=True, kw_only=True)
class FolderConfig:
    """The contents of config.json and generation.json."""

    model: Architecture
    source_language: str  # "mul" for several
    target_language: str  # "mul" for several
    directions: tuple[tuple[str, str], ...] = ()  # the pairs that a model of several was trained on
    generation: Beam = Beam()
    weights: str | None = None  # the digest of model.safetensors (`digest.py`); None in release 0.1
    alignment: AttentionOf | None = None  # the head of the decoder that was trained to align
    guidance: tuple[str, ...] = ()  # what it was trained to read with a line: "terms", "matches"
    quantised: Quantised | None = None  # the type of its matrices (`quantised.py`); None for floats
    original: str | None = None  # the digest of the weights that these were quantised or extended from
    extended: tuple[int, int] | None = None  # sizes of the vocabularies before `model extend`

    @property
    def several(self) -> bool:
        """Whether its texts have to say their languages, because it has several."""
        return bool(self.directions) or "mul" in (self.source_language, self.target_language)


def read_config(folder: Path) -> FolderConfig:
    """The configuration of a model folder.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    folder = Path(folder)
    return replace(read_model_config(folder), generation=read_generation(folder))


def read_model_config(folder: Path) -> FolderConfig:
    """The contents of config.json, with the default search. Raises ModelError as `read_config` does."""
    path = folder / "config.json"
    table = read_json(folder, path.name)
    version = table.get("format_version")
    if type(version) is not int or version not in (FORMAT_VERSION, _QUANTISED_VERSION):
        raise ModelError(
            f"{path}: format_version {version!r}, this dragoman reads up to {_QUANTISED_VERSION}",
            hint="upgrade dragoman",
        )
    architecture = table.get("architecture")
    if architecture not in ARCHITECTURES:
        raise ModelError(
            f"{path}: unknown architecture {architecture!r}",
            hint=f"this dragoman knows: {', '.join(ARCHITECTURES)}",
        )
    weights, original = table.get("weights"), table.get("original")
    for name, digest in (("weights", weights), ("original", original)):
        if digest is not None and not is_digest(digest):
            raise ModelError(
                f"{path}: {name} = {digest!r} is not a digest that this dragoman knows",
                hint="upgrade dragoman, or restore config.json",
            )
    quantised = table.get("quantised")
    if quantised not in (None, *get_args(Quantised)):
        raise ModelError(
            f"{path}: quantised = {quantised!r} is not a type that this dragoman knows",
            hint="upgrade dragoman",
        )
    if version != _version(quantised):
        raise ModelError(
            f"{path}: format_version {version} with quantised = {quantised!r}, which has format_version "
            f"{_version(quantised)}",
            hint=_RESTORE,
        )
    known = entries(FolderConfig)
    try:
        shape = from_table(_SHAPES[architecture], table["model"], "model")
        lists = {name: known[name].check(table.get(name, []), name) for name in ("directions", "guidance")}
        extended = known["extended"].check(table.get("extended"), "extended")
        if extended and not (0 < extended[0] <= shape.source_vocab and 0 < extended[1] <= shape.target_vocab):
            raise ConfigError(f"extended = {extended} is larger than the vocabularies")
        return FolderConfig(
            model=shape,
            source_language=str(table["source_language"]),
            target_language=str(table["target_language"]),
            weights=weights,
            alignment=_alignment(table.get("alignment"), shape),
            quantised=quantised,
            original=original,
            extended=extended,
            **lists,
        )
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise unusable(path, error, "configuration") from error


def read_generation(folder: Path) -> Beam:
    """The default search, from generation.json. Raises ModelError as `read_config` does."""
    table = read_json(folder, "generation.json")
    try:
        return from_table(Beam, table, "generation")
    except (ConfigError, TypeError, AttributeError) as error:
        raise unusable(folder / "generation.json", error, "configuration") from error


def banned_outside(config: FolderConfig) -> list[int]:
    """The banned ids that are not in the target vocabulary."""
    return [i for i in config.generation.banned if i >= config.model.target_vocab]


def write_config(config: FolderConfig, folder: Path) -> None:
    """Write config.json and generation.json."""
    architecture = config.model.architecture
    table: dict[str, Any] = {
        "format_version": _version(config.quantised),
        "architecture": architecture,
        "source_language": config.source_language,
        "target_language": config.target_language,
        "model": options_to_write(config.model, architecture),
    }
    optional = {
        "directions": [list(pair) for pair in config.directions],
        "weights": config.weights,
        "alignment": config.alignment and str(config.alignment),
        "guidance": list(config.guidance),
        "quantised": config.quantised,
        "original": config.original,
        "extended": config.extended and list(config.extended),
    }
    table |= {name: value for name, value in optional.items() if value}
    write_whole(folder / "config.json", json.dumps(table, indent=2) + "\n")
    generation = options_to_write(config.generation, "generation")
    write_whole(folder / "generation.json", json.dumps(generation, indent=2) + "\n")


def write_digests(folder: Path, names: Iterable[str]) -> None:
    """Write the digests of these files of a model folder, in addition to those it has already."""
    table = {name: stamp for name, stamp in _digests(folder).items() if exists(folder / name)}
    files = table | sealed(folder, names)
    write_whole(folder / DIGESTS, json.dumps({"files": files}, indent=2) + "\n")


def forget_digest(folder: Path, name: str) -> None:
    """Forget the digest of a file that is about to be replaced. Until it has another, it is not checked."""
    table = _digests(folder)
    if name in table:
        del table[name]
        write_whole(folder / DIGESTS, json.dumps({"files": table}, indent=2) + "\n")


def check_digests(folder: Path) -> None:
    """Raise ModelError if a small file of a model folder has changed since it was written.

    Folders of earlier releases have no digests, and nothing is checked. generation.json may be edited, so a
    warning is logged if it was.
    """
    table = _digests(folder)
    faults = broken(folder, {name: one for name, one in table.items() if name in _NEEDED})
    known = (*_NEEDED, SHORTLIST, RISK)
    strange = [name for name in table if name not in known and not exists(folder / name)]
    if strange:  # a damaged name would leave its file without a digest
        faults.append(f"{DIGESTS} has the digest of {strange[0]!r}, which does not exist")
    for fault in [fault for fault in faults if fault.startswith("generation.json ")]:
        log.warning("%s: changed since the model was written", folder / "generation.json")
        faults.remove(fault)
    if faults:
        raise ModelError(
            f"{folder}: damaged: {'; '.join(faults)}",
            hint=f"copy the folder again; if you changed a file on purpose, remove {folder / DIGESTS}",
        )


def check_optional(folder: Path, name: str, *, hint: str) -> None:
    """Raise ModelError if an optional file of a model folder has changed since it was written."""
    stamp = _digests(folder).get(name)
    if stamp is not None and (faults := broken(folder, {name: stamp})):
        raise ModelError(f"{folder}: damaged: {faults[0]}", hint=hint)


def _digests(folder: Path) -> dict[str, Any]:
    if not (folder / DIGESTS).exists():
        return {}
    files = read_json(folder, DIGESTS).get("files")
    if not isinstance(files, dict):
        raise ModelError(f"{folder / DIGESTS}: has no table of files", hint=_RESTORE)
    return files


def _alignment(text: Any, shape: Architecture) -> AttentionOf | None:
    """The head that aligns, such as "3.1". Raises ConfigError or TypeError if the decoder lacks it."""
    if text is None:
        return None
    head = AttentionOf.of(text)
    if not isinstance(shape, TransformerConfig | SSRUConfig) or head.head is None:
        raise ConfigError(f'alignment = "{text}" is not a head of this decoder', hint=_RESTORE)
    head.check(shape.decoder_layers, shape.heads)
    return head


def _version(quantised: Quantised | None) -> int:
    return FORMAT_VERSION if quantised is None else _QUANTISED_VERSION


def options_to_write(config: Any, section: str) -> dict[str, Any]:
    """The options of a model or a search that its file holds, without `architecture`.

    Options of release 0.1 are always written, later ones if they differ from their defaults.
    """
    table = to_table(config)
    table.pop("architecture", None)  # it has a place of its own
    first, known = _FIRST.get(section, table.keys()), entries(type(config))
    return {
        name: value for name, value in table.items() if name in first or value != plain(known[name].default)
    }


def unusable(path: Path, error: Exception, what: str, hint: str = _RESTORE) -> ModelError:
    """The error for a file that should be a usable `what`, but for this `error`."""
    reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    if isinstance(error, ConfigError) and error.hint:
        reason += f" ({error.hint})"
    return ModelError(f"{path}: not a usable {what}: {reason}", hint=hint)


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file of a model folder. Raises ModelError if it is missing or damaged."""
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder", hint="train one: dragoman train ... -o FOLDER")
    hint = "is this the folder that training wrote?"
    if (folder / "checkpoints").is_dir():
        hint = "training has not finished here: repeat its command"
    if name == "config.json" and (folder / ADAPTER).exists():
        hint = "this is an adapter: merge it first (dragoman model merge), or translate with --adapter"
    return json_of_model(folder / name, missing=hint, damaged=_RESTORE)
