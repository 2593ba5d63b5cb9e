"""Everything before training: recipe, text, folder, tokenizer and tokenised corpora.

It finds most errors before it writes anything and before torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from dragoman.base.config import from_table, to_table
from dragoman.text.guidance import synthetic_mark
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.leakage import leakage
from dragoman.training.data.mixture import Mixture, TrainingText, Weighted
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.distillation.distributions import lessons_of
from dragoman.training.distillation.options import outputs_of
from dragoman.training.options import NOTHING, Annotating
from dragoman.training.processes.distributed import World
from dragoman.training.runs.doubts import marks_of_subwords
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.text.opening import open_texts
from dragoman.training.runs.text.teachers import Teachers
from dragoman.training.runs.text.texts import RunRequest, Say, two_sided
from dragoman.training.runs.text.tokens import tokenise_texts
from dragoman.training.runs.text.translations import epoch_weights, with_outputs
from dragoman.training.runs.tuning.base import Base

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs, the same on every process."""

    folder: RunFolder
    world: World
    recipe: Recipe  # with its languages
    begun: bool  # whether there is a run to resume
    tokenizer: Tokenizer
    training: TrainingText
    validation: TokenisedCorpus | None
    validation_pairs: Pairs  # source and reference, to translate and score
    base: Base | None = None  # the model to tune
    general: TokenisedCorpus | None = None  # in tuning, general text to measure with
    general_pairs: Pairs = ()
    leaked: str = ""  # how much of the validation text is also training text

    @property
    def source_language(self) -> str:
        return cast(str, self.recipe.data.source_language)

    @property
    def target_language(self) -> str:
        return cast(str, self.recipe.data.target_language)


def prepare(request: RunRequest, folder: RunFolder, world: World, say: Say) -> Prepared:
    """Resolve the recipe, lock the folder, and tokenise the text there unless that is done.

    The leader does the work; then every process opens the result. Raises ConfigError and DataError;
    ModelError for a damaged teacher or base, TrainingError for distributions of teachers that do not fit on
    the disk.
    """

    def work() -> dict[str, Any]:
        """Return as JSON the facts that the other processes cannot read from the folder."""
        folder.lock_if_ours()
        texts = open_texts(request, say)
        validated = texts.validation is not None
        texts.recipe.training.check_validated(loss=validated, bleu=validated)
        if texts.teachers is not None:
            texts.teachers.check_same(folder)
        if marked := marks_of_subwords(texts.training):
            say(f"warning: {marked}")
        begun = folder.begin(texts.recipe)
        texts = with_outputs(texts, folder.checkpoints, say)
        given = None if request.base is None else request.base.tokenizer
        tokenise_texts(texts, folder, given=given, begun=begun, say=say)
        folder.note(texts.recipe)  # now that the text is known to be the right one
        if texts.teachers is not None and texts.recipe.teacher.words:
            _write_lessons(texts.teachers, folder, [*texts.corpora], world, say)
        general = None if texts.general is None else two_sided(texts.general)
        learnt = folder.checkpoints.learnt_texts()
        if request.base is not None:
            learnt += request.base.checkpoints.learnt_texts()
        leaked = leakage(texts.validation_pairs or (), learnt, what="validation")
        for line in filter(None, (leaked, leakage(general or (), learnt, what="general"))):
            say(f"warning: {line}, and they choose the weights; take these pairs out of one of the texts")
        return {
            "leaked": leaked,
            "recipe": to_table(texts.recipe),
            "begun": begun,
            "validation_pairs": texts.validation_pairs,
            "general_pairs": general,
        }

    done = world.lead(work)
    recipe = from_table(Recipe, done["recipe"])
    validation_pairs, general_pairs = _pairs(done["validation_pairs"]), _pairs(done["general_pairs"])
    tokenizer = Tokenizer.load(folder.path)

    def tokens(part: str, *, placeholders: float = 0.0, annotating: Annotating = NOTHING) -> TokenisedCorpus:
        path = folder.checkpoints.corpus(part)
        return TokenisedCorpus(path, tokenizer, placeholders=placeholders, annotating=annotating)

    def learnt(part: str) -> TokenisedCorpus:
        text = tokens(part, placeholders=recipe.data.placeholders, annotating=recipe.data.annotating)
        text.lessons = lessons_of(recipe.teacher, tokenizer, text.target, folder.checkpoints.lessons(part))
        return text

    training: TrainingText
    if weights := epoch_weights(recipe):
        mark = synthetic_mark(tokenizer)
        tagged = [one.name for one in recipe.data.corpora if one.tagged]
        marks = dict.fromkeys([*tagged, *map(outputs_of, tagged)], mark)  # the sources are the same
        training = _weighted(weights, learnt, marks)
    elif recipe.tuning.replay_from not in ("auto", "none"):
        training = Mixture.replaying(learnt("train"), learnt("replay"), recipe.tuning.replay or 0.0)
    else:
        training = learnt("train")
    return Prepared(
        folder=folder,
        world=world,
        recipe=recipe,
        begun=done["begun"],
        tokenizer=tokenizer,
        training=training,
        validation=None if validation_pairs is None else tokens("valid"),
        validation_pairs=validation_pairs or (),
        base=request.base,
        general=None if general_pairs is None else tokens("general"),
        general_pairs=general_pairs or (),
        leaked=done["leaked"],
    )


def _pairs(pairs: Sequence[Sequence[str]] | None) -> Pairs | None:
    return None if pairs is None else tuple((source, target) for source, target in pairs)


def _weighted(
    weights: Mapping[str, float], learnt: Callable[[str], TokenisedCorpus], marks: Mapping[str, int | None]
) -> Mixture:
    parts = []
    for name, weight in weights.items():
        text = learnt(f"train.{name}")
        parts.append(Weighted(text, max(round(weight * len(text)), 1), name, marks.get(name)))
    return Mixture(parts)


def _write_lessons(
    teachers: Teachers, folder: RunFolder, names: Sequence[str], world: World, say: Say
) -> None:
    from dragoman.training.distillation.teach import write_lessons

    tokenizer, checkpoints = Tokenizer.load(folder.path), folder.checkpoints
    texts = {
        name: (
            TokenisedCorpus(checkpoints.corpus(f"train.{name}"), tokenizer),
            checkpoints.lessons(f"train.{name}"),
        )
        for name in names
    }
    write_lessons(teachers.options, teachers.digests, teachers.models, texts, device=world.device, say=say)
