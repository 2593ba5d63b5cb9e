"""Everything before training: recipe, text, folder, tokenizer and tokenised corpora.

It finds most errors before it writes anything and before torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

from dragoman.base.config import from_table, to_table
from dragoman.runs.base import Base
from dragoman.runs.folder import RunFolder
from dragoman.runs.lessons import check_same_teachers, epoch_weights, lessons_of, with_outputs, write_lessons
from dragoman.runs.recipe import Recipe
from dragoman.runs.teaching import outputs_of
from dragoman.runs.texts import Data, Say, open_texts, two_sided
from dragoman.runs.tokens import tokenise_texts
from dragoman.runs.tuned_texts import Start, open_tuned_texts
from dragoman.text.guidance import synthetic_mark
from dragoman.text.languages import Languages
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.distributed import World
from dragoman.training.mixture import Mixture, TrainingText, Weighted
from dragoman.training.options import NOTHING, Annotating
from dragoman.training.tokenised import TokenisedCorpus

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs, the same on every process."""

    recipe: Recipe  # with its languages
    begun: bool  # whether there is a run to resume
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
    validation_pairs: Pairs | None
    general_pairs: Pairs | None

    def packed(self) -> dict[str, Any]:
        """What JSON can hold, for the other processes."""
        return vars(self) | {"recipe": to_table(self.recipe)}

    @classmethod
    def unpacked(cls, table: dict[str, Any]) -> Self:
        """What `packed` was called on."""
        pairs = {
            name: None if table[name] is None else tuple((source, target) for source, target in table[name])
            for name in ("validation_pairs", "general_pairs")
        }
        return cls(recipe=from_table(Recipe, table["recipe"]), begun=table["begun"], **pairs)


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
    process opens the result. Raises ConfigError and DataError; ModelError for a damaged teacher or base,
    TrainingError for distributions of teachers that do not fit on the disk.
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
        texts = with_outputs(texts, folder.checkpoints, say)
        given = None if start is None else start.base.tokenizer
        tokenise_texts(texts, folder, given=given, begun=begun, say=say)
        folder.note(texts.recipe)  # now that the text is known to be that of the run
        if texts.teachers is not None and texts.recipe.teacher.words:
            write_lessons(texts.teachers, folder, [*texts.corpora], world=world, say=say)
        return _Settled(
            recipe=texts.recipe,
            begun=begun,
            validation_pairs=texts.validation_pairs,
            general_pairs=None if texts.general is None else two_sided(texts.general),
        )

    settled = world.lead(settle, pack=_Settled.packed, unpack=_Settled.unpacked)
    tokenizer = Tokenizer.load(folder.path)
    options = settled.recipe

    def tokens(part: str, *, placeholders: float = 0.0, annotating: Annotating = NOTHING) -> TokenisedCorpus:
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
