"""Check every file of a model or adapter folder, and report all faults rather than the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar

from safetensors import SafetensorError, safe_open

from dragoman.base.errors import ModelError
from dragoman.base.tables import listing
from dragoman.models.adapter import DOWN, UP, WEIGHT
from dragoman.models.folder.bundle import new_model
from dragoman.models.folder.weights import not_finite, outlines, weights_of
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import (
    ADAPTER_WEIGHTS,
    EXTENDED,
    AdapterConfig,
    check_adapter_digest,
    extension,
    new_rows,
    read_adapter_config,
)
from dragoman.translation.folder.config import (
    ADAPTER,
    DIGESTS,
    RISK,
    SHORTLIST,
    WEIGHTS,
    FolderConfig,
    banned_outside,
    check_digests,
    read_generation,
    read_json,
    read_model_config,
)
from dragoman.translation.folder.digest import check_digest
from dragoman.translation.folder.fit import misfits
from dragoman.translation.folder.header import Outline, read_header
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER, dequantised, holds_int8, scale_faults
from dragoman.translation.folder.risk import read_risk
from dragoman.translation.folder.shortlist import read_shortlist
from dragoman.translation.folder.vocabulary import tokenizer_of_folder
from dragoman.translation.search.options import Beam

T = TypeVar("T")
Status = Literal["ok", "fault", "skipped"]
_DIGEST = "digest of weights"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of a folder: its name, the outcome, and details."""

    name: str
    status: Status
    text: str


def check_folder(folder: Path) -> Iterator[Check]:
    """Yield all checks of a model folder, in order. A fault does not stop the others."""
    config, check = _attempted("config.json", lambda: read_model_config(folder))
    yield check
    beam, check = _attempted("generation.json", lambda: read_generation(folder))
    yield check
    if (folder / DIGESTS).exists():
        yield _attempted(DIGESTS, lambda: check_digests(folder))[1]
    yield from _tokenizer_files(folder)
    tokenizer, check = _attempted("tokenizer", lambda: Tokenizer.load(folder))
    yield check
    yield _vocabulary(config, beam, tokenizer)
    path = folder / WEIGHTS
    header, check = _attempted(WEIGHTS, lambda: read_header(path))
    yield check
    yield _digest(config, path)
    yield from _fit(config, header, path)
    yield _finite(header, path)
    if config is not None and (folder / SHORTLIST).exists():
        if tokenizer is None:
            yield _skipped(SHORTLIST, "the tokenizer")
        else:
            yield _attempted(SHORTLIST, lambda: read_shortlist(folder, config, whole=True))[1]
    if config is not None and (folder / RISK).exists():
        yield _attempted(RISK, lambda: read_risk(folder, config))[1]


def _attempted(name: str, read: Callable[[], T], fine: str = "can be read") -> tuple[T | None, Check]:
    """Return what `read` returns, and its check; None and a fault if it raises ModelError."""
    try:
        return read(), Check(name=name, status="ok", text=fine)
    except ModelError as error:
        return None, Check(name=name, status="fault", text=str(error))


def _outcome(name: str, faults: Sequence[str], fine: str) -> Check:
    """The check that found these faults, or none."""
    return Check(name=name, status="fault" if faults else "ok", text="; ".join(faults) or fine)


def _skipped(name: str, needed: str) -> Check:
    return Check(name=name, status="skipped", text=f"needs {needed}")


def _tokenizer_files(folder: Path) -> Iterator[Check]:
    """Compare the digests in tokenizer.json, one file each: loading the tokenizer stops at the first."""
    try:
        files = read_json(folder, "tokenizer.json").get("files")
    except ModelError:
        return  # loading the tokenizer reports it
    for name, digest in files.items() if isinstance(files, dict) else ():
        if Path(name).name != name:
            yield Check(name="digest of a file", status="fault", text=f"{name!r} is not the name of a file")
            continue
        try:
            data = (folder / name).read_bytes()
        except OSError as error:
            faults = [f"cannot be read ({error.strerror or error})"]
        else:
            differs = blake2b(data, digest_size=16).hexdigest() != digest  # as Tokenizer.save
            faults = ["damaged, or from another model than tokenizer.json"] if differs else []
        yield _outcome(f"digest of {name}", faults, str(digest))


def _vocabulary(config: FolderConfig | None, beam: Beam | None, tokenizer: Tokenizer | None) -> Check:
    """Compare sizes and special ids of tokenizer and model, and check banned ids."""
    if config is None or tokenizer is None:
        return _skipped("vocabulary", "config.json and the tokenizer")
    model = config.model
    pairs = {
        "source ids": (tokenizer.source_size, model.source_vocab),
        "target ids": (tokenizer.target_size, model.target_vocab),
        "pad": (tokenizer.pad_id, model.pad_id),
        "start": (tokenizer.start_id, model.start_id),
        "end": (tokenizer.end_id, model.end_id),
    }
    faults = [
        f"{name}: {one} in the tokenizer, {other} in config.json"
        for name, (one, other) in pairs.items()
        if one != other
    ]
    if beam is not None and (outside := banned_outside(replace(config, generation=beam))):
        faults.append(f"generation.json bans ids that do not exist: {listing([str(i) for i in outside])}")
    fine = f"{tokenizer.source_size:,} source ids and {tokenizer.target_size:,} target ids"
    return _outcome("vocabulary", faults, fine)


