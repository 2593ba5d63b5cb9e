"""The models of a command: how they are loaded, and the terms, memory and reverse model that help them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.cli.options import Flag, NumberType
from dragoman.cli.outcome import warn
from dragoman.translation.folder.checkpoint import run_of, weights_of_run
from dragoman.translation.search.options import Average, Decoding

if TYPE_CHECKING:
    from dragoman.text.corpora.corpus import Corpus
    from dragoman.translation.folder.config import FolderConfig
    from dragoman.translation.native.choice import DType
    from dragoman.translation.translator import Translator

_SEVERAL = "mul"  # the languages of a model of several


@dataclass(frozen=True, kw_only=True)
class Loading:
    """How the models of a command line are loaded: one, or several that translate together."""

    dtype: NumberType = None
    adapter: Annotated[
        Path | None,
        Flag("Use this adapter, which was trained on the model.", metavar="FOLDER", section="Models"),
    ] = None
    average: Annotated[
        Average | None,
        Flag(
            "With several models: the quantity to average at each step. [default: log-probabilities]",
            section="Models",
        ),
    ] = None

    def check(self, models: Sequence[Path]) -> None:
        """Raise ConfigError for options that do not fit the number of models."""
        if len(models) == 1 and self.average is not None:
            raise ConfigError(
                "--average with one model", hint="name the other models after it, or leave out --average"
            )
        if len(models) > 1 and self.adapter is not None:
            raise ConfigError(
                "--adapter with several models", hint="merge the adapter first: dragoman model merge"
            )

    def load(self, models: Sequence[Path]) -> Translator:
        """Load a model, or several as an ensemble. Raises ConfigError if they do not fit each other."""
        from dragoman.translation.translator import Translator

        loaded = [Translator.load(model, dtype=self.dtype, adapter=self.adapter) for model in models]
        try:
            return Translator.ensemble(loaded, average=self.average or "log-probabilities")
        except ConfigError as error:
            raise ConfigError(f"{', '.join(map(str, models))}: {error}", hint=error.hint) from error


@dataclass(frozen=True, kw_only=True)
class Guides:
    """The list of terms, translation memory and reverse model of a command line."""

    terms: Annotated[
        Path | None,
        Flag(
            "Use the translations of this list of terms: CSV (source,target) or TBX.",
            section="Terms and memory",
        ),
    ] = None
    terms_mode: Annotated[
        Literal["soft", "hard"] | None,
        Flag(
            "soft: the model reads the terms and may inflect them. hard: they take the place of its own "
            "words, as listed. [default: soft if the model was trained with data.terms, else hard]",
            section="Terms and memory",
        ),
    ] = None
    memory: Annotated[
        Path | None,
        Flag(
            "Translate lines that are in this translation memory as it has them. A memory made by "
            "dragoman memory, or a small .tmx or .tsv file.",
            section="Terms and memory",
        ),
    ] = None
    match_least: Annotated[
        float,
        Flag(
            "With --memory: also use lines that are at least N percent alike. They are shown in --jsonl "
            "and --report; a model trained with data.matches reads them.",
            above=0,
            at_most=100,
            metavar="N",
            section="Terms and memory",
        ),
    ] = 70.0
    reverse: Annotated[
        Path | None,
        Flag(
            "Rerank several translations by this model, which translates back.",
            metavar="MODEL",
            section="Search",
        ),
    ] = None

    def check(self) -> None:
        """Raise errors that can be found before the model is loaded, which takes seconds."""
        if self.terms_mode is not None and self.terms is None:
            raise ConfigError("--terms-mode without --terms", hint="name a list of terms with --terms")
        if self.match_least != 70.0 and not self.memory:
            raise ConfigError("--match-least without --memory", hint="name a memory with --memory")
        if self.terms is not None and not self.terms.exists():
            raise DataError(f"{self.terms}: no such file", hint="check the path after --terms")
        check_reverse_folder(self.reverse)

    def guide(self, translator: Translator, decoding: Decoding) -> Translator:
        """The translator with the terms for the languages of the translation, and the reverse model."""
        from dragoman.translation.translator import Translator

        if self.terms is not None:
            from dragoman.translation.terms.terms import TermList

            table = TermList.read(self.terms, *translator.pair(decoding))
            translator = translator.using(terms=table, terms_mode=self.terms_mode)
        if self.reverse is not None:
            translator = translator.using(reverse=Translator.load(self.reverse))
        return translator

    @contextmanager
    def open(self, decoding: Decoding, *, offers: bool) -> Iterator[Callable[[Translator], Translator]]:
        """Open the memory before the model is loaded, and yield a function that adds all guides to a model.

        Without `offers` similar lines are not shown, so they are searched only if the model reads them.
        Raises the errors of `open_memory`.
        """
        if self.memory is None:
            yield lambda translator: self.guide(translator, decoding)
            return
        from dragoman.translation.memory.exchange import is_exchanged, open_memory

        path = self.memory
        with ExitStack() as stack:
            early = None if is_exchanged(path) else stack.enter_context(open_memory(path))

            def guided(translator: Translator) -> Translator:
                memory = early or stack.enter_context(open_memory(path, translator.pair(decoding)))
                wanted = offers or "matches" in translator.reads
                least = self.match_least if wanted else 100.0
                return self.guide(translator.using(memory=memory, match_least=least), decoding)

            yield guided


def warn_if_uncalibrated(translator: Translator, to: str | None) -> None:
    """Say why the risk of translations into the language `to` has no probability."""
    from dragoman.base.languages import closest

    if closest(to or translator.target_language, translator.risk_models) is None:
        warn(
            f"the risk of the model is not calibrated{f' for {to}' if to else ''}: no probabilities, and "
            "only flags that need no model; dragoman model calibrate learns it"
        )


def models_and_text(model: Path, names: Sequence[str] | None) -> tuple[list[Path], list[str]]:
    """MODEL with the model folders right after it, which translate together, and the other names."""
    rest = list(names or ())
    models = [model]
    while rest and _is_model(rest[0]):
        models.append(Path(rest.pop(0)))
    return models, rest


def _is_model(name: str) -> bool:
    """Whether it is a model folder, or a checkpoint of a run."""
    files = ("config.json", "tokenizer.json")
    return weights_of_run(Path(name)) is not None or all(os.path.isfile(f"{name}/{one}") for one in files)


def model_and_pairs(
    model: Path, text: Sequence[str], decoding: Decoding, dtype: DType | None
) -> tuple[Translator, Corpus, Decoding]:
    """A model, parallel text in its languages, and `decoding` with the languages of the text."""
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.translator import Translator

    translator = Translator.load(model, dtype=dtype)
    corpus = open_corpus(text, languages=languages_for(translator, decoding))
    return translator, corpus, in_languages_of(corpus, decoding, translator)


def in_languages_of(corpus: Corpus, decoding: Decoding, model: Translator | FolderConfig) -> Decoding:
    """The options with the languages that the names of text say, if the model has several pairs."""
    source, to = decoding.source or corpus.source_language, decoding.to or corpus.target_language
    return replace(decoding, source=source, to=to) if model.several else decoding


def languages_for(model: Translator | FolderConfig, decoding: Decoding) -> tuple[str | None, str | None]:
    """The languages of text for a model, as far as they are known: a model of several leaves them open."""
    source, target = decoding.source or model.source_language, decoding.to or model.target_language
    return None if source == _SEVERAL else source, None if target == _SEVERAL else target


def files_of_models(folders: Iterable[Path | None]) -> list[str]:
    """The files of model folders, which no output may replace."""
    places = [place for folder in folders if folder for place in weights_of_run(folder) or (folder,)]
    return [str(file) for place in places for file in (place.iterdir() if place.is_dir() else [place])]


def leakage_of(models: Iterable[Path], pairs: Sequence[tuple[str, str]], what: str) -> list[str]:
    """Say of each model whose run still has its training text how many of the pairs are in it, if any are."""
    from dragoman.training.checkpoints.paths import Checkpoints
    from dragoman.training.data.leakage import leakage

    texts = {model: Checkpoints(run_of(model) / "checkpoints").learnt_texts() for model in models}
    lines = {model: leakage(pairs, folders, what=what) for model, folders in texts.items()}
    return [f"{model}: {line}" for model, line in lines.items() if line]


def check_reverse_folder(reverse: Path | None) -> None:
    """Raise ModelError for a folder that does not exist, before models are loaded, which takes seconds."""
    if reverse is not None and not run_of(reverse).exists():
        raise ModelError(f"{reverse}: no such model folder", hint="check the path after --reverse")
