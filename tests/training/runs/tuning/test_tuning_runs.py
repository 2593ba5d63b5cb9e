"""Tuning from raw memory to model folder, on tiny models."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.library import copy_of

from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError, DataError, Interrupted, ModelError
from dragoman.evaluation.evaluate import evaluate
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.models.folder.int8 import rounded_to_int8
from dragoman.models.folder.merge import merge_adapter
from dragoman.models.folder.weights import put_weights, read_weights, weights_of
from dragoman.models.layers.embeddings import close
from dragoman.models.seq2seq import build_model
from dragoman.text import toy
from dragoman.text.corpora.formats import tmx
from dragoman.training.events import Finished, Quiet, Started
from dragoman.training.runs.run import train
from dragoman.training.runs.tuning.base import open_model
from dragoman.training.runs.tuning.texts import own_text
from dragoman.translation.folder.config import read_config
from dragoman.translation.translator import Translator

FIXTURES = Path(__file__).parents[3] / "interop" / "fixtures"
GENERAL = toy.pairs(seed=3, count=130)
# Of the same words, with a word that the general text never has in this place.
MEMORY = [(f"Note: {source}", f"Hinweis: {target}") for source, target in toy.pairs(seed=9, count=120)]
# Sentences of a small grammar are often alike, so only equal ones are kept apart.
QUICK = ["tuning.alike=1", "tuning.held_out=8"] + [
    f"training.{o}" for o in ("max_updates=4", "validate_every=2", "log_every=1", "batch_tokens=600")
]
SHAPE = [
    "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=2", "decoder_layers=2")),
]


class Log(Quiet):
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.steps: list[int] = []
        self.started: Started | None = None
        self.finished: Finished | None = None

    def on_start(self, event: Started) -> None:
        self.started = event

    def on_report(self, event: Any) -> None:
        self.steps.append(event.step)

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def on_finish(self, event: Finished) -> None:
        self.finished = event


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained for a few updates, with its checkpoints."""
    return copy_of(train_base, tmp_path_factory.mktemp("base") / "en-de")


def train_base(folder: Path) -> None:
    options = [*SHAPE, "training.max_updates=2", "training.validate_every=2", "training.warmup=1"]
    train(
        GENERAL[:120],
        valid=GENERAL[120:],
        output=folder,
        preset="tiny",
        source_language="en",
        target_language="de",
        overrides=[*options, "training.batch_tokens=600", "tokenizer.placeholders=2"],
    )


@pytest.fixture
def bare(base: Path, tmp_path: Path) -> Path:
    """The same without its checkpoints, as a user gets it."""
    return Path(shutil.copytree(base, tmp_path / "bare", ignore=shutil.ignore_patterns("checkpoints")))


def tune(base: Path | str, output: Path, *overrides: str, data: Any = MEMORY, **options: Any) -> Log:
    log = Log()
    train(data, base=base, output=output, overrides=[*QUICK, *overrides], observer=log, **options)
    return log


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_weights(folder / "model.safetensors")


def equal(one: Path, other: Path) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# ---- what comes out


@pytest.mark.thorough
def test_an_adapter_is_written_beside_the_model_that_has_it(base: Path, tmp_path: Path) -> None:
    tune(base, tmp_path / "mine", "tuning.lora_rank=2", "tuning.interpolate=0.5")
    merge_adapter(base, tmp_path / "mine" / "adapter", tmp_path / "merged")
    merged, mine, before = (weights(one) for one in (tmp_path / "merged", tmp_path / "mine", base))
    for name in mine:
        torch.testing.assert_close(merged[name], mine[name], rtol=1e-5, atol=1e-6)
    assert any(not torch.equal(mine[name], before[name]) for name in mine)
    assert "2" in (tmp_path / "mine" / "adapter" / "adapter.json").read_text()


