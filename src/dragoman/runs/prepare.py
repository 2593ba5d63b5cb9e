"""Everything before training: recipe, text, folder, tokenizer and tokenised corpora.

It finds most errors before it writes anything and before torch is imported.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.base.files import write_whole
from dragoman.runs.base import Base
from dragoman.runs.folder import RunFolder
from dragoman.runs.lessons import check_same_teachers, epoch_weights, lessons_of, with_outputs, write_lessons
from dragoman.runs.recipe import EmbeddingsConfig, Recipe, changes_targets
from dragoman.runs.teaching import outputs_of
from dragoman.runs.texts import Data, Say, Texts, open_texts, two_sided
from dragoman.runs.tuned_texts import Start, open_tuned_texts
from dragoman.text.corpus import Corpus
from dragoman.text.filter import FilterConfig
from dragoman.text.guidance import synthetic_mark
from dragoman.text.languages import Languages
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.distributed import World
from dragoman.training.mixture import Mixture, TrainingText, Weighted
from dragoman.training.options import Annotating
from dragoman.training.tokenised import TokenisedCorpus, first_change, made_from, tokenise, usable

Pairs = tuple[tuple[str, str], ...]
_PLAIN = Annotating()
# Keep every validation pair, also long and duplicate ones.
_KEEP_ALL = FilterConfig(max_length=1_000_000, max_ratio=1e9, drop_duplicates=False)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs, the same on every process."""

    recipe: Recipe  # with its languages
    begun: bool  # whether there is a run to resume
    vectors: EmbeddingsConfig  # with the paths of its files on this machine, unless the run has begun
    tokenizer: Tokenizer
    training: TrainingText
    validation: TokenisedCorpus | None
    validation_pairs: Pairs  # source and reference, to translate and score
    base: Base | None = None  # the model to tune
    general: TokenisedCorpus | None = None  # in tuning, general text to measure with
    general_pairs: Pairs = ()

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
    validation_pairs: Pairs | None
    general_pairs: Pairs | None

    def packed(self) -> dict[str, Any]:
        """What JSON can hold, for the other processes."""
        tables = {"recipe": to_table(self.recipe), "vectors": to_table(self.vectors)}
        return vars(self) | tables

    @classmethod
    def unpacked(cls, table: dict[str, Any]) -> Self:
        """What `packed` was called on."""
        pairs = {
            name: None if table[name] is None else tuple((source, target) for source, target in table[name])
            for name in ("validation_pairs", "general_pairs")
        }
        recipe = from_table(Recipe, table["recipe"])
        vectors = from_table(EmbeddingsConfig, table["vectors"])
        return cls(recipe=recipe, begun=table["begun"], vectors=vectors, **pairs)


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
    start: Start | None = None,
) -> Prepared:
    """Resolve the recipe, lock the folder, and tokenise the text there unless that is done.

    `start` has the model to tune; without it a new model is trained. The leader does the work; then every
    process opens the result. Raises ConfigError and DataError.
    """

    def settle() -> _Settled:
        folder.lock_if_ours()
        opening = open_texts if start is None else partial(open_tuned_texts, start)
        texts = opening(
            data, valid, preset=preset, recipe=recipe, overrides=overrides, languages=languages,
            data_root=data_root, say=say,
        )  # fmt: skip
        validated = texts.validation is not None
        texts.recipe.training.check_validated(loss=validated, bleu=validated)
        if texts.teachers is not None:
            check_same_teachers(texts.teachers, folder)
        begun = folder.begin(texts.recipe)
        # The weights of a run that has begun are in its checkpoint.
        vectors = texts.recipe.embeddings if begun else _find_vectors(texts.recipe, data_root)
        texts = with_outputs(texts, folder.checkpoints, say)
        _tokenise(texts, folder, start, begun=begun, say=say)
        folder.note(texts.recipe)  # now that the text is known to be that of the run
        if texts.teachers is not None and texts.recipe.teacher.words:
            write_lessons(texts.teachers, folder, [*texts.corpora], world=world, say=say)
        return _Settled(
            recipe=texts.recipe,
            begun=begun,
            vectors=vectors,
            validation_pairs=texts.validation_pairs,
            general_pairs=None if texts.general is None else two_sided(texts.general),
        )

    settled = world.lead(settle, pack=_Settled.packed, unpack=_Settled.unpacked)
    tokenizer = Tokenizer.load(folder.path)
    options = settled.recipe

    def tokens(part: str, *, placeholders: float = 0.0, annotating: Annotating = _PLAIN) -> TokenisedCorpus:
        path = folder.checkpoints.corpus(part)
        return TokenisedCorpus(path, tokenizer, placeholders=placeholders, annotating=annotating)

    def learnt(part: str) -> TokenisedCorpus:
        text = tokens(part, placeholders=options.data.placeholders, annotating=options.data.annotating)
        text.lessons = lessons_of(options.teacher, text, folder.checkpoints.lessons(part))
        return text

    training: TrainingText
    if weights := epoch_weights(options):
        mark = synthetic_mark(tokenizer)
        tagged = [one.name for one in options.data.corpora if one.tagged]
        marks = dict.fromkeys([*tagged, *map(outputs_of, tagged)], mark)  # the sources are the same
        training = _weighted(weights, learnt, marks)
    elif options.tuning.replay_from not in ("auto", "none"):
        training = Mixture.replaying(learnt("train"), learnt("replay"), options.tuning.replay or 0.0)
    else:
        training = learnt("train")
    return Prepared(
        recipe=options,
        begun=settled.begun,
        vectors=settled.vectors,
        tokenizer=tokenizer,
        training=training,
        validation=None if settled.validation_pairs is None else tokens("valid"),
        validation_pairs=settled.validation_pairs or (),
        base=None if start is None else start.base,
        general=None if settled.general_pairs is None else tokens("general"),
        general_pairs=settled.general_pairs or (),
    )


