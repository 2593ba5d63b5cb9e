"""One training run, from raw text to a model folder: the function `dragoman.train`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from dragoman.base.config import from_table
from dragoman.base.errors import ConfigError
from dragoman.base.machine import require_pytorch
from dragoman.base.options import entries, show
from dragoman.training.events import Observer, Quiet
from dragoman.training.processes.distributed import joined
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.prepare import prepare
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.text.texts import Data, RunRequest
from dragoman.training.runs.tuning.base import open_model

if TYPE_CHECKING:
    from dragoman.training.events import Stop
    from dragoman.translation.translator import Translator

Table = Mapping[str, Any]


class Sections(TypedDict, total=False):
    """Options of a recipe, section by section, and those above all sections."""

    title: str
    seed: int
    tokenizer: Table
    model: Table
    embeddings: Table
    training: Table
    tuning: Table
    teacher: Table
    generation: Table


def train(
    data: Data | Path | None = None,
    *,
    base: str | Path | None = None,
    teachers: Sequence[str | Path] = (),
    valid: Data | Path | None = None,
    replay: Data | Path | None = None,
    general: Data | Path | None = None,
    output: str | Path,
    preset: str | None = None,
    recipe: str | Path | Recipe | None = None,
    overrides: Iterable[str] = (),
    source_language: str | None = None,
    target_language: str | None = None,
    data_root: str | Path | None = None,
    observer: Observer | None = None,
    stop: Stop = lambda: 0,
    **sections: Unpack[Sections],  # an unknown name is an error with a suggestion, as in a recipe
) -> Translator:
    """Train on `data` and return the translator.

    `data` and `valid` are two files, one .tsv, .jsonl or .tmx (any may be compressed), or pairs of strings.
    Without `data` the recipe names the files. `output` becomes a model folder. Repeating the call resumes a
    run that was stopped.

    `recipe` is a recipe file, or a `Recipe`. Keywords named as its sections change it, such as
    `training={"max_updates": 200}` or `model={"heads": 8}`; so do `overrides`, such as "data.workers=4", as
    `data` is the text.

    `base` is a model to tune on `data`, as `Translator.load` takes it; without it, a new model is trained.
    `replay` is general text to add, so that the model does not forget it, and `general` is general text to
    measure that with. Without `valid`, a part of `data` is held out.

    `teachers` are models that teach a new one, as the section [teacher] of the recipe says; they replace
    `teacher.models`.

    Raises ConfigError for invalid options, for other options than the run began with, for a
    folder that another run is writing, and without PyTorch; DataError for text that cannot be used;
    ModelError for a base that cannot be read; Interrupted if `stop` returns a signal.
    """
    require_pytorch("training")
    observer = observer or Quiet()
    _check_names(sections)
    if isinstance(data, Mapping):
        raise ConfigError("data is text", hint='set options of [data] so: overrides=["data.context=0.7"]')
    if teachers:
        overrides = [*overrides, f"teacher.models={show([str(one) for one in teachers])}"]
    if base is None and (replay is not None or general is not None):
        raise ConfigError("general text is for tuning", hint="name the model to tune: --from MODEL")
    with joined() as world, RunFolder(Path(output)) as folder, ExitStack() as stack:
        request = RunRequest(
            data=_listed(data),
            valid=_listed(valid),
            base=None if base is None else stack.enter_context(open_model(base)),
            replay=_listed(replay),
            general=_listed(general),
            preset=preset,
            recipe=Path(recipe) if isinstance(recipe, str) else recipe,
            options=sections,
            overrides=[*overrides],
            languages=(source_language, target_language),
            data_root=Path(data_root) if data_root is not None else None,
        )
        prepared = prepare(request, folder, world, observer.on_message)
        # Both import torch, which takes seconds. In a single process the code above does not need it.
        from dragoman.training.runs.fit import fit
        from dragoman.translation.translator import Translator

        fit(prepared, observer=observer, stop=stop)
    return Translator.load(output)


def _listed(text: Data | Path | None) -> Data | None:
    return [text] if isinstance(text, str | Path) else None if text is None else cast(Data, [*text])


def _check_names(names: Iterable[str]) -> None:
    """Raise ConfigError for a keyword that is neither a section of a recipe nor one of `train`."""
    for name in names:
        if name not in entries(Recipe):
            if near := difflib.get_close_matches(
                name, [*(train.__kwdefaults__ or ()), *Sections.__annotations__, "output"], n=1
            ):
                raise ConfigError(f"unknown keyword {name!r}", hint=f"did you mean {near[0]}?")
            from_table(Recipe, {name: None})  # raises an error that suggests a similar name