@pytest.mark.thorough
def test_an_adapter_reads_what_it_was_trained_to_read(base: Path, tmp_path: Path) -> None:
    tune(base, tmp_path / "mine", "tuning.lora_rank=2", "data.context=0.5", "data.formality=0.5")
    merge_adapter(base, tmp_path / "mine" / "adapter", tmp_path / "merged")
    translator = Translator.load(base, adapter={"mine": tmp_path / "mine" / "adapter"})
    assert translator.using(adapter="mine").reads == ("context", "formality")
    assert translator.using(adapter=None).reads == ()
    assert Translator.load(tmp_path / "merged").reads == ("context", "formality")


@pytest.mark.thorough
def test_a_model_that_reads_terms_goes_on_reading_them(base: Path, tmp_path: Path) -> None:
    beside = ["data.context=0.5", "data.context_sides=both", "data.formality=0.3"]
    read = ("terms", "matches", "context", "formality", "context target")
    tune(base, tmp_path / "reads", "data.terms=0.4", "data.matches=0.4", *beside)
    assert read_config(tmp_path / "reads").guidance == read
    tune(tmp_path / "reads", tmp_path / "again")
    assert read_config(tmp_path / "again").guidance == read
    tune(tmp_path / "reads", tmp_path / "not", "data.matches=0", "data.context=0", "data.formality=0")
    assert read_config(tmp_path / "not").guidance == ("terms",)


def test_a_memory_becomes_a_model_like_its_base(base: Path, tmp_path: Path) -> None:
    log = tune(base, tmp_path / "mine")

    config, before = read_config(tmp_path / "mine"), read_config(base)
    assert (config.source_language, config.target_language) == ("en", "de")
    assert (config.model.d_model, config.model.source_vocab) == (16, before.model.source_vocab)
    assert not equal(tmp_path / "mine", base)
    assert (tmp_path / "mine/tokenizer.spm").read_bytes() == (base / "tokenizer.spm").read_bytes()
    assert isinstance(Translator.load(tmp_path / "mine")("Note: A dog sleeps."), str)
    recipe = read_toml(tmp_path / "mine/training.toml")
    assert recipe["tuning"]["base"] == before.weights
    assert recipe["tuning"]["replay_from"] == "base"
    assert recipe["training"]["max_minutes"] == 12
    assert "held out: 8 pairs; 0 more leave training because they are like one" in log.messages
    assert any(message.startswith("general text to train on: the base's own") for message in log.messages)
    assert log.started is not None
    assert (log.started.train_pairs, log.started.valid_pairs) == (448, 8)  # 112 of the memory


@pytest.mark.thorough
def test_before_and_after_are_in_the_display_the_metrics_and_the_card(base: Path, tmp_path: Path) -> None:
    log = tune(base, tmp_path / "mine")

    compared = {row["text"]: row for row in rows(tmp_path / "mine", "comparison")}
    card = (tmp_path / "mine/README.md").read_text(encoding="utf-8")
    assert compared.keys() == {"in domain", "general"}
    assert compared["in domain"]["systems"]["before"]["lines"] == 8
    assert compared["general"]["systems"]["before"]["lines"] == 10
    for name, row in compared.items():
        assert f"{name}, {row['systems']['after']['lines']} lines:" in log.messages
        for difference in row["differences"]:
            before, after = (row["systems"][one][difference["metric"]] for one in ("before", "after"))
            assert difference["difference"] == pytest.approx(after["value"] - before["value"])
            assert f"| {difference['difference']:+.2f} |" in card
            assert f"{before['value']:.2f} ({before['mean']:.2f} ± {before['half_width']:.2f})" in card
            assert any(f"-> {after['value']:.2f}" in message for message in log.messages)
    assert f"{base}, `{read_config(base).weights}`" in card
    tuned = evaluate(Translator.load(tmp_path / "mine"), GENERAL[120:], metrics=("chrf",), bootstrap=0)
    after = compared["general"]["systems"]["after"]["chrf"]["value"]
    assert tuned.scores.chrf.value == pytest.approx(after)  # what was scored is what was written