def _weighted(
    weights: Mapping[str, float], learnt: Callable[[str], TokenisedCorpus], marks: Mapping[str, int | None]
) -> Mixture:
    parts = []
    for name, weight in weights.items():
        text = learnt(f"train.{name}")
        parts.append(Weighted(text, max(round(weight * len(text)), 1), name, marks.get(name)))
    return Mixture(parts)


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


def _tokenise(texts: Texts, folder: RunFolder, start: Start | None, *, begun: bool, say: Say) -> None:
    """Write the tokenizer and the tokenised text, unless the folder has them for the same text."""
    recipe, checkpoints = texts.recipe, folder.checkpoints
    if begun:
        if _same_text(texts, folder):
            return
        tokenizer = Tokenizer.load(folder.path)
    elif texts.teachers is not None and recipe.teacher.words:
        _clear(folder, _learnt(texts))
        tokenizer = texts.teachers.tokenizer
        tokenizer.save(folder.path)
    elif start is not None:
        _clear(folder, _learnt(texts))
        tokenizer = start.base.tokenizer
        tokenizer.save(folder.path)
    else:
        tokenizer = _learnt_tokenizer(texts, folder, say)
    if recipe.training.close_unseen and recipe.data.placeholders and tokenizer.placeholders and not begun:
        # Only now is it known whether `tokenizer.placeholders = "auto"` means some.
        raise changes_targets("data.placeholders")
    say("tokenising the text")
    for part, corpus in _parts(texts).items():
        learning = part not in ("valid", "general")
        tokenised = tokenise(
            corpus,
            tokenizer,
            recipe.data.filter if learning else _KEEP_ALL,
            checkpoints.corpus(part),
            annotating=recipe.data.annotating if learning else _PLAIN,
            workers=recipe.data.workers,
            progress=say,
        )
        for line in tokenised.report.splitlines():
            say(f"{part}: {line}")
    _made(folder).unlink(missing_ok=True)


def _clear(folder: RunFolder, keep: Collection[str]) -> None:
    """Delete tokens that an earlier run left, but for those in the folders of these names."""
    for path in (folder.checkpoints.folder / "corpus").glob("*/"):
        if path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)


def _learnt(texts: Texts) -> list[str]:
    """The folders of training text."""
    return [part for part in _parts(texts) if part.startswith("train")]


def _made(folder: RunFolder) -> Path:
    """What the tokenizer was made from, until all text is tokenised."""
    return folder.checkpoints.folder / "corpus" / "tokenizer.made.json"


def _learnt_tokenizer(texts: Texts, folder: RunFolder, say: Say) -> Tokenizer:
    """Learn and save the tokenizer, unless a run that was killed has made it from the same files."""
    recipe, made = texts.recipe, _made(folder)
    stamps = [
        (path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in texts.training.files
    ]
    table = json.dumps([to_table(recipe.tokenizer), recipe.seed, stamps])
    if stamps and made.exists() and made.read_text(encoding="utf-8") == table:
        with contextlib.suppress(ModelError):  # a damaged one is learned again
            tokenizer = Tokenizer.load(folder.path)
            say("the tokenizer is that of the run that was stopped")
            _clear(folder, _parts(texts))
            return tokenizer
    made.unlink(missing_ok=True)
    _clear(folder, _learnt(texts))
    say("training the tokenizer")
    pairs = ((line.source.strip(), line.target.strip()) for line in texts.training)
    tokenizer = Tokenizer.train(pairs, recipe.tokenizer, seed=recipe.seed)
    tokenizer.save(folder.path)
    write_whole(made, table)
    return tokenizer


def _parts(texts: Texts) -> dict[str, Corpus]:
    """The text of a run by the folder of its tokens."""
    parts: dict[str, Corpus | None] = {
        **({f"train.{name}": corpus for name, corpus in texts.corpora.items()} or {"train": texts.training}),
        "valid": texts.validation,
        "replay": texts.replay,
        "general": texts.general,
    }
    return {part: corpus for part, corpus in parts.items() if corpus is not None}


def _same_text(texts: Texts, folder: RunFolder) -> bool:
    """Whether the folder has all tokens of the text. Raises DataError if it has those of other text."""
    parts = _parts(texts)
    learnt = _learnt(texts)
    names = dict.fromkeys(learnt, "training") | _OTHERS
    tokens = {part: folder.checkpoints.corpus(part) for part in names}
    same: list[bool | None] = []
    for part, name in names.items():
        made_by_base = part == "replay" and texts.recipe.tuning.replay_from == "self"
        if made_by_base and tokens[part].exists() and usable(tokens[part]):
            continue  # translating again would take long, and the base and the memory are the same
        if part in parts and (part in learnt or tokens[part].exists()):
            same.append(made_from(parts[part], tokens[part]))
        elif tokens[learnt[0]].exists():
            same.append(part not in parts and not tokens[part].exists())
        if same and same[-1] is False:
            raise DataError(
                f"{folder.path}: the {name} text is not what this run began with"
                + (f"; changed: {first_change(parts[part], tokens[part])}" if part in parts else ""),
                hint="restore the text, or choose another folder with -o",
            )
    return all(same)


_OTHERS = {"valid": "validation", "replay": "replayed", "general": "general"}
