"""Load a model of any kind, with the engine that runs it. Imports torch only if the model needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.machine import require_pytorch
from dragoman.interop.formats import format_of, read_model
from dragoman.interop.source import is_hub_name, opened
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import RISK, SHORTLIST, FolderConfig, read_config
from dragoman.translation.native.choice import DType, EngineName, against_native
from dragoman.translation.search.engine import Engine

if TYPE_CHECKING:
    import torch

    from dragoman.models.folder.bundle import Bundle
    from dragoman.translation.folder.adapter import AdapterConfig
    from dragoman.translation.folder.shortlist import Shortlist
    from dragoman.translation.search.risk import RiskModel


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A model with an adapter, or without one."""

    engine: Engine
    load_bundle: Callable[[], Bundle]  # the PyTorch model; a native engine does not need it; loaded once
    reads: tuple[str, ...] | None = None  # of an adapter, what it reads with a line, if it says so
    directions: tuple[tuple[str, str], ...] = ()  # of an adapter for a model of several


@dataclass(frozen=True, kw_only=True)
class Loaded(Variant):
    """A loaded model, as a translator needs it."""

    tokenizer: Tokenizer
    config: FolderConfig
    shortlist: Shortlist | None = None
    risk: Mapping[str, RiskModel] = field(default_factory=dict)  # by target language
    adapters: Mapping[str, Variant] = field(default_factory=dict)  # by the names that `load_model` got


def load_model(
    path: str | Path,
    *,
    device: str | torch.device | None = None,
    dtype: DType | None = None,
    engine: EngineName | None = None,
    adapters: Mapping[str, Path] | None = None,
    download: bool = False,
) -> Loaded:
    """Load the model at `path`, and adapters of it. See `Translator.load`."""
    if isinstance(path, str) and not download and not Path(path).exists() and is_hub_name(path):
        raise ModelError(
            f"{path}: no such model folder",
            hint="check the path; for a model on the Hugging Face hub, set download=True",
        )
    with opened(path) as folder:
        ours = format_of(folder) is None
        if adapters and not ours:
            raise ConfigError(
                f"{path}: an adapter fits only the dragoman model that it was trained on",
                hint="import the model first: dragoman import",
            )
        bundle = None if ours else _read_bundle(path, folder, "converting the model")
        config = read_config(folder) if bundle is None else bundle.config
        found: dict[str, tuple[Path, AdapterConfig]] = {}
        # Most folders have none of these, and what reads them takes 15 ms to import.
        if adapters:
            from dragoman.translation.folder.adapter import read_adapter

            found = {name: (one, read_adapter(one, folder, config)) for name, one in adapters.items()}
        reason = against_native(engine, config.model, device=_name(device), dtype=dtype)
        if bundle is None and reason is None:
            loaded = _native_folder(path, folder, config, dtype)
        elif reason is None:
            loaded = ready(cast("Bundle", bundle), dtype=dtype, engine="native")
        else:
            what = f"translating without the native engine ({reason})"
            bundle = bundle or _read_bundle(path, folder, what)
            import torch

            device = device or ("cuda" if torch.cuda.is_available() else "cpu")
            loaded = ready(bundle, device=device, dtype=dtype, engine="pytorch")
        # After the tokenizer: if that is damaged, these do not fit it, and would be blamed.
        if (folder / SHORTLIST).exists():
            from dragoman.translation.folder.shortlist import read_shortlist

            loaded = replace(loaded, shortlist=read_shortlist(folder, config))
        if (folder / RISK).exists():
            from dragoman.translation.folder.risk import read_risk

            loaded = replace(loaded, risk=read_risk(folder, config))
    return replace(loaded, adapters={name: _adapted(loaded, *one) for name, one in found.items()})


def ready(
    bundle: Bundle,
    *,
    device: str | torch.device | None = None,
    dtype: DType | None = None,
    engine: EngineName | None = None,
) -> Loaded:
    """Give a model in memory its engine. See `Translator.of`."""
    native = against_native(engine, bundle.config.model, device=_name(device), dtype=dtype) is None
    if native:
        from dragoman.translation.native.native import NativeEngine
        from dragoman.translation.native.weights import place_weights

        dtype = "float32" if dtype in (None, "auto") else dtype
        found: Engine = NativeEngine(bundle.model.config, place_weights(bundle.model), dtype=dtype)
    else:
        import torch

        from dragoman.models.search.engine import PyTorchEngine

        if device is not None:
            bundle.model.to(torch.device(device))
        if dtype in ("float32", "bfloat16"):
            cast("torch.nn.Module", bundle.model).to(getattr(torch, dtype))
        found = PyTorchEngine(bundle.model)
    return Loaded(tokenizer=bundle.tokenizer, engine=found, config=bundle.config, load_bundle=lambda: bundle)


def _native_folder(path: str | Path, folder: Path, config: FolderConfig, dtype: DType | None) -> Loaded:
    """Load a folder of dragoman's without PyTorch. It may be temporary, if `path` is an archive."""
    from dragoman.translation.folder.vocabulary import tokenizer_of_folder
    from dragoman.translation.native.native import NativeEngine

    @cache
    def load_bundle() -> Bundle:
        with opened(path) as folder:
            return _read_bundle(path, folder, "looking into the model")

    return Loaded(
        tokenizer=tokenizer_of_folder(folder, config),
        engine=NativeEngine.load(folder, dtype=dtype or "auto"),
        config=config,
        load_bundle=load_bundle,
    )


def _adapted(loaded: Loaded, folder: Path, adapter: AdapterConfig) -> Variant:
    """The model with an adapter, which shares the unchanged weights. If it adds languages, it is a `Loaded`
    with a tokenizer of its own, and shares nothing.
    """
    from dragoman.translation.native.native import NativeEngine

    @cache
    def load_bundle() -> Bundle:
        from dragoman.models.folder.merge import adapted

        return adapted(loaded.load_bundle(), folder, adapter)

    if adapter.extended is not None:
        require_pytorch(f"{folder}: adding languages to a model")
        if isinstance(loaded.engine, NativeEngine):
            return ready(load_bundle(), dtype=cast("DType", loaded.engine.dtype), engine="native")
        return ready(load_bundle(), engine="pytorch")
    if isinstance(loaded.engine, NativeEngine):
        from dragoman.translation.folder.adapter import ADAPTER_WEIGHTS
        from dragoman.translation.native.weights import map_weights

        path = folder / ADAPTER_WEIGHTS
        engine: Engine = loaded.engine.adapted(map_weights(path), adapter.shape.scale, where=str(path))
    else:
        from dragoman.models.search.engine import PyTorchEngine

        engine = PyTorchEngine(load_bundle().model)
    return Variant(
        engine=engine, load_bundle=load_bundle, reads=adapter.guidance, directions=adapter.directions
    )


def _read_bundle(path: str | Path, folder: Path, what: str) -> Bundle:
    """Return the PyTorch model at `path`, in a folder of any kind that dragoman reads.

    Raises ConfigError, which says what needs PyTorch, if it is not installed.
    """
    require_pytorch(f"{path}: {what}")
    return read_model(folder)


def _name(device: str | torch.device | None) -> str | None:
    return None if device is None else str(device)