def test_tuned_for_int8_the_scores_are_of_rounded_weights(base: Path, tmp_path: Path) -> None:
    tune(base, tmp_path / "mine", "training.quantise=int8", "tuning.interpolate=1")

    compared = {row["text"]: row for row in rows(tmp_path / "mine", "comparison")}
    card = (tmp_path / "mine/README.md").read_text(encoding="utf-8")
    assert "| tuned for | int8, one scale a matrix" in card
    for name, folder in (("before", base), ("after", tmp_path / "mine")):
        bundle = load(folder)
        with rounded_to_int8(bundle.model):
            translator = Translator.of(bundle, engine=None)
            found = evaluate(translator, GENERAL[120:], metrics=("chrf",), bootstrap=0)
        score = compared["general"]["systems"][name]["chrf"]["value"]
        assert found.scores.chrf.value == pytest.approx(score)
    own = weights(tmp_path / "mine")["encoder.0.feed_forward.inner.weight"]
    assert len(own.unique()) > 255  # not rounded


def test_the_card_and_the_last_line_have_the_loss_of_the_final_weights(bare: Path, tmp_path: Path) -> None:
    valid = GENERAL[:8]
    tune(bare, tmp_path / "mine", "tuning.interpolate=0.1", "training.learning_rate=0.05", valid=valid)

    found = Translator.load(tmp_path / "mine", engine="pytorch").score(valid)
    loss = -sum(sum(one.token_logp) for one in found) / sum(len(one.token_logp) for one in found)
    (average,), (finish,) = (rows(tmp_path / "mine", kind) for kind in ("average", "finish"))
    card = (tmp_path / "mine/README.md").read_text(encoding="utf-8")
    written = float(card.partition("| validation loss | ")[2].split()[0])
    assert abs(average["loss"] - loss) > 0.1
    assert finish["loss"] == pytest.approx(loss, rel=0.01)  # trained in bf16 perhaps
    assert written == pytest.approx(finish["loss"], abs=1e-4)


def test_noise_opens_every_token_that_the_base_closed(bare: Path, tmp_path: Path) -> None:
    """Its targets are cut into other tokens in every epoch."""
    bundle: Bundle = load(bare)
    model = build_model(replace(bundle.model.config, output_bias=True))
    put_weights(model, weights_of(model) | weights_of(bundle.model), "")
    close(model.logits, torch.arange(len(model.logits.bias)) % 2 == 0)
    save(replace(bundle, model=model), tmp_path / "closed")
    quick = ["training.max_updates=1", "tuning.interpolate=1", "training.calibrate=0"]
    tune(tmp_path / "closed", tmp_path / "mine", *quick, "data.noise=0.3")

    assert weights(tmp_path / "closed")["logits.bias"].min() < -20
    assert weights(tmp_path / "mine")["logits.bias"].min() > -1


