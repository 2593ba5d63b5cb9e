"""A training folder: its paths, the recipe of its run, and its lock.

config.json, model.safetensors, tokenizer.json ...   the model folder, see `models/folder/bundle.py`
training.toml    the recipe of the run
metrics.jsonl    every measurement
README.md        the model card
checkpoints/     files that resuming needs, see `training/checkpoints/paths.py`
"""

from __future__ import annotations

import filecmp
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Self

from dragoman.base.config import difference, to_table, to_toml
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import is_utf8, sweep, write_whole
from dragoman.base.jobs import Lock
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.metrics import Metrics
from dragoman.training.runs.recipe import Recipe, recipe_of_run
from dragoman.translation.folder.config import check_digests, read_config
from dragoman.translation.folder.digest import check_digest

_OTHER_FOLDER = "choose another folder with -o"
# Options that may change when a run is resumed. Clipping and precision may mend infinite gradients.
_MAY_CHANGE = {
    # That the text is the same is checked by its digest, whatever its files are called.
    *(f"data.{name}" for name in ("folder", "train", "valid", "test", "aliases", "origin")),
    *("title", "data.workers", "teacher.models"),  # the digests of the teachers say which they are
    *("training.clip", "training.precision", "training.recompute", "training.parallel"),
    *(f"training.{name}" for name in ("max_updates", "max_epochs", "max_minutes", "patience", "log_every")),
}
# Files that training writes. It refuses a folder that has such files from elsewhere.
_WRITTEN = (
    *("README.md", "config.json", "digests.json", "generation.json", "metrics.jsonl", "tokenizer.json"),
    *("tokenizer*.spm", "tokenizer*.words.json"),
)


class RunFolder:
    """The folder that one run writes. The end of a with-block releases the lock.

    Raises ConfigError for a path that is not UTF-8, where no weights can be written.
    """

    def __init__(self, path: Path) -> None:
        if not is_utf8(path):
            raise ConfigError(f"{str(path)!r}: the path is not UTF-8", hint=_OTHER_FOLDER)
        self.path = path
        self.checkpoints = Checkpoints(path / "checkpoints")
        self.metrics = Metrics(path / "metrics.jsonl")
        self.recipe = path / "training.toml"
        self.card = path / "README.md"
        self.weights = path / "model.safetensors"
        self._lock = Lock(self.checkpoints.folder / "lock", path, owner=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _repr_html_(self) -> str:
        """Return the loss of the run for a notebook, as a picture."""
        from dragoman.base.html.charts import Curve, svg_file

        valid = [(one.step, one.loss) for one in self.metrics.validations() if one.loss is not None]
        curves = [Curve(name="training", points=self.metrics.losses())]
        curves.append(Curve(name="validation", points=valid))
        if not any(curve.points for curve in curves):
            return f"<p>{escape(str(self.path))}: nothing measured yet</p>"
        title = f"Loss of {self.path}"
        picture = svg_file(curves, title=title, x="updates", y="nats a token")
        data = b64encode(picture.encode()).decode()
        return f'<img alt="{escape(title)}" width="760" src="data:image/svg+xml;base64,{data}">'

    @property
    def complete(self) -> bool:
        """Whether the model in the folder is the final one of training, and can be loaded."""
        final = self.checkpoints.final
        if not (final.exists() and self.weights.exists() and filecmp.cmp(final, self.weights, shallow=False)):
            return False
        try:
            check_digest(self.weights, read_config(self.path).weights)
            check_digests(self.path)
        except ModelError:
            return False
        return True

    def lock_if_ours(self) -> None:
        """Lock a folder in which a run has begun, before the slow reading of text.

        Raises ConfigError if another run is writing it.
        """
        if self.recipe.exists() and self.checkpoints.folder.is_dir():
            self._lock.acquire()

    def begin(self, recipe: Recipe) -> bool:
        """Lock the folder, and write the recipe if no run has begun. Return whether there is one to resume.

        Raises ConfigError, and writes nothing, if the folder has files from elsewhere, a run with other
        options, or a run that another process is writing.
        """
        self._check(recipe)
        self._lock.acquire()
        begun = self._check(recipe)  # check again: another run may have begun in between
        for folder in (
            self.path,
            self.checkpoints.folder,
            self.checkpoints.folder / "corpus",
            *self.checkpoints.folder.glob("corpus/*"),
        ):
            sweep(folder)
        if not begun:
            self.note(recipe)
        return begun

    def note(self, recipe: Recipe) -> None:
        """Write the recipe of the run. When it is resumed, how long to train may have changed."""
        write_whole(self.recipe, to_toml(recipe))

    def _check(self, recipe: Recipe) -> bool:
        """Return whether there is a run to resume. Raises ConfigError if `recipe` may not run here."""
        trained, resumable = self.weights.exists(), self.checkpoints.resumable
        if not self.recipe.exists():
            self._check_free(trained or resumable)
        if trained and not resumable:
            raise ConfigError(
                f"{self.path}: holds a trained model, but not the checkpoints to resume from",
                hint=_OTHER_FOLDER,
            )
        # A run that stopped before its first checkpoint, for example after an error in the text, fixes no
        # options.
        if resumable and (changes := self.changes(recipe)):
            raise ConfigError(
                f"{self.path}: a run with other options began here\n  " + "\n  ".join(changes),
                hint=f"repeat the options it began with, or {_OTHER_FOLDER}",
            )
        return resumable

    def _check_free(self, holds_model: bool) -> None:
        if holds_model:
            raise ConfigError(
                f"{self.path}: holds a model that this command did not train", hint=_OTHER_FOLDER
            )
        if any(self.path.glob("seed-*/training.toml")):
            raise ConfigError(f"{self.path}: holds runs of --seeds", hint=_OTHER_FOLDER)
        if names := [path.name for pattern in _WRITTEN for path in sorted(self.path.glob(pattern))]:
            raise ConfigError(
                f"{self.path}: training would overwrite {', '.join(names)}",
                hint="choose a new folder with -o",
            )

    def changes(self, recipe: Recipe) -> list[str]:
        """Return the options in which `recipe` differs from the run in the folder, if they may not change.

        One line each, such as `model.heads: 4 -> 8`.
        """
        before, after = to_table(recipe_of_run(self.recipe)), to_table(recipe)
        for corpus in (*before["data"]["corpora"], *after["data"]["corpora"]):
            corpus.update(train=[], valid=[], test=[])  # may change, like data.train
        lines = difference(before, after)
        return [line for line in lines if not _may_change(line.partition(":")[0], recipe)]


def _may_change(option: str, recipe: Recipe) -> bool:
    """Whether a run may be resumed with another value of the option."""
    if option == "training.max_updates" and recipe.training.schedule == "cosine":
        return False  # every learning rate depends on it
    return option in _MAY_CHANGE or option.startswith("expected.")
