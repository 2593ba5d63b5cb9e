"""A recipe: all options of a training run in one object.

It has layers, and later ones override earlier ones: the defaults (the paper's base model), a preset, a recipe
file, `section.key=value`. Checking a recipe imports no torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from dragoman.base.config import from_table, override, read_toml, to_table
from dragoman.base.errors import ConfigError
from dragoman.base.languages import base
from dragoman.base.options import Option, Options, entries, show
from dragoman.models.shapes import Architecture, TransformerConfig
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.formality import LANGUAGES
from dragoman.text.noise import NOISES, Noise
from dragoman.text.tokenizers.tokenizer import TokenizerConfig
from dragoman.training.distillation.options import TeacherConfig, outputs_of
from dragoman.training.options import Annotating, TrainingConfig
from dragoman.training.runs.tuning.options import TuningConfig
from dragoman.translation.folder.quantised import ARCHITECTURES
from dragoman.translation.search.options import Beam

DATA_VARIABLE = "DRAGOMAN_DATA"
_NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Options, section="data.corpora"):
    """One of several training texts."""

    name: Annotated[str, Option("Name in reports and in the folder of the run.")]
    train: Annotated[tuple[str, ...], Option("Its files, as in data.train.")]
    weight: Annotated[
        float,
        Option("How often an epoch has each pair: 2 is twice, 0.5 another half in every epoch.", above=0),
    ] = 1.0
    tagged: Annotated[
        bool,
        Option(
            "Put a tag before each of its sources, for text whose sources a model made (Caswell et al. "
            "2019). No text contains the tag, and translating never uses it."
        ),
    ] = False
    source_language: Annotated[
        str | None, Option("Its source language. Left out, the file names or [data] determine it.")
    ] = None
    target_language: Annotated[
        str | None, Option("Its target language. Texts in several languages make one model of all of them.")
    ] = None
    both: Annotated[
        bool, Option("Learn both directions: also to translate its targets into its sources.")
    ] = False
    valid: Annotated[
        tuple[str, ...], Option("Validation text in these languages, for a model of several.")
    ] = ()
    test: Annotated[tuple[str, ...], Option("Test text in these languages, for a model of several.")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"data.corpora: name = {self.name!r} cannot be used",
                hint="use letters, digits, - and _, such as web-2024",
            )
        if not self.train:
            raise ConfigError(f"data.corpora: {self.name} has no files", hint='set train = ["a.en", "a.de"]')


@dataclass(frozen=True, kw_only=True)
class Stage(Options, section="data.stages"):
    """A stage of a curriculum."""

    updates: Annotated[int, Option("How many updates it lasts.", at_least=1)]
    weights: Annotated[
        dict[str, float], Option("Weights of data.corpora by name; the others keep theirs.", at_least=0)
    ] = field(default_factory=dict)
    noise: Annotated[float | None, Option("As data.noise. Left out, that.", at_least=0, at_most=1)] = None


@dataclass(frozen=True, kw_only=True)
class DataConfig(Options, section="data"):
    """The text. Its files are in --data (or $DRAGOMAN_DATA), or in `folder` below it."""

    folder: Annotated[str, Option("Folder that holds the files.")] = ""
    train: Annotated[
        tuple[str, ...],
        Option(
            "Training text: two files or patterns such as train-*.en.zst, source then target; or files of "
            "pairs. Of more than two plain files the first half are sources."
        ),
    ] = ()
    valid: Annotated[
        tuple[str, ...], Option("Validation text, which chooses the best checkpoint and stops a run early.")
    ] = ()
    test: Annotated[
        tuple[str, ...], Option("Test text for `dragoman evaluate`, `ladder` and `train --seeds`.")
    ] = ()
    aliases: Annotated[
        tuple[str, ...],
        Option(
            'Other names that files may have: with "valid=val", valid.en may be called val.en. Any file may '
            "also be compressed, or not."
        ),
    ] = ()
    origin: Annotated[str, Option("Where to get the text: an address, and the files to take from there.")] = (
        ""
    )
    source_language: Annotated[
        str | None, Option("Code of the language to translate from. Left out, the file names determine it.")
    ] = None
    target_language: Annotated[
        str | None, Option("Code of the language to translate into. Left out, the file names determine it.")
    ] = None
    placeholders: Annotated[
        float,
        Option(
            "Share of the training pairs in which reserved pieces replace copied placeholders, and some "
            "copied numbers and names; the choice changes with every epoch. Without tokenizer.placeholders "
            "nothing is replaced.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.5
    terms: Annotated[
        float,
        Option(
            "Share of the training pairs in which the model reads the translations of some words next to "
            "them; the choice changes with every epoch. 0.3 suits a model for lists of terms (Dinu et al. "
            "2019). The translations are found by word alignment.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    matches: Annotated[
        float,
        Option(
            "Share of the training pairs in which the model reads the translation of a similar pair, if "
            "there is one; the choice changes with every epoch. 0.5 suits a model for translation memories "
            "(Bulté and Tezcan 2019).",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    context: Annotated[
        float,
        Option(
            "Share of the training pairs that the model reads with what stands before them in the text; the "
            "choice changes with every epoch. 0.7 suits a model that translates with and without context "
            "(Tiedemann and Scherrer 2017). Blank lines end a document.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    context_sides: Annotated[
        Literal["source", "both"],
        Option("Sides of the pairs before a line that its context has; both: their translations, too."),
    ] = "source"
    formality: Annotated[
        float,
        Option(
            "Share of the training pairs that address someone in which the model reads how, formally or "
            "informally; the choice changes with every epoch. 0.5 suits --formality (Sennrich et al. 2016). "
            "For translations into German and French.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    noise: Annotated[
        float,
        Option(
            "Share of the training pairs with noise in the source, such as typos and capitals; the choice "
            "changes with every epoch. 0.3 suits a model for text that people type (Belinkov and Bisk 2018).",
            at_least=0,
            at_most=1,
        ),
    ] = 0.0
    noise_kinds: Annotated[
        tuple[Noise, ...],
        Option(
            "Kinds of this noise; [] are all. A pair gets one, of those that change its source. Targets have "
            "the same capitals, emoji and tags, and none of the other kinds."
        ),
    ] = ()
    workers: Annotated[
        int,
        Option(
            "Processes that tokenise the text; 0 starts one for each core. The tokens do not depend on it.",
            at_least=0,
            at_most=1024,
        ),
    ] = 0
    corpora: Annotated[
        tuple[CorpusConfig, ...],
        Option(
            "Several texts with weights instead of data.train, each a table [[data.corpora]] with a name, "
            "its train files, and a weight: how often an epoch has each of its pairs. tagged = true marks "
            "synthetic sources: see `dragoman back-translate`. Texts in several languages make one model of "
            "many: each has its languages, its valid and its test files."
        ),
    ] = ()
    temperature: Annotated[
        float,
        Option(
            "Makes the shares of the directions more equal: each gets its share of the pairs to the power "
            "1 / temperature (Arivazhagan et al. 2019). 1 leaves them as they are.",
            at_least=1,
        ),
    ] = 1.0
    stages: Annotated[
        tuple[Stage, ...],
        Option(
            "Stages of a curriculum before the rest of the training, each a table [[data.stages]] with its "
            "updates, and what differs in it: weights = {name = 2.0} of data.corpora, where 0 leaves a text "
            "out, or noise. Each stage begins a new epoch."
        ),
    ] = ()
    filter: FilterConfig = FilterConfig()

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [corpus.name for corpus in self.corpora]
        if self.train and names:
            raise ConfigError(
                "data.train and data.corpora: both name training text",
                hint="move data.train into data.corpora",
            )
        if len(set(names)) < len(names):
            raise ConfigError(f"data.corpora: two of {', '.join(names)} are equal", hint="rename one")
        for weights in (stage.weights for stage in self.stages):
            if not {*weights} <= {*names} or (weights and not any(weights.get(name, 1) for name in names)):
                raise ConfigError(
                    f"data.stages: weights = {show(weights)} cannot be used",
                    hint=f"name texts of data.corpora ({', '.join(names) or 'none'}), not all with weight 0",
                )
        for option in ("valid", "test"):
            own = [one.name for one in self.corpora if getattr(one, option)]
            if own and getattr(self, option):
                raise ConfigError(
                    f"data.{option} together with data.corpora: {own[0]}: {option}",
                    hint="name all of it in data.corpora",
                )

    @property
    def corpora_by_name(self) -> dict[str, CorpusConfig]:
        """The training texts, also those whose targets are teachers' translations."""
        return {name: one for one in self.corpora for name in (one.name, outputs_of(one.name))}

    @property
    def annotating(self) -> Annotating:
        """The guidance that the model reads with the source, and how often; the most noise of any stage."""
        return self.annotating_of()

    def annotating_of(self, part: str = "", noise: float | None = None) -> Annotating:
        """The same for the tokens of a text, which has languages of its own, and for this much noise."""
        one = self.corpora_by_name.get(part.partition("train.")[2], self)
        return Annotating(
            terms=self.terms,
            matches=self.matches,
            source_language=one.source_language or self.source_language or "",
            target_language=one.target_language or self.target_language or "",
            context=self.context,
            context_target=self.context_sides == "both",
            formality=self.formality,
            noise=max([self.noise, *(one.noise or 0.0 for one in self.stages)]) if noise is None else noise,
            noise_kinds=self.noise_kinds or NOISES,
        )


