"""One training run, from raw text to a model folder: tokenizer, tokenised corpus, training, model card."""

from __future__ import annotations

import filecmp
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from dragoman import native
from dragoman.base.config import build, difference, read_toml, to_table, to_toml
from dragoman.base.errors import ConfigError, DataError
from dragoman.base.files import sweep, write_whole
from dragoman.evaluation.measures import score_corpus
from dragoman.folder import bundle
from dragoman.folder.bundle import Bundle
from dragoman.folder.weights import put_weights, read_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.runs import card
from dragoman.runs import word_vectors as pretrained
from dragoman.runs.recipe import Recipe, find_data, resolve
from dragoman.text.corpus import Corpus, FilterConfig, open_corpus, open_pairs
from dragoman.text.languages import Languages
from dragoman.text.tokenizer import Tokenizer
from dragoman.training import distributed
from dragoman.training.distributed import World
from dragoman.training.options import Observer
from dragoman.training.precision import precision_on, send_to_onednn
from dragoman.training.profile import Profile
from dragoman.training.tokenised import TokenisedCorpus, made_from, tokenise
from dragoman.training.trainer import Stop, Trainer, Translate
from dragoman.translator import Translator
from dragoman.version import __version__

Data = Sequence[str | Path] | Sequence[tuple[str, str]]

# Options that only say how long to go on, or what to call it: with others it is no other run.
_MAY_CHANGE = {
    "title",
    *(f"training.{name}" for name in ("max_updates", "max_epochs", "max_minutes", "patience", "log_every")),
}
# What training would overwrite, were it someone else's.
_WRITTEN = (
    *("README.md", "config.json", "generation.json", "metrics.jsonl", "tokenizer.json"),
    *("tokenizer.spm", "tokenizer.source.spm", "tokenizer.target.spm"),
    *("tokenizer.words.json", "tokenizer.source.words.json", "tokenizer.target.words.json"),
)
_SAMPLES = 3  # translations shown at each validation


