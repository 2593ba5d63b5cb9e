"""The models that are served: loaded once, with their adapters and lists of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import base
from dragoman.serving.service.languages import Leg
from dragoman.serving.service.shared_engine import SharedEngine
from dragoman.text.formality import LANGUAGES
from dragoman.translation.folder.config import WEIGHTS
from dragoman.translation.folder.digest import digest_of
from dragoman.translation.lines import Directions
from dragoman.translation.loading import Loaded, Variant, load_model
from dragoman.translation.translator import Translator

if TYPE_CHECKING:
    from dragoman.translation.memory.store import TranslationMemory
    from dragoman.translation.native.choice import DType, EngineName
    from dragoman.translation.terms.terms import TermFile, TermList

_READ = 20  # pairs for which a list is read when the server starts


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model to serve."""

    folder: str | Path
    name: str | None = None  # by default the name of the folder
    adapters: Mapping[str, Path] = field(default_factory=dict)  # folders by name
    terms: Mapping[str, Path] = field(default_factory=dict)  # lists of terms by name

    @property
    def called(self) -> str:
        """The name of the model."""
        return self.name or Path(self.folder).absolute().name


class ServedModel:
    """A model with all that was loaded for it."""

    def __init__(
        self,
        name: str,
        translator: Translator,
        *,
        digest: str = "",
        terms: Mapping[str, TermFile] | None = None,
        engine: str = "native",
    ) -> None:
        """`digest` is of the weights, if it is known, and `engine` the name of the engine."""
        self.name, self.translator, self.digest, self.engine = name, translator, digest, engine
        self._terms = dict(terms or {})
        stated = translator.source_language, translator.target_language
        self._directions = Directions(translator.tokenizer, stated, translator.directions)
        self.legs = [Leg(name, *pairs) for pairs in self._directions.offered]
        """The pairs of languages that it translates."""
        sources = tuple(dict.fromkeys(source for leg in self.legs for source in leg.sources))
        self.source = sources[0] if len(sources) == 1 else "mul"
        self.targets = tuple(dict.fromkeys(target for leg in self.legs for target in leg.targets))
        self.adapters, self.terms = tuple(translator.adapters), tuple(self._terms)
        self._lists: dict[tuple[str, tuple[str, str]], TermList | None] = {}
        self._variants: dict[tuple[str | None, TermList | None], Translator] = {}

    @property
    def pair(self) -> tuple[str, str]:
        """The first of its pairs."""
        source = self.legs[0].sources[0]
        return source, next((one for one in self.legs[0].targets if one != source), source)

    @property
    def only_pair(self) -> bool:
        """Whether it has no other pair."""
        return [(leg.sources, leg.targets) for leg in self.legs] == [tuple((one,) for one in self.pair)]

    def tags(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The options `source` and `to` of a pair: its languages as the model writes them."""
        return self._directions.tags[pair[0]], self._directions.tags[pair[1]]

    def addresses(self, target: str, adapter: str | None = None) -> bool:
        """Whether it has learnt to address the reader of this language formally and informally."""
        language = base(target)
        own = language in LANGUAGES and language in map(base, self.targets)
        return own and "formality" in self.variant(adapter).reads

    def terms_of(self, name: str | None, pair: tuple[str, str]) -> TermList | None:
        """A list of terms for a pair; None if it was not loaded, or has no terms of the pair."""
        if name not in self._terms:
            return None
        if (name, pair) not in self._lists:
            file, tags = self._terms[name], self.tags(pair)
            try:
                known = self.only_pair or all(map(file.names, pair))
                self._lists[name, pair] = file.terms(*tags) if known else None
            except DataError:
                if self.only_pair:
                    raise
                self._lists[name, pair] = None
        return self._lists[name, pair]

    def variant(
        self, adapter: str | None, terms: TermList | None = None, memory: TranslationMemory | None = None
    ) -> Translator:
        """The translator with an adapter, if it was loaded, and a list of terms."""
        key = adapter if adapter in self.adapters else None, terms
        if key not in self._variants:
            self._variants[key] = self.translator.using(adapter=key[0], terms=terms)
        found = self._variants[key]
        return found if memory is None else found.using(memory=memory)

    def close(self) -> None:
        """End the threads of its engines without finishing their work."""
        for name in (None, *self.adapters):
            engine = self.translator.using(adapter=name).engine
            if isinstance(engine, SharedEngine):
                engine.close()


def load_served(
    spec: ModelSpec, *, engine: EngineName | None = None, dtype: DType | None = None
) -> ServedModel:
    """Load a model with its adapters and lists of terms.

    Raises ModelError if it cannot be loaded, DataError for a list that cannot be used, ConfigError for
    options that do not fit.
    """
    from dragoman.translation.terms.terms import TermFile

    loaded = load_model(spec.folder, engine=engine, dtype=dtype, adapters=dict(spec.adapters))
    if larger := [name for name, one in loaded.adapters.items() if isinstance(one, Loaded)]:
        raise ConfigError(
            f"adapter {larger[0]!r}: adds languages, which the server offers for whole models only",
            hint="serve the folder that `dragoman train` or `dragoman model merge` wrote",
        )
    translator = Translator.of(shared(loaded))
    terms = {name: TermFile(path) for name, path in spec.terms.items()}
    weights = Path(spec.folder) / WEIGHTS
    digest = loaded.config.weights or (digest_of(weights) if weights.is_file() else "")
    name = "pytorch" if isinstance(translator.engine, SharedEngine) else "native"
    served = ServedModel(spec.called, translator, digest=digest, terms=terms, engine=name)
    for called, file in terms.items():
        _read_terms(called, file, served)
    return served


def _read_terms(name: str, file: TermFile, model: ServedModel) -> None:
    """Read a list for the first pairs that it names: that takes seconds, which no request should wait for.

    Raises DataError for a list that has no terms of any pair, or cannot be read.
    """
    named = None if model.only_pair else file.names
    sides = [(filter(named, leg.sources), [*filter(named, leg.targets)]) for leg in model.legs]
    pairs = [(one, other) for ours, theirs in sides for one in ours for other in theirs if one != other]
    read = [model.terms_of(name, pair) for pair in pairs[:_READ]]
    if not any(read) and not any(model.terms_of(name, pair) for pair in pairs[_READ:]):
        raise DataError(
            f"{file.path}: has no terms for a pair of languages of the model",
            hint="name the languages in the first row, such as en,de,fr",
        )


def check_model_names(names: Sequence[str]) -> None:
    """Raise ConfigError without names, or for one that is there twice."""
    if not names:
        raise ConfigError("no model to serve", hint="name at least one model folder")
    if double := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two models are called {double!r}", hint="give one another name: NAME=FOLDER")


def load_all(
    specs: Sequence[ModelSpec], *, engine: EngineName | None, dtype: DType | None
) -> list[ServedModel]:
    """Load models, each with a name of its own. Raises as `load_served` does."""
    check_model_names([spec.called for spec in specs])
    return [load_served(spec, engine=engine, dtype=dtype) for spec in specs]


def shared(loaded: Loaded) -> Loaded:
    """The same model with engines that threads may share."""
    variants = {name: _shared(one) for name, one in loaded.adapters.items()}
    return replace(loaded, engine=_shared(loaded).engine, adapters=variants)


def _shared(one: Variant) -> Variant:
    from dragoman.translation.native.native import NativeEngine

    native = isinstance(one.engine, NativeEngine)
    return replace(one, engine=one.engine if native else SharedEngine(one.engine))