def _digest(config: FolderConfig | None, path: Path) -> Check:
    if config is None:
        return _skipped(_DIGEST, "config.json")
    if config.weights is None:
        return Check(name=_DIGEST, status="skipped", text="config.json has none: written by release 0.1")
    return _attempted(_DIGEST, lambda: check_digest(path, config.weights), config.weights)[1]


def _fit(config: FolderConfig | None, header: Mapping[str, Outline] | None, path: Path) -> Iterator[Check]:
    """Compare names, shapes and types of the weights with the ones that the model needs."""
    if config is None or header is None:
        yield _skipped("names and shapes", "config.json and the weights")
        return
    if config.quantised or holds_int8(header):
        faults = scale_faults(header)
        if (config.quantised is None) == holds_int8(header):
            faults.append("config.json and the weights differ in whether the model is quantised")
        yield _outcome("int8 matrices", faults, "each has what belongs to it")
        if faults:
            return
    weights = dequantised(header, path)
    model, check = _attempted("names and shapes", lambda: new_model(config.model, weights, path))
    if model is None:
        yield check
        return
    needed = outlines(weights_of(model))
    found = misfits(weights, needed)
    yield _outcome("names of weights", found.names, f"{len(needed)} weights, as config.json needs them")
    for name, faults in (("shapes of weights", found.shapes), ("types of weights", found.dtypes)):
        yield _outcome(name, [listing(faults, separator="; ")] if faults else [], "as config.json needs them")


def _finite(header: Mapping[str, Outline] | None, path: Path) -> Check:
    """Check that no weight in a file is NaN or infinite, and that multipliers are above 0.

    Without a header, the check is skipped.
    """
    name = "values of weights"
    if header is None:
        return _skipped(name, "the weights")
    bad, low = list[str](), list[str]()
    try:
        with safe_open(path, "pt") as file:
            for key in [key for key, outline in header.items() if outline.floating]:
                weight = file.get_tensor(key)
                bad += not_finite({key: weight})
                if key.endswith(INPUT_MULTIPLIER) and bool((weight <= 0).any()):
                    low.append(key)
    except (OSError, SafetensorError) as error:
        return Check(name=name, status="fault", text=f"cannot be read ({error})")
    faults = [f"NaN or infinite in {listing(bad)}"] if bad else []
    faults += [f"not above 0: {listing(low)}"] if low else []
    return _outcome(name, faults, "all are finite")


def check_adapter_folder(folder: Path) -> Iterator[Check]:
    """Yield all checks of an adapter folder, in order. Whether it fits a model is not among them."""
    path = folder / ADAPTER_WEIGHTS
    config, check = _attempted(ADAPTER, lambda: read_adapter_config(folder))
    yield check
    header, check = _attempted(ADAPTER_WEIGHTS, lambda: read_header(path))
    yield check
    if config is not None:
        yield _attempted(_DIGEST, lambda: check_adapter_digest(folder, config), config.weights)[1]
        if header is not None:
            found, check = _attempted(EXTENDED, lambda: _extended(folder, config))
            if config.extended is not None:
                yield check
            more = new_rows(*found, header) if found is not None else {}
            yield _adapter_shapes(config, header, more)
    if header is not None:
        yield _finite(header, path)


def _extended(folder: Path, adapter: AdapterConfig) -> tuple[FolderConfig, tuple[int, int]] | None:
    """As `extension`. Reads the tokenizer, too, so that a damaged one is an error."""
    if (found := extension(folder, adapter)) is not None:
        tokenizer_of_folder(folder / EXTENDED, found[0])
    return found


def _adapter_shapes(
    config: AdapterConfig, header: Mapping[str, Outline], more: Mapping[str, tuple[int, ...]]
) -> Check:
    """Compare names, shapes and types with an adapter for a model with these layers, and `more` weights."""
    layers = {name.removesuffix(end) for name in header for end in (DOWN, UP) if name.endswith(end)}
    sides = {layer: (header.get(layer + UP), header.get(layer + DOWN)) for layer in layers}
    model = {
        layer + WEIGHT: (up.shape[0], down.shape[1])
        for layer, (up, down) in sides.items()
        if up is not None and down is not None and len(up.shape) == len(down.shape) == 2
    }
    needed = {**config.shape.weights(model), **more}
    outlines = {name: Outline(shape=shape, dtype="float32") for name, shape in needed.items()}
    found = misfits(header, outlines)
    faults = [*found.names, *found.shapes, *found.dtypes]
    if not header:
        faults.append("the file has no weights")
    return _outcome("names and shapes of weights", faults, f"{len(model)} layers, each with its two matrices")
