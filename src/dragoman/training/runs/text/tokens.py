"""The tokenizer and the tokens of a run: existing ones in its folder, or new ones."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from dragoman.base.config import to_table
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.base.files import write_whole
from dragoman.text.corpora.corpus import Corpus
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.corpora.languages import Direction
from dragoman.text.corpora.reservoir import draw_sample
from dragoman.text.guidance import marks_of
from dragoman.text.tokenizers.copied import pieces_for
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.tokenised import first_change, is_made_from, tokenise
from dragoman.training.options import NOTHING
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.recipe import changes_targets
from dragoman.training.runs.text.directions import directions_of_run, fair_pairs
from dragoman.training.runs.text.texts import Say, Texts

_SAMPLED = 100_000  # pairs in which placeholders are counted

# Keep every validation pair, also long and duplicate ones, as far as attention to it fits into memory.
_KEEP_ALL = FilterConfig(max_length=4096, max_ratio=1e9, drop_duplicates=False)


def tokenise_texts(
    texts: Texts, folder: RunFolder, *, given: Tokenizer | None, begun: bool, say: Say
) -> None:
    """Write the tokenizer and the tokenised text, unless the folder has them for the same text.

    `given` is the tokenizer of a model to tune. Raises DataError for other text than the run began with,
    ConfigError for options that do not fit the tokenizer.
    """
    recipe, checkpoints = texts.recipe, folder.checkpoints
    if texts.teachers is not None and recipe.teacher.needs_vocabulary:
        given = texts.teachers.tokenizer
    if begun:
        if _same_text(texts, folder):
            return
        tokenizer = Tokenizer.load(folder.path)
    elif given is not None:
        _clear(folder, _training_parts(texts))
        _made(folder).unlink(missing_ok=True)  # of the tokenizer that this one replaces
        tokenizer = given
        tokenizer.save(folder.path)
    else:
        tokenizer = _learnt_tokenizer(texts, folder, say)
    if recipe.training.close_unseen and recipe.data.placeholders and tokenizer.placeholders and not begun:
        # Only now is it known whether `tokenizer.placeholders = "auto"` means some.
        raise changes_targets("data.placeholders")
    if any(one.tagged for one in recipe.data.corpora) and marks_of(tokenizer) is None:
        raise ConfigError("tagged = true: this vocabulary has no bytes for the tag", hint="leave it out")
    say("tokenising the text")
    for part, corpus in _parts(texts).items():
        learning = part.partition(".")[0] not in ("valid", "general")
        tokenised = tokenise(
            corpus,
            tokenizer,
            recipe.data.filter if learning else _KEEP_ALL,
            checkpoints.corpus(part),
            annotating=recipe.data.annotating_of(part) if learning else NOTHING,
            workers=recipe.data.workers,
            progress=say,
        )
        for line in tokenised.report.splitlines():
            say(f"{part}: {line}")
    _made(folder).unlink(missing_ok=True)


def _clear(folder: RunFolder, keep: Collection[str]) -> None:
    """Delete tokens that an earlier run left, except in the folders of these names."""
    for path in (folder.checkpoints.folder / "corpus").glob("*/"):
        if path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)


def _training_parts(texts: Texts) -> list[str]:
    """The folders of the tokens of training text."""
    return [part for part in _parts(texts) if part.startswith("train")]


def _made(folder: RunFolder) -> Path:
    """The file with the source of the tokenizer, until all text is tokenised."""
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
            say("using the tokenizer of the stopped run")
            _clear(folder, _parts(texts))
            return tokenizer
    made.unlink(missing_ok=True)
    _clear(folder, _training_parts(texts))
    say("training the tokenizer")
    pairs: Iterable[tuple[str, str]] = ((line.source.strip(), line.target.strip()) for line in texts.training)
    config, corpora = recipe.tokenizer, recipe.data.corpora
    if directions_of_run(corpora):
        if config.placeholders == "auto":
            sample = draw_sample(pairs, _SAMPLED, random.Random(recipe.seed))
            config = replace(config, placeholders=pieces_for(sample))
        one = config.shared and config.lowercase != "source"  # else targets would be in lower case, too
        pairs = fair_pairs(corpora, texts.corpora, shared=one, seed=recipe.seed)
    tokenizer = Tokenizer.train(pairs, config, seed=recipe.seed)
    tokenizer.save(folder.path)
    write_whole(made, table)
    return tokenizer


def _parts(texts: Texts) -> dict[str, Corpus]:
    """The text of a run by the folder of its tokens."""
    parts: dict[str, Corpus | None] = {
        **({f"train.{name}": corpus for name, corpus in texts.corpora.items()} or {"train": texts.training}),
        **{valid_part(one, texts.validation): text for one, text in texts.validation.items()},
        "replay": texts.replay,
        "general": texts.general,
    }
    return {part: corpus for part, corpus in parts.items() if corpus is not None}


def valid_part(direction: Direction, several: Collection[Direction]) -> str:
    """The name of the folder of the tokens of a validation text; `several` are all of them."""
    return "valid" if len(several) == 1 else f"valid.{direction[0]}-{direction[1]}"


def _same_text(texts: Texts, folder: RunFolder) -> bool:
    """Whether the folder has all tokens of the text. Raises DataError if it has tokens of other text."""
    parts = _parts(texts)
    learnt = _training_parts(texts)
    had = [one.name for one in folder.checkpoints.corpus("valid").parent.glob("valid*/")]
    validated = {part: "validation" for part in (*parts, *had) if part.startswith("valid")}
    names = dict.fromkeys(learnt, "training") | (validated or {"valid": "validation"})
    names |= {"replay": "replayed", "general": "general"}
    tokens = {part: folder.checkpoints.corpus(part) for part in names}
    same: list[bool | None] = []
    for part, name in names.items():
        if part in parts and (part in learnt or tokens[part].exists()):
            same.append(is_made_from(parts[part], tokens[part]))
        elif tokens[learnt[0]].exists():
            same.append(part not in parts and not tokens[part].exists())
        if same and same[-1] is False:
            raise DataError(
                f"{folder.path}: the {name} text has changed since this run began"
                + (f"; changed: {first_change(parts[part], tokens[part])}" if part in parts else ""),
                hint="restore the text, or choose another folder with -o",
            )
    return all(same)