@dataclass(frozen=True, kw_only=True)
class Expected(Options, section="expected"):
    """The expected score and cost of the recipe. Training does not use them."""

    score: Annotated[str, Option("Scores, each with its signature or its source.")] = ""
    cost: Annotated[str, Option("Time, and the hardware.")] = ""
    measured: Annotated[
        bool, Option("Whether the score was measured with this recipe. If not, it is a published one.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Recipe(Options):
    """A training run. Sections and tables cited without a name refer to Vaswani et al. 2017."""

    title: Annotated[str, Option("Title of the model card.")] = ""
    preset: Annotated[
        Literal["tiny", "small", "tiny11", "base", "big"] | None,
        Option("Preset that the other options change."),
    ] = None
    seed: Annotated[int, Option("Seed of all random choices.", at_least=0, at_most=2**63 - 1)] = 1
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: Architecture = TransformerConfig()
    training: TrainingConfig = TrainingConfig()
    tuning: TuningConfig = TuningConfig()
    teacher: TeacherConfig = TeacherConfig()
    generation: Beam = Beam()
    expected: Expected = Expected()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_annotations()
        self._check_words()
        self._check_unseen()
        self.training.aligning(self.model)  # raises ConfigError if the model has no head to train
        self.training.recomputing(self.model)
        self._check_rounded()
        self._check_reversed()
        if self.tuning.lora_alpha is not None and not self.tuning.lora_rank:
            raise ConfigError("tuning.lora_alpha without adapters", hint="set tuning.lora_rank, too")
        # Two separate vocabularies may be of one size, but their ids mean different words.
        # The files of an imported tokenizer are two, but their ids belong to one vocabulary.
        if self.model.tie == "all" and not self.tokenizer.shared and self.tokenizer.kind != "mapped":
            raise ConfigError(
                'model.tie = "all" needs one vocabulary for both sides',
                hint='set model.tie="decoder"'
                + ("" if self.teacher.needs_vocabulary else ", or tokenizer.shared=true"),
            )

    def _check_annotations(self) -> None:
        """Guidance is between marks, which are bytes of the vocabulary."""
        kind = self.tokenizer.kind
        tagged = [f"corpora: {one.name}: tagged = true" for one in self.data.corpora if one.tagged]
        names = [*self.data.annotating.names, *tagged]
        if names and kind != "mapped" and (kind == "words" or not self.tokenizer.byte_fallback):
            raise ConfigError(
                f"data.{names[0]} needs marks, and this vocabulary has no bytes for them",
                hint='set tokenizer.kind="bpe" and tokenizer.byte_fallback=true, or leave it out',
            )
        targets = {base(to) for one in self.data.corpora or [self.data] if (to := one.target_language)}
        tuned = bool(self.tuning.base)  # which may have learnt it for another language
        if self.data.formality and targets and targets.isdisjoint(LANGUAGES) and not tuned:
            raise ConfigError(
                f"data.formality: no rules for {', '.join(sorted(targets))}",
                hint=f"leave it out; there are rules for translations into {' and '.join(LANGUAGES)}",
            )

    def _check_words(self) -> None:
        """The teachers' distributions are of fixed tokens."""
        names = self.changing("terms", "matches", "context", "formality", "placeholders", "noise")
        if self.teacher.words and self.tokenizer.languages and self.tokenizer.target_mark == "target":
            raise ConfigError(
                f'teacher.words = {self.teacher.words:g} with tokenizer.target_mark = "target"',
                hint="set teacher.words=0, or train the teachers with the mark before the source",
            )
        if self.teacher.words and names:
            raise ConfigError(
                f"teacher.words = {self.teacher.words:g}, but {names[0]} changes the tokens in every epoch",
                hint=f"set {names[0]}=0, or teacher.words=0 to learn from the teachers' translations alone",
            )

    def _check_unseen(self) -> None:
        """The tokens of the targets are known before training, and closed by a bias."""
        if not self.training.close_unseen:
            return
        if not self.model.output_bias:
            raise ConfigError(
                "training.close_unseen = true needs a bias of the output layer",
                hint="set model.output_bias=true",
            )
        if self.tuning.base:
            raise ConfigError(
                "training.close_unseen = true is for a new model", hint="set training.close_unseen=false"
            )
        if names := self.changing("placeholders", "noise"):
            raise changes_targets(names[0])

    def _check_rounded(self) -> None:
        """8-bit models are whole ones, of the architectures that Marian shares with us."""
        if not self.training.quantise:
            return
        rounding = f'training.quantise = "{self.training.quantise}"'
        if self.model.architecture not in ARCHITECTURES:
            raise ConfigError(
                f'{rounding} with model.architecture = "{self.model.architecture}"',
                hint=f"leave it out; only these can be rounded: {', '.join(ARCHITECTURES)}",
            )
        if self.tuning.lora_rank:
            raise ConfigError(
                f"{rounding} rounds all weights, but adapters leave them as they are",
                hint="set tuning.lora_rank=0",
            )
        if self.training.parallel == "sharded":
            raise ConfigError(
                f'{rounding} needs all weights in each process, but training.parallel = "sharded"',
                hint="set training.parallel=replicated",
            )

    def _check_reversed(self) -> None:
        """Text that is learnt in both directions has the same tokens in both."""
        both = next((f"data.corpora: {one.name}: both = true" for one in self.data.corpora if one.both), None)
        if both is None:
            return
        tokenizer = self.tokenizer
        if not tokenizer.shared or tokenizer.lowercase == "source":
            raise ConfigError(
                f"{both} needs one vocabulary, and both sides cut alike",
                hint='set tokenizer.shared=true, and not tokenizer.lowercase="source"',
            )
        others = {"noise": self.data.annotating.noise, "teacher.words": self.teacher.words}
        if names := [*self.data.annotating.names, *(name for name, share in others.items() if share)]:
            raise ConfigError(
                f"{both}, but {names[0]} is for one direction",
                hint="name the text twice instead, the second time with its files the other way round",
            )

    def changing(self, *shares: str) -> list[str]:
        """Those of the options that change tokens in every epoch: sampling, and these of [data]."""
        data = vars(self.data) | {"noise": self.data.annotating.noise}  # also of a stage
        names = [f"data.{name}" for name in shares if data[name]]
        if not self.tokenizer.reserved and "data.placeholders" in names:
            names.remove("data.placeholders")
        return ["tokenizer.sampling", *names] if self.tokenizer.sampling else names


def changes_targets(name: str) -> ConfigError:
    """The error for an option that cannot be combined with `training.close_unseen`."""
    return ConfigError(
        f"training.close_unseen = true, but {name} changes the target tokens in every epoch",
        hint=f"set {name}=0, or training.close_unseen=false",
    )


# The options that each preset changes.
PRESETS = read_toml(Path(__file__).with_name("presets.toml"))


def preset_for(pairs: int) -> str:
    """Return the preset for a corpus of `pairs` pairs. A large model only memorises a small corpus."""
    if pairs < 100_000:
        return "tiny"
    return "small" if pairs < 1_000_000 else "base"


def set_options(
    recipe: Path | Recipe | None, overrides: Iterable[str], sections: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the options that the user has set: a recipe's, changed by `sections`, then by the overrides."""
    table = read_toml(recipe) if isinstance(recipe, Path) else {} if recipe is None else to_table(recipe)
    return _without_gone(override(merge_tables(table, sections or {}), overrides))


def recipe_of_run(path: Path) -> Recipe:
    """Return the recipe in a `training.toml`. An option that is newer than the file gets its default."""
    return from_table(Recipe, _without_gone(read_toml(path)))


_GONE = {
    "embeddings": "the model learns its embeddings from the text",
    "tuning.penalty": "tuning.interpolate and tuning.replay keep the weights near the base's",
}


def _without_gone(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out options of earlier versions that are off, which they wrote. Raises ConfigError for others."""
    kept = dict(table)
    for place, hint in _GONE.items():
        section, _, name = place.partition(".")
        if not isinstance(options := kept.get(section), Mapping):
            continue
        gone = {key: value for key, value in options.items() if name in ("", key)}
        if used := [f"{section}.{key}" for key, value in gone.items() if value]:
            raise ConfigError(f"{used[0]}: this option is gone", hint=f"leave it out: {hint}")
        kept[section] = {key: value for key, value in options.items() if key not in gone}
        if not kept[section]:
            del kept[section]
    return kept


def resolve(
    *,
    preset: str | None = None,
    recipe: Path | None = None,
    overrides: Iterable[str] = (),
    pairs: int | None = 0,
) -> Recipe:
    """Return the recipe that results from all layers.

    Without a preset or a file, the preset is the one for a corpus of `pairs`; if `pairs` is None, there is
    no preset. Raises ConfigError.
    """
    own = set_options(recipe, overrides)
    if preset is None and "preset" not in own and recipe is None and pairs is not None:
        preset = preset_for(pairs)
    return resolve_options(own, preset)


def resolve_options(own: Mapping[str, Any], preset: str | None = None) -> Recipe:
    """Return the recipe of the options that the user has set, upon `preset` or theirs. Raises ConfigError."""
    name = preset or own.get("preset")
    if name is not None and (not isinstance(name, str) or name not in PRESETS):
        raise ConfigError(f"no preset {name!r}", hint=f"choose one of: {', '.join(PRESETS)}")
    table = merge_tables(_applicable(PRESETS.get(name or "", {}), own), own)
    if name is not None:
        table["preset"] = name
    return from_table(Recipe, table)


def _applicable(preset: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preset without the model options that the architecture in `own` does not have."""
    model = own.get("model")
    architecture = model.get("architecture") if isinstance(model, Mapping) else None
    for kind in get_args(Architecture):
        if kind.architecture == architecture:
            known, options = entries(kind), preset.get("model", {})
            return {**preset, "model": {name: options[name] for name in options if name in known}}
    return dict(preset)


def find_data(data: DataConfig, root: Path | None, names: Sequence[str]) -> list[Path]:
    """Return the paths of the recipe's files below `root` or $DRAGOMAN_DATA. Raises ConfigError."""
    variable = os.environ.get(DATA_VARIABLE)
    top = root or (Path(variable) if variable else None)
    origin = f"; get the text from {data.origin}" if data.origin else ""
    if top is None:
        raise ConfigError(
            "the recipe names its text, but not where it is on this machine",
            hint=f"pass --data FOLDER or set {DATA_VARIABLE}{origin}",
        )
    for folder in (top / data.folder, top):
        paths = [_path_or_pattern(folder, name, data.aliases) for name in names]
        found = [path for path in paths if path is not None]
        if len(found) == len(names):
            return found
    places = f"{top / data.folder} or {top}" if data.folder else f"{top}"
    raise ConfigError(
        f"no {' and '.join(names)} in {places}",
        hint=f"point --data or {DATA_VARIABLE} at the folder that holds them{origin}",
    )


def _path_or_pattern(folder: Path, name: str, aliases: Sequence[str]) -> Path | None:
    """Return the path of a file, or a pattern that has files; None without one.

    The folder is read literally: `[` in it is not a pattern.
    """
    part, _, rest = name.partition(".")
    others = [
        f"{other}.{rest}" for first, _, other in (one.partition("=") for one in aliases) if first == part
    ]
    for one in (name, *others):
        if (folder / one).exists():
            return folder / one
        if has_magic(one) and glob(str(pattern := Path(escape(str(folder))) / one)):
            return pattern
        plain = one.removesuffix(".gz").removesuffix(".zst")
        for path in (folder / f"{plain}{suffix}" for suffix in ("", ".gz", ".zst")):
            if path.exists():
                return path
    return None


def merge_tables(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return both tables merged; values of `over` win."""
    result = {
        key: merge_tables(value, {}) if isinstance(value, Mapping) else value for key, value in under.items()
    }
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = merge_tables(below, value)
        result[key] = value
    return result
