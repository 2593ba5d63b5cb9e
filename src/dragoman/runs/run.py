"""One training run, from raw text to a model folder: the function `dragoman.train`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.base.pytorch import require_pytorch
from dragoman.runs.base import open_base
from dragoman.runs.folder import RunFolder
from dragoman.runs.prepare import prepare
from dragoman.runs.texts import Data
from dragoman.runs.tuned_texts import Start
from dragoman.training.distributed import joined
from dragoman.training.events import Observer, Quiet

if TYPE_CHECKING:
    from dragoman.training.events import Stop
    from dragoman.translator import Translator


def train(
    data: Data | None = None,
    *,
    base: str | Path | None = None,
    teachers: Sequence[str | Path] = (),
    valid: Data | None = None,
    replay: Data | None = None,
    general: Data | None = None,
    output: str | Path,
    preset: str | None = None,
    recipe: str | Path | None = None,
    overrides: Iterable[str] = (),
    source_language: str | None = None,
    target_language: str | None = None,
    data_root: str | Path | None = None,
    observer: Observer | None = None,
    stop: Stop = lambda: 0,
    profile: bool = False,
) -> Translator:
    """Train on `data` and return the translator.

    `data` and `valid` are two files, one .tsv, .jsonl or .tmx (any may be compressed), or pairs of strings.
    Without `data` the recipe names the files. `output` becomes a model folder. Repeating the call resumes a
    run that was stopped. With `profile`, profile.txt in `output` says where the time of an update goes.

    `base` is a model to tune on `data`, as `Translator.load` takes it; without it, a new model is trained.
    `replay` is general text to train on besides, so that the model does not forget it, and `general` is
    general text to measure that with. Without `valid`, a part of `data` is held out.

    `teachers` are models that teach a new one, as the section [teacher] of the recipe says; they take the
    place of `teacher.models`.

    Raises ConfigError for invalid options, for options that differ from those the run began with, for a
    folder that another run is writing, and without PyTorch; DataError for text that cannot be used;
    ModelError for a base that cannot be read; Interrupted if `stop` returns a signal.
    """
    require_pytorch("training")
    observer = observer or Quiet()
    if base is None and (replay is not None or general is not None):
        raise ConfigError("general text is for tuning", hint="name the model to tune: --from MODEL")
    overrides = [*overrides, *([_naming(teachers)] if teachers else [])]
    with joined() as world, RunFolder(Path(output)) as folder, ExitStack() as stack:
        start = None
        if base is not None:
            opened = stack.enter_context(open_base(base))
            start = Start(base=opened, replay=replay, general=general)
        prepared = prepare(
            data,
            valid,
            folder=folder,
            world=world,
            say=observer.on_message,
            start=start,
            preset=preset,
            recipe=Path(recipe) if recipe is not None else None,
            overrides=overrides,
            languages=(source_language, target_language),
            data_root=Path(data_root) if data_root is not None else None,
        )
        # Both import torch, which takes seconds. In a single process the code above does not need it.
        from dragoman.runs.fit import fit
        from dragoman.translator import Translator

        fit(prepared, folder, world, observer=observer, stop=stop, profile=profile)
    return Translator.load(output)


def _naming(teachers: Sequence[str | Path]) -> str:
    """The option that names the teachers. What JSON writes for texts is TOML, too."""
    return f"teacher.models={json.dumps([str(one) for one in teachers], ensure_ascii=False)}"