def train(
    data: Data | None = None,
    *,
    valid: Data | None = None,
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
    """Trains on `data`, files (two, or one .tsv or .jsonl, maybe .gz) or pairs of strings; loads the result.

    Without `data`, the recipe says which files. `output` becomes a model folder. A run that was
    stopped goes on where it stood; with other options than it began with, ConfigError shows the
    difference. With `profile` some updates are profiled, and profile.txt in `output` says where their
    time went. Raises DataError for text that cannot be used, Interrupted when `stop` says so.
    """
    output = Path(output)
    observer = observer or _Quiet()
    world = distributed.join()
    try:
        run = _Run(output, observer, world, Path(data_root) if data_root is not None else None)
        run.recipe, validates = world.lead(
            lambda: run.prepare(
                data,
                valid,
                preset=preset,
                recipe=Path(recipe) if recipe is not None else None,
                overrides=tuple(overrides),
                languages=(source_language, target_language),
            )
        )
        run.open(validates)
        run.fit(stop, profile=profile)
    finally:
        distributed.leave()
    return Translator.load(output)


class _Run:
    """What the stages of a run share."""

    recipe: Recipe
    corpus: Corpus
    valid_corpus: Corpus | None
    tokenizer: Tokenizer
    tokenised: TokenisedCorpus
    valid: TokenisedCorpus | None
    begun: bool  # whether there is something in the folder to go on from

    def __init__(self, output: Path, observer: Observer, world: World, root: Path | None) -> None:
        self.output, self.observer, self.world, self.root = output, observer, world, root

    def prepare(
        self,
        data: Data | None,
        valid: Data | None,
        *,
        preset: str | None,
        recipe: Path | None,
        overrides: tuple[str, ...],
        languages: tuple[str | None, str | None],
    ) -> tuple[Recipe, bool]:
        """Recipe, text and tokenizer: all that can be wrong is found out before anything is written.

        The leader's work; gives the recipe, and whether there is validation text.
        """
        if data is not None and recipe is None and preset is None:
            self.corpus = _open(data, languages)
            pairs = sum(1 for _ in self.corpus)
            self.recipe = resolve(overrides=overrides, pairs=pairs)
            self.observer.on_message(f"{pairs:,} pairs: preset {self.recipe.preset}")
        else:
            self.recipe = resolve(preset=preset, recipe=recipe, overrides=overrides)
            said = self.recipe.data
            if data is None:
                if not said.train:
                    raise ConfigError("no training text", hint="name two files, or a recipe that names them")
                data = find_data(said, self.root, said.train)
                if valid is None and said.valid:
                    valid = find_data(said, self.root, said.valid)
            languages = (languages[0] or said.source_language, languages[1] or said.target_language)
            self.corpus = _open(data, languages)
        text = self.recipe.data
        source = languages[0] or text.source_language or self.corpus.source_language
        target = languages[1] or text.target_language or self.corpus.target_language
        if not source or not target:
            raise ConfigError(
                f"{self.corpus.name}: the names do not say which languages these are",
                hint="pass --source-language and --target-language, or name the files train.en train.de",
            )
        self.valid_corpus = None if valid is None else _open(valid, (source, target))
        for _ in self.valid_corpus or ():
            pass  # what is wrong with it shows before the work on the training text, not after
        text = replace(text, source_language=source, target_language=target)
        self.recipe = replace(self.recipe, data=text)
        self._agree_with_folder()
        for name in filter(None, (self.recipe.embeddings.source, self.recipe.embeddings.target)):
            if not self.begun:  # later the weights are in the checkpoint
                self._find(name)
        self._tokenise()
        return self.recipe, self.valid_corpus is not None

    def open(self, validates: bool) -> None:
        """Opens what `prepare` wrote."""
        self.tokenizer = Tokenizer.load(self.output)
        self.tokenised = TokenisedCorpus(self._corpus_folder("train"), self.tokenizer)
        self.valid = None
        if validates:
            self.valid = TokenisedCorpus(self._corpus_folder("valid"), self.tokenizer)

    def fit(self, stop: Stop, *, profile: bool = False) -> None:
        """Trains and writes the model folder."""
        recipe = self.recipe
        torch.manual_seed(recipe.seed)
        native.enable()
        if precision_on(self.world.device, recipe.training.precision) == "fp32":
            send_to_onednn()
        config = replace(
            recipe.model,
            source_vocab=self.tokenizer.source_size,
            target_vocab=self.tokenizer.target_size,
            pad_id=self.tokenizer.pad_id,
            start_id=self.tokenizer.start_id,
            end_id=self.tokenizer.end_id,
        )
        model = build_model(config)
        pretrained.freeze(model, recipe.embeddings)
        trainer = Trainer(
            model=model,
            corpus=self.tokenised,
            valid=self.valid,
            config=recipe.training,
            folder=self.output,
            seed=recipe.seed,
            world=self.world,
            observer=self.observer,
            translate=self._translate() if self.valid is not None else None,
            stop=stop,
        )
        if profile and self.world.leads:
            learner, say = trainer.learner, self.observer.on_message
            file = self.output / "profile.txt"
            trainer.profile = Profile(file, learner.precision, self.world.device, say)
        resumed = self.world.lead(trainer.resume)
        if not self.world.leads:
            trainer.resume()
        if not resumed:
            self.world.lead(lambda: self._fill(model))
            if not self.world.leads:
                self._fill(model)
        done = trainer.progress.finished and trainer.done()
        if self.world.share(done and self._holds(trainer.final)):
            self.observer.on_message(f"{self.output}: this run is complete; nothing to do")
            return
        # Every process is told, since each has to know that it is asked from now on whether to stop.
        self.observer.on_start(
            {
                "output": str(self.output),
                "parameters": sum(p.numel() for p in model.parameters()),
                "source_vocab": config.source_vocab,
                "target_vocab": config.target_vocab,
                "train_pairs": len(self.tokenised),
                "valid_pairs": len(self.valid) if self.valid is not None else 0,
                "precision": trainer.learner.precision,
                "threads": torch.get_num_threads(),
                "world_size": self.world.size,
                "resumed_from": trainer.progress.step if resumed else 0,
                "max_updates": recipe.training.max_updates,
                "max_seconds": 60 * recipe.training.max_minutes if recipe.training.max_minutes else None,
                "batch_tokens": recipe.training.batch_tokens,
            }
        )
        final = trainer.train()
        if self.world.leads:
            put_weights(cast(nn.Module, model), read_weights(final), final)
            self._write_card(trainer)
            bundle.save(self._bundle(model), self.output)  # its weights last: where they are, all is
        self.world.wait()

    def _fill(self, model: AnySeq2Seq) -> None:
        """Puts vectors from outside into the embeddings."""
        say = self.observer.on_message if self.world.leads else lambda _: None
        pretrained.fill(model, self.tokenizer, self.recipe.embeddings, find=self._find, say=say)

    def _find(self, name: str) -> Path:
        """A file by its path, or below the folder of the recipe's text. Raises ConfigError."""
        folder = self.root / self.recipe.data.folder if self.root is not None else Path()
        for path in (Path(name), folder / name):
            if path.exists():
                return path
        raise ConfigError(f"{name}: no such file of word vectors", hint="check its path")

    # ---- stages ----------------------------------------------------------------------------------

    def _agree_with_folder(self) -> None:
        """Refuses a folder that another run began; otherwise notes there what this run is."""
        path = self.output / "training.toml"
        # A run that stopped before its first checkpoint, say for a fault in the text, has begun nothing.
        latest = self.output / "checkpoints" / "latest"
        resumable = latest.exists() or latest.with_name("latest.old").exists()
        trained = (self.output / "model.safetensors").exists()
        self.begun = trained or resumable
        if self.begun and not path.exists():
            raise ConfigError(
                f"{self.output}: holds a model that this command did not train",
                hint="choose another folder with -o",
            )
        if trained and not resumable:
            raise ConfigError(
                f"{self.output}: holds a trained model, without the checkpoints to go on from",
                hint="choose another folder with -o",
            )
        if not path.exists() and (others := [name for name in _WRITTEN if (self.output / name).exists()]):
            raise ConfigError(
                f"{self.output}: training would overwrite {', '.join(others)}",
                hint="choose a new folder with -o",
            )
        # What the folder says goes through `build`: options that came later have their defaults there.
        before = to_table(build(Recipe, read_toml(path))) if self.begun else {}
        changes = difference(before, to_table(self.recipe)) if self.begun else []
        changes = [line for line in changes if not _may_change(line.partition(":")[0], self.recipe)]
        if changes:
            raise ConfigError(
                f"{self.output}: a run with other options began here\n  " + "\n  ".join(changes),
                hint="repeat the options it began with, or choose another folder with -o",
            )
        checkpoints = self.output / "checkpoints"
        for folder in (self.output, checkpoints, self._corpus_folder("train"), self._corpus_folder("valid")):
            sweep(folder)
        write_whole(path, to_toml(self.recipe))

    def _holds(self, final: Path) -> bool:
        """Whether the model in the folder is the one that training ended with."""
        model = self.output / "model.safetensors"
        return final.exists() and model.exists() and filecmp.cmp(final, model, shallow=False)

    def _corpus_folder(self, name: str) -> Path:
        return self.output / "checkpoints" / "corpus" / name

    def _tokenise(self) -> None:
        corpora = [("train", self.corpus, self.recipe.data.filter)]
        if self.valid_corpus is not None:
            # Every validation pair counts, also one that is long or occurs twice.
            keep_all = FilterConfig(max_length=1_000_000, max_ratio=1e9, drop_duplicates=False)
            corpora.append(("valid", self.valid_corpus, keep_all))
        if self.begun:
            if self._same_text():
                return
            tokenizer = Tokenizer.load(self.output)
        else:
            shutil.rmtree(self._corpus_folder("valid"), ignore_errors=True)
            self.observer.on_message("training the tokenizer")
            pairs = ((line.source.strip(), line.target.strip()) for line in self.corpus)
            tokenizer = Tokenizer.train(pairs, self.recipe.tokenizer, seed=self.recipe.seed)
            tokenizer.save(self.output)
        self.observer.on_message("tokenising the text")
        for name, corpus, kept in corpora:
            done = tokenise(corpus, tokenizer, kept, self._corpus_folder(name))
            for line in done.report.splitlines():
                self.observer.on_message(f"{name}: {line}")

    def _same_text(self) -> bool:
        """Whether the tokens in the folder are those of the text given. Raises DataError for other text."""
        train, valid = self._corpus_folder("train"), self._corpus_folder("valid")
        same = {"training": made_from(self.corpus, train)}
        if self.valid_corpus is not None and valid.exists():
            same["validation"] = made_from(self.valid_corpus, valid)
        elif train.exists():
            same["validation"] = self.valid_corpus is None and not valid.exists()
        for name, as_before in same.items():
            if as_before is False:
                raise DataError(
                    f"{self.output}: the {name} text is not what this run began with",
                    hint="restore the text, or choose another folder with -o",
                )
        return all(same.values())

    def _translate(self) -> Translate:
        """Greedy translations of the validation text, scored: what training shows and may stop on."""
        if not self.world.leads:
            return lambda model: {}  # the leader alone validates, and alone has the text
        corpus = cast(Corpus, self.valid_corpus)
        lines = [line for line in corpus if line.source.strip() and line.target.strip()]
        sources, references = [line.source for line in lines], [line.target for line in lines]
        shown = np.random.default_rng(self.recipe.seed).permutation(len(lines))[:_SAMPLES].tolist()

        def translate(model: AnySeq2Seq) -> dict[str, Any]:
            translator = Translator(self._bundle(model))
            hypotheses = [t.text for t in translator.translate(sources, beam=1)]
            scores = score_corpus(
                hypotheses,
                references,
                target_language=self.recipe.data.target_language,
                metrics=("bleu", "chrf"),
                bootstrap=0,
            )
            samples = [
                {"source": sources[i], "hypothesis": hypotheses[i], "reference": references[i]} for i in shown
            ]
            return {
                "bleu": scores.bleu.value,
                "chrf": scores.chrf.value,
                "signature": scores.bleu.signature,
                "samples": samples,
            }

        return translate

    def _bundle(self, model: AnySeq2Seq) -> Bundle:
        return Bundle(
            model=model,
            tokenizer=self.tokenizer,
            source_language=cast(str, self.recipe.data.source_language),
            target_language=cast(str, self.recipe.data.target_language),
            generation=self.recipe.generation,
        )

    def _write_card(self, trainer: Trainer) -> None:
        corpora = {"training": self.tokenised} | ({"validation": self.valid} if self.valid else {})
        last = trainer.outcome
        text = card.render(
            self.recipe,
            command=_command(),
            parameters=sum(p.numel() for p in trainer.module.parameters()),
            corpora={
                name: {
                    "pairs": len(corpus),
                    "fingerprint": corpus.fingerprint,
                    "report": corpus.report,
                }
                for name, corpus in corpora.items()
            },
            training={
                "step": trainer.progress.step,
                "tokens": trainer.progress.tokens,
                "seconds": trainer.progress.seconds,
                "precision": trainer.learner.precision,
                "threads": torch.get_num_threads(),
                "world_size": self.world.size,
                **last,
            },
            version=__version__,
        )
        write_whole(self.output / "README.md", text)


class _Quiet:
    """An observer that does not look."""

    def on_start(self, info: dict[str, Any]) -> None: ...
    def on_step(self, metrics: dict[str, Any]) -> None: ...
    def on_validation(self, metrics: dict[str, Any]) -> None: ...
    def on_message(self, text: str) -> None: ...
    def on_end(self, metrics: dict[str, Any]) -> None: ...


def _command() -> list[str]:
    """The command line, if this is one; else nothing."""
    program = Path(sys.argv[0])
    ours = program.stem == "dragoman" or (program.stem, program.parent.name) == ("__main__", "dragoman")
    return ["dragoman", *sys.argv[1:]] if ours else []


def _may_change(option: str, recipe: Recipe) -> bool:
    """Whether a run may go on with another value of an option than it began with."""
    if option == "training.max_updates" and recipe.training.schedule == "cosine":
        return False  # every learning rate follows from it
    return option in _MAY_CHANGE or option.startswith("expected.")


def _open(data: Data, languages: Languages) -> Corpus:
    if all(isinstance(item, str | Path) for item in data):
        return open_corpus(cast(Sequence[str | Path], data), languages=languages)
    return open_pairs(cast(Sequence[tuple[str, str]], data))