@pytest.mark.thorough
def test_without_general_text_the_card_says_so(bare: Path, tmp_path: Path) -> None:
    log = tune(bare, tmp_path / "mine")

    assert read_toml(tmp_path / "mine/training.toml")["tuning"]["replay_from"] == "none"
    assert any(message.startswith("no general text to measure with") for message in log.messages)
    assert [row["text"] for row in rows(tmp_path / "mine", "comparison")] == ["in domain"]
    assert "what the model forgot is unknown" in (tmp_path / "mine/README.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_general_text_is_that_of_all_training_texts(base: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "base"))
    corpus = folder / "checkpoints" / "corpus"
    with open_model(folder) as opened:
        whole = own_text(opened, "train", 1000, seed=1)
        (corpus / "train").rename(corpus / "train.news")
        shutil.copytree(corpus / "valid", corpus / "train.web")
        weights = folder / "checkpoints" / "step-0000009.safetensors"
        shutil.copy(folder / "model.safetensors", weights)
        with open_model(f"{folder}@9") as checkpoint:  # reads the text of its run
            assert own_text(checkpoint, "train", 1000, seed=1) is not None
        both = own_text(opened, "train", 1000, seed=1)
        few = own_text(opened, "train", 50, seed=1)

    assert whole is not None
    assert both is not None
    assert few is not None
    assert {(line.source, line.target) for line in whole} == set(GENERAL[:120])
    assert {(line.source, line.target) for line in both} == set(GENERAL)
    assert both.name.endswith("train.*")
    assert len([*few]) == 50


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["source.tokens", "target.tokens.offsets", "about.json"])
def test_a_base_without_whole_tokens_has_no_general_text(base: Path, tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(base, tmp_path / "base"))
    tokens = folder / "checkpoints/corpus/train" / file
    with open_model(folder) as opened:
        tokens.write_bytes(tokens.read_bytes()[:-3])
        assert own_text(opened, "train", 10, seed=1) is None
        tokens.unlink()
        assert own_text(opened, "train", 10, seed=1) is None


