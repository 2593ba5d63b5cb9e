"""Everything before training: recipe, text, folder, tokenizer and tokenised corpora.

It finds most errors before it writes anything and before torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dragoman.base.config import from_table, to_table
from dragoman.text.corpora.languages import Direction
from dragoman.text.guidance import marks_of
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.leakage import leakage
from dragoman.training.data.mixture import Mixture, Stages, TrainingText, Weighted
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.distillation.distributions import lessons_of
from dragoman.training.processes.distributed import World
from dragoman.training.runs.doubts import marks_of_subwords
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import CorpusConfig, Recipe, Stage
from dragoman.training.runs.text.directions import SEVERAL, directions_of, directions_of_run, shares
from dragoman.training.runs.text.opening import open_texts
from dragoman.training.runs.text.teachers import Teachers
from dragoman.training.runs.text.texts import Pairs, RunRequest, Say, Texts, two_sided
from dragoman.training.runs.text.tokens import tokenise_texts, valid_part
from dragoman.training.runs.text.translations import epoch_weights, with_outputs
from dragoman.training.runs.tuning.base import Base
from dragoman.translation.lines import Directions


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that training needs, the same on every process."""

    folder: RunFolder
    world: World
    recipe: Recipe  # with its languages
    begun: bool  # whether there is a run to resume
    tokenizer: Tokenizer
    training: TrainingText  # after the stages
    stages: Stages
    validation: Mapping[Direction, TrainingText]  # by direction; nothing without
    validation_pairs: Mapping[Direction, Pairs]  # sources and references, to translate and score
    directions: tuple[Direction, ...] = ()  # of a model of several
    base: Base | None = None  # the model to tune
    teacher: str | None = None  # the model whose weights a student starts from
    general: TrainingText | None = None  # in tuning, general text to measure with
    general_pairs: Pairs = ()
    leaked: str = ""  # how much of the validation text is also training text

    @property
    def languages(self) -> Direction:
        """The source and the target of the model; "mul" for several."""
        return _stated(self.recipe, self.base, self.directions)


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
        validated = bool(texts.validation)
        texts.recipe.training.check_validated(loss=validated, translated=validated)
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
            _write_lessons(texts, texts.teachers, folder, world, say)
        general = None if texts.general is None else two_sided(texts.general)
        learnt = folder.checkpoints.learnt_texts()
        if request.base is not None:
            learnt += request.base.checkpoints.learnt_texts()
        validation_pairs = list(chain.from_iterable(texts.validation_pairs.values()))
        leaked = leakage(validation_pairs, learnt, what="validation")
        for line in filter(None, (leaked, leakage(general or (), learnt, what="general"))):
            say(f"warning: {line}, and they choose the weights; take these pairs out of one of the texts")
        return {
            "leaked": leaked,
            "teacher": texts.teachers.members[0].name
            if texts.teachers and texts.recipe.teacher.start
            else None,
            "recipe": to_table(texts.recipe),
            "begun": begun,
            "validation_pairs": [[*direction, pairs] for direction, pairs in texts.validation_pairs.items()],
            "general_pairs": general,
        }

    done = world.lead(work)
    recipe = from_table(Recipe, done["recipe"])
    validation_pairs = {(one, other): _pairs(pairs) or () for one, other, pairs in done["validation_pairs"]}
    general_pairs = _pairs(done["general_pairs"])
    tokenizer = Tokenizer.load(folder.path)
    directions = _all_directions(recipe, request.base, tokenizer)
    marking = Directions(tokenizer, _stated(recipe, request.base, directions), directions)

    def measured(part: str) -> TokenisedCorpus:
        return TokenisedCorpus(folder.checkpoints.corpus(part), tokenizer.unsampled)

    def trained_on(stage: Stage | None = None) -> TrainingText:
        noise = recipe.data.noise if stage is None or stage.noise is None else stage.noise

        def learnt(part: str) -> TokenisedCorpus:
            text = TokenisedCorpus(
                folder.checkpoints.corpus(part),
                tokenizer,
                placeholders=recipe.data.placeholders,
                annotating=recipe.data.annotating_of(part, noise),
            )
            lessons = folder.checkpoints.lessons(part)
            text.lessons = lessons_of(recipe.teacher, tokenizer, text.target, lessons)
            return text

        if weights := epoch_weights(recipe, stage):
            return _weighted(recipe, weights, learnt, marking)
        if recipe.tuning.replay_from not in ("auto", "none"):
            return Mixture.replaying(learnt("train"), learnt("replay"), recipe.tuning.replay or 0.0)
        return learnt("train")

    def addressed(text: TokenisedCorpus, direction: Direction) -> TrainingText:
        marks, start = _marked(marking, direction)
        return Mixture([Weighted(text, len(text), "", marks, start)]) if marks or start else text

    return Prepared(
        folder=folder,
        world=world,
        recipe=recipe,
        begun=done["begun"],
        tokenizer=tokenizer,
        training=trained_on(),
        stages=[(stage.updates, trained_on(stage)) for stage in recipe.data.stages],
        validation={
            one: addressed(measured(valid_part(one, validation_pairs)), one) for one in validation_pairs
        },
        validation_pairs=validation_pairs,
        directions=directions,
        base=request.base,
        teacher=done["teacher"],
        general=None if general_pairs is None else measured("general"),
        general_pairs=general_pairs or (),
        leaked=done["leaked"],
    )


