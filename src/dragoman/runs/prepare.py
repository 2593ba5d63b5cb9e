"""Everything before training: recipe, text, folder, tokenizer and tokenised corpora.

It finds most errors before it writes anything and before torch is imported.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.runs.folder import RunFolder
from dragoman.runs.recipe import EmbeddingsConfig, Recipe
from dragoman.runs.texts import Data, Say, Texts, open_texts
from dragoman.text.filter import FilterConfig
from dragoman.text.languages import Languages
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.distributed import World
from dragoman.training.tokenised import TokenisedCorpus, made_from, tokenise

# Keep every validation pair, also long and duplicate ones.
_KEEP_ALL = FilterConfig(max_length=1_000_000, max_ratio=1e9, drop_duplicates=False)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs, the same on every process."""

    recipe: Recipe  # with its languages
    begun: bool  # whether there is a run to resume
    vectors: EmbeddingsConfig  # with the paths of its files on this machine, unless the run has begun
    tokenizer: Tokenizer
    training: TokenisedCorpus
    validation: TokenisedCorpus | None
    validation_pairs: tuple[tuple[str, str], ...]  # source and reference, to translate and score

    @property
    def source_language(self) -> str:
        return cast(str, self.recipe.data.source_language)

    @property
    def target_language(self) -> str:
        return cast(str, self.recipe.data.target_language)


@dataclass(frozen=True, kw_only=True)
class _Settled:
    """The results of the leader that the other processes cannot read from the folder."""

    recipe: Recipe
    begun: bool
    vectors: EmbeddingsConfig
    validation_pairs: tuple[tuple[str, str], ...] | None


def prepare(
    data: Data | None,
    valid: Data | None,
    *,
    folder: RunFolder,
    world: World,
    say: Say,
    preset: str | None,
    recipe: Path | None,
    overrides: Iterable[str],
    languages: Languages,
    data_root: Path | None,
) -> Prepared:
    """Resolve the recipe, lock the folder, and tokenise the text there unless that is done.

    The leader does the work; then every process opens the result. Raises ConfigError and DataError.
    """

    def settle() -> _Settled:
        folder.lock_if_ours()
        texts = open_texts(
            data, valid, preset=preset, recipe=recipe, overrides=overrides, languages=languages,
            data_root=data_root, say=say,
        )  # fmt: skip
        begun = folder.begin(texts.recipe)
        # The weights of a run that has begun are in its checkpoint.
        vectors = texts.recipe.embeddings if begun else _find_vectors(texts.recipe, data_root)
        _tokenise(texts, folder, begun=begun, say=say)
        return _Settled(
            recipe=texts.recipe, begun=begun, vectors=vectors, validation_pairs=texts.validation_pairs
        )

    settled = world.lead(settle)
    tokenizer = Tokenizer.load(folder.path)
    training, validation = folder.checkpoints.corpus("train"), folder.checkpoints.corpus("valid")
    return Prepared(
        recipe=settled.recipe,
        begun=settled.begun,
        vectors=settled.vectors,
        tokenizer=tokenizer,
        training=TokenisedCorpus(training, tokenizer, placeholders=settled.recipe.data.placeholders),
        validation=None if settled.validation_pairs is None else TokenisedCorpus(validation, tokenizer),
        validation_pairs=settled.validation_pairs or (),
    )


def _find_vectors(recipe: Recipe, data_root: Path | None) -> EmbeddingsConfig:
    """Return the files of word vectors: each is a path, or a name in the folder of the recipe's text."""
    folder = data_root / recipe.data.folder if data_root is not None else Path()

    def find(name: str) -> str:
        for path in (Path(name), folder / name):
            if path.exists():
                return str(path)
        raise ConfigError(f"{name}: no such file of word vectors", hint="check its path")

    sides = recipe.embeddings
    return replace(
        sides,
        source=find(sides.source) if sides.source else "",
        target=find(sides.target) if sides.target else "",
    )


def _tokenise(texts: Texts, folder: RunFolder, *, begun: bool, say: Say) -> None:
    """Write the tokenizer and the tokenised text, unless the folder has them for the same text."""
    recipe, checkpoints = texts.recipe, folder.checkpoints
    if begun:
        if _same_text(texts, folder):
            return
        tokenizer = Tokenizer.load(folder.path)
    else:
        shutil.rmtree(checkpoints.corpus("valid"), ignore_errors=True)
        say("training the tokenizer")
        pairs = ((line.source.strip(), line.target.strip()) for line in texts.training)
        tokenizer = Tokenizer.train(pairs, recipe.tokenizer, seed=recipe.seed)
        tokenizer.save(folder.path)
    say("tokenising the text")
    tokenised = tokenise(texts.training, tokenizer, recipe.data.filter, checkpoints.corpus("train"))
    for line in tokenised.report.splitlines():
        say(f"train: {line}")
    if texts.validation is not None:
        tokenised = tokenise(texts.validation, tokenizer, _KEEP_ALL, checkpoints.corpus("valid"))
        for line in tokenised.report.splitlines():
            say(f"valid: {line}")


def _same_text(texts: Texts, folder: RunFolder) -> bool:
    """Whether the folder has all tokens of the text. Raises DataError if it has those of other text."""
    train, valid = folder.checkpoints.corpus("train"), folder.checkpoints.corpus("valid")
    same = {"training": made_from(texts.training, train)}
    if texts.validation is not None and valid.exists():
        same["validation"] = made_from(texts.validation, valid)
    elif train.exists():
        same["validation"] = texts.validation is None and not valid.exists()
    for name, as_before in same.items():
        if as_before is False:
            raise DataError(
                f"{folder.path}: the {name} text is not what this run began with",
                hint="restore the text, or choose another folder with -o",
            )
    return all(same.values())