@pytest.mark.thorough
def test_thirty_pairs_are_all_trained_on(bare: Path, tmp_path: Path) -> None:
    log = Log()
    train(MEMORY[:30], base=bare, output=tmp_path / "mine", overrides=QUICK[2:], observer=log)

    assert any(message.startswith("nothing is held out of 30 pairs") for message in log.messages)
    assert log.started is not None
    assert (log.started.train_pairs, log.started.valid_pairs) == (30, 0)
    assert "weights: 50% tuned, 50% of the base" in log.messages
    assert "no text was held out" in (tmp_path / "mine/README.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_twins_of_held_out_pairs_are_not_trained_on(bare: Path, tmp_path: Path) -> None:
    data = [
        *MEMORY,
        *((f"{source} ", f"Anders {place} als zuvor.") for place, (source, _) in enumerate(MEMORY)),
    ]

    log = tune(bare, tmp_path / "mine", data=data)

    assert "held out: 8 pairs; 8 more leave training because they are like one" in log.messages
    assert log.started is not None
    assert log.started.train_pairs == 224


@pytest.mark.thorough
def test_validation_text_of_the_user_is_used_as_it_is(bare: Path, tmp_path: Path) -> None:
    log = tune(bare, tmp_path / "mine", valid=MEMORY[:5])

    assert log.started is not None
    assert (log.started.train_pairs, log.started.valid_pairs) == (120, 5)


@pytest.mark.thorough
def test_files_of_all_kinds(bare: Path, tmp_path: Path) -> None:
    with (tmp_path / "m.tmx").open("w", encoding="utf-8") as file:
        tmx.write_units(file, ((*pair, {}) for pair in MEMORY), source="en-US", target="de-DE")
    lines = ["\t".join(pair) + "\n" for pair in MEMORY]
    (tmp_path / "m.tsv").write_text("".join(lines), encoding="utf-8")
    for side, name in enumerate(("m.en", "m.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in MEMORY), encoding="utf-8")

    for number, names in enumerate((["m.tmx"], ["m.tsv"], ["m.en", "m.de"])):
        tune(bare, tmp_path / str(number), data=[tmp_path / name for name in names])

    assert equal(tmp_path / "0", tmp_path / "1")
    assert equal(tmp_path / "1", tmp_path / "2")


# ---- general text


@pytest.mark.thorough
def test_replayed_files_are_mixed_in_and_measured_with(bare: Path, tmp_path: Path) -> None:
    log = tune(bare, tmp_path / "mine", replay=GENERAL, general=GENERAL[:6])

    assert log.started is not None
    assert log.started.train_pairs == 448
    assert read_toml(tmp_path / "mine/training.toml")["tuning"]["replay_from"] == "files"
    general = rows(tmp_path / "mine", "comparison")[1]
    assert general["systems"]["before"]["lines"] == 6


@pytest.mark.thorough
def test_a_part_of_the_replayed_text_is_held_out(bare: Path, tmp_path: Path) -> None:
    tune(bare, tmp_path / "mine", replay=toy.pairs(seed=3, count=200))

    assert rows(tmp_path / "mine", "comparison")[1]["systems"]["before"]["lines"] == 50


@pytest.mark.thorough
def test_replay_of_the_memory_leaves_its_held_out_pairs_out(bare: Path, tmp_path: Path) -> None:
    log = tune(bare, tmp_path / "mine", replay=MEMORY)

    assert any("8 pairs left out, like a held-out one" in message for message in log.messages)


@pytest.mark.thorough
def test_the_memory_of_a_tuned_base_is_no_general_text(base: Path, bare: Path, tmp_path: Path) -> None:
    tune(base, tmp_path / "first")
    tune(bare, tmp_path / "alone")

    again = tune(tmp_path / "first", tmp_path / "again")
    alone = tune(tmp_path / "alone", tmp_path / "more")

    assert any("general text" in text and text.endswith("corpus/replay") for text in again.messages)
    assert not (tmp_path / "more" / "checkpoints" / "corpus" / "replay").exists()
    assert any("no general text to measure with" in text for text in alone.messages)


@pytest.mark.thorough
def test_a_base_without_its_text_cannot_replay_it(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no longer has the text"):
        tune(bare, tmp_path / "mine", "tuning.replay_from=base")
    with pytest.raises(ConfigError, match="without files"):
        tune(bare, tmp_path / "mine", "tuning.replay_from=files")
    with pytest.raises(ConfigError, match="--replay, but"):
        tune(bare, tmp_path / "mine", "tuning.replay_from=base", replay=GENERAL)
    with pytest.raises(ConfigError, match=r"--replay, but tuning\.replay = 0"):
        tune(bare, tmp_path / "mine", "tuning.replay=0", replay=GENERAL)


@pytest.mark.thorough
@pytest.mark.parametrize("option", ['data.train=["a.en", "a.de"]', 'data.valid=["v.en", "v.de"]'])
def test_options_name_no_text_beside_the_memory(bare: Path, tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match="together with text on the command line"):
        tune(bare, tmp_path / "mine", option)


def test_general_text_needs_a_base(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="general text is for tuning"):
        train(MEMORY, replay=GENERAL, output=tmp_path / "x")


# ---- methods


def distance(one: Path, other: Path) -> float:
    a, b = weights(one), weights(other)
    return sum(float((a[name] - b[name]).square().sum()) for name in a)


@pytest.mark.thorough
def test_interpolation_is_the_mean_with_the_base(bare: Path, tmp_path: Path) -> None:
    for share in ("1", "0.25"):
        tune(bare, tmp_path / share, f"tuning.interpolate={share}")

    first, last, mean = weights(bare), weights(tmp_path / "1"), weights(tmp_path / "0.25")
    for name in first:
        torch.testing.assert_close(mean[name], 0.75 * first[name] + 0.25 * last[name])


def test_adapters_become_part_of_the_weights(bare: Path, tmp_path: Path) -> None:
    tune(bare, tmp_path / "mine", "tuning.lora_rank=2", "tuning.lora_on=attention", "tuning.interpolate=1")

    first, last = weights(bare), weights(tmp_path / "mine")
    changed = {name for name in first if not torch.equal(first[name], last[name])}
    assert first.keys() == last.keys()
    assert changed
    assert all("attention" in name for name in changed)
    difference = next(last[n] - first[n] for n in sorted(changed) if n.endswith("output.weight"))
    assert int(torch.linalg.matrix_rank(difference, tol=1e-6)) <= 2


# ---- bases


@pytest.mark.thorough
def test_an_imported_model(tmp_path: Path) -> None:
    """Marian's, from Hugging Face: another tokenizer, other special ids, post-norm."""
    tune(FIXTURES / "hf-opus", tmp_path / "mine", "tuning.interpolate=1", "training.learning_rate=1e-9")

    lines = ["The old dog sleeps.", "A cat."]
    before, after = (Translator.load(path) for path in (FIXTURES / "hf-opus", tmp_path / "mine"))
    assert [t.text for t in after.translate(lines)] == [t.text for t in before.translate(lines)]
    assert read_config(tmp_path / "mine").generation == Translator.load(FIXTURES / "hf-opus").generation


@pytest.mark.thorough
def test_a_model_of_several_target_languages(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="its vocabulary has no mark for it"):
        tune(FIXTURES / "hf-multilingual", tmp_path / "mine", source_language="en", target_language="it")


@pytest.mark.thorough
def test_an_archive(bare: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "model"), "zip", bare)

    tune(archive, tmp_path / "one")
    tune(bare, tmp_path / "two")

    assert equal(tmp_path / "one", tmp_path / "two")


@pytest.mark.thorough
def test_a_quantised_model_becomes_float32(bare: Path, tmp_path: Path) -> None:
    from dragoman.models.folder.quantisation import quantise_folder

    quantise_folder(bare, tmp_path / "small")
    tune(tmp_path / "small", tmp_path / "mine")

    assert {weight.dtype for weight in weights(tmp_path / "mine").values()} == {torch.float32}
    assert read_config(tmp_path / "mine").quantised is None


@pytest.mark.thorough
def test_what_the_base_is_stays(base: Path, tmp_path: Path) -> None:
    """Reserved pieces, lower case, its search, and its head that aligns."""
    options = [*SHAPE, "tokenizer.lowercase=true", "tokenizer.placeholders=3", "generation.size=2"]
    options += ["training.alignment_weight=0.05", "training.max_updates=2", "training.warmup=1"]
    text = {"source_language": "en", "target_language": "de", "preset": "tiny"}
    train(GENERAL, output=tmp_path / "base", overrides=options, **text)

    tune(tmp_path / "base", tmp_path / "mine")

    before, after = (load(tmp_path / name) for name in ("base", "mine"))
    assert after.tokenizer.config == before.tokenizer.config
    assert len(after.tokenizer.placeholders[0]) == 3
    assert after.generation == before.generation
    assert after.alignment == before.alignment is not None
    recipe = read_toml(tmp_path / "mine/training.toml")
    assert recipe["training"]["alignment_weight"] == 0.05


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        tune(tmp_path / "nothing", tmp_path / "mine")

    assert not (tmp_path / "mine").exists()


# ---- refusals


@pytest.mark.parametrize(
    "option",
    ["model.heads=4", "tokenizer.vocab_size=500", "tuning.base=x", "preset=tiny", "training.zero_start=true"],
)
def test_options_that_the_base_determines_are_refused(bare: Path, tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=f"the base determines .*{option.partition('=')[0].split('.')[0]}"):
        tune(bare, tmp_path / "mine", option)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("section", ["data", "tuning"])
def test_a_section_is_no_value(bare: Path, tmp_path: Path, section: str) -> None:
    with pytest.raises(ConfigError, match=f"{section}.* is a section"):
        tune(bare, tmp_path / "mine", f"{section}=3", data=None)


def test_a_preset_is_refused_and_dropout_is_not(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--preset"):
        tune(bare, tmp_path / "mine", preset="tiny")

    tune(bare, tmp_path / "mine", "model.dropout=0.05")
    assert read_config(tmp_path / "mine").model.dropout == 0.05


@pytest.mark.parametrize(
    ("names", "hint"),
    [(["m.de", "m.en"], "swap"), (["m.en", "m.fr"], "same languages"), (["m.de-en.tsv"], "swap")],
)
def test_text_of_another_direction_is_refused(
    bare: Path, tmp_path: Path, names: list[str], hint: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("A\tB\n", encoding="utf-8")

    with pytest.raises(DataError, match="but the base translates from en to de") as caught:
        tune(bare, tmp_path / "mine", data=[tmp_path / name for name in names])
    assert hint in caught.value.hint


@pytest.mark.thorough
def test_languages_are_those_of_the_base(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="target language fr, but the base translates from en to de"):
        tune(bare, tmp_path / "mine", target_language="fr")


@pytest.mark.thorough
def test_a_memory_of_twins_has_nothing_left(bare: Path, tmp_path: Path) -> None:
    data = [(f"Page {n}", f"Seite {n}") for n in range(60)]

    with pytest.raises(DataError, match="no pair is left to train on"):
        tune(bare, tmp_path / "mine", data=data)
    with pytest.raises(ConfigError, match=r"tuning.held_out = 60 of 60 pairs"):
        tune(bare, tmp_path / "mine", "tuning.held_out=60", data=data)


# ---- resuming


@pytest.mark.thorough
@pytest.mark.parametrize("method", [[], ["tuning.lora_rank=2"]])
def test_a_stop_saves_and_the_rest_is_the_same(base: Path, tmp_path: Path, method: list[str]) -> None:
    log = Log()
    # On a slow machine the minutes of a tuning would end its schedule.
    overrides = [*QUICK, "training.max_minutes=600", *method]
    options: dict[str, Any] = {"base": base, "overrides": overrides, "observer": log}

    def stop() -> int:
        return 15 if log.steps == [1, 2, 3] else 0

    with pytest.raises(Interrupted):
        train(MEMORY, output=tmp_path / "x", stop=stop, **options)
    assert not (tmp_path / "x/model.safetensors").exists()
    train(MEMORY, output=tmp_path / "x", **options)
    train(MEMORY, output=tmp_path / "y", **options)

    assert log.steps == [1, 2, 3, 4, 1, 2, 3, 4]
    assert equal(tmp_path / "x", tmp_path / "y")
    kinds = [[row["kind"] for row in rows(tmp_path / name, "comparison")] for name in "xy"]
    assert kinds[0] == kinds[1]


def test_a_finished_run_is_left_alone(bare: Path, tmp_path: Path) -> None:
    tune(bare, tmp_path / "mine")
    before = (tmp_path / "mine/model.safetensors").stat().st_mtime_ns

    log = tune(bare, tmp_path / "mine")

    assert any("nothing to do" in message for message in log.messages)
    assert (tmp_path / "mine/model.safetensors").stat().st_mtime_ns == before


@pytest.mark.thorough
def test_another_base_or_option_is_another_run(bare: Path, tmp_path: Path) -> None:
    tune(bare, tmp_path / "mine")
    bundle: Bundle = load(bare)
    other = {name: weight + 1 for name, weight in weights_of(bundle.model).items()}
    put_weights(bundle.model, other, "other")
    save(bundle, tmp_path / "other")

    with pytest.raises(ConfigError, match=r"tuning.base: "):
        tune(tmp_path / "other", tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"tuning.alike: 1.0 -> 0.9"):
        tune(bare, tmp_path / "mine", "tuning.alike=0.9")
    with pytest.raises((ConfigError, DataError), match="training text|other options"):
        tune(bare, tmp_path / "mine", data=MEMORY[1:])
    with pytest.raises(ConfigError, match="holds a trained model"):
        tune(bare, bare)


@pytest.mark.thorough
def test_other_replayed_text_is_another_run(bare: Path, tmp_path: Path) -> None:
    tune(bare, tmp_path / "mine", replay=GENERAL, general=GENERAL[:6])

    with pytest.raises(DataError, match="the replayed text has changed"):
        tune(bare, tmp_path / "mine", replay=GENERAL[:-1], general=GENERAL[:6])
    with pytest.raises(DataError, match="the general text has changed"):
        tune(bare, tmp_path / "mine", replay=GENERAL, general=GENERAL[:5])