def _pairs(pairs: Sequence[Sequence[str]] | None) -> Pairs | None:
    return None if pairs is None else tuple((source, target) for source, target in pairs)


def _all_directions(recipe: Recipe, base: Base | None, tokenizer: Tokenizer) -> tuple[Direction, ...]:
    """The pairs of languages of the model, if it has several: those of its base, too.

    A base of several that states none has none. The one pair of a student may be in a vocabulary of several.
    """
    if base is None:
        only = (_stated(recipe, None, ()),) if tokenizer.languages else ()
        return directions_of_run(recipe.data.corpora) or only
    if tokenizer.languages and not base.config.directions:
        return ()
    new = [direction for one in recipe.data.corpora for direction in directions_of(one)]
    return tuple(dict.fromkeys([*base.config.directions, *new]))


def _stated(recipe: Recipe, base: Base | None, directions: Sequence[Direction]) -> Direction:
    """The source and the target of the model; "mul" for several."""
    if base is not None and not directions and (base.config.several or base.tokenizer.languages):
        return base.config.source_language, base.config.target_language
    if not directions:
        return recipe.data.source_language or "", recipe.data.target_language or ""
    source, target = ({*side} for side in zip(*directions, strict=True))
    return source.pop() if len(source) == 1 else SEVERAL, target.pop() if len(target) == 1 else SEVERAL


def _marked(marking: Directions, direction: Direction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens before each source and each target of a direction, as translating has them."""
    address, start = marking.marks(*marking.chosen(*direction))
    before = marking.tokenizer.encode_source([address])[0] if address else []
    return tuple(before), start


def _directions(recipe: Recipe, one: CorpusConfig | None) -> list[Direction]:
    """The directions that a text is learnt in: of a run of one, its own, which the text need not state."""
    several = one is not None and directions_of_run(recipe.data.corpora)
    return directions_of(one) if one is not None and several else [_stated(recipe, None, ())]


def _weighted(
    recipe: Recipe,
    weights: Mapping[str, float],
    learnt: Callable[[str], TokenisedCorpus],
    marking: Directions,
) -> Mixture:
    corpora, tags = recipe.data.corpora_by_name, marks_of(marking.tokenizer)
    texts = {name: learnt(f"train.{name}") for name in weights}
    factors = shares(recipe, {name: weights[name] * len(text) for name, text in texts.items()})
    parts = []
    for name, text in texts.items():
        one = corpora.get(name)
        rows = max(round(weights[name] * factors[name] * len(text)), 1)
        tag = (tags.synthetic,) if one is not None and one.tagged and tags is not None else ()
        for number, direction in enumerate(_directions(recipe, one) if marking.several else [None]):
            marks, start = ((), ()) if direction is None else _marked(marking, direction)
            marks = marks if number else (*tag, *marks)
            tagged = bool(tag) and not number
            parts.append(Weighted(text, rows, name, marks, start, swapped=bool(number), tagged=tagged))
    return Mixture(parts)


def _write_lessons(texts: Texts, teachers: Teachers, folder: RunFolder, world: World, say: Say) -> None:
    from dragoman.training.distillation.teach import write_lessons

    tokenizer, checkpoints = Tokenizer.load(folder.path), folder.checkpoints
    corpora, parts = texts.recipe.data.corpora_by_name, []
    for name in texts.corpora:
        text = TokenisedCorpus(checkpoints.corpus(f"train.{name}"), tokenizer)
        direction = _directions(texts.recipe, corpora.get(name))[0]
        part = Weighted(text, len(text), name, *_marked(teachers.known, direction))
        parts.append((part, checkpoints.lessons(f"train.{name}")))
    write_lessons(teachers.options, teachers.digests, teachers.models, parts, device=world.device, say=say)
