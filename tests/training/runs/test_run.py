from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch

import dragoman
from dragoman.base.config import read_toml
from dragoman.base.errors import ConfigError, DataError, Interrupted, ModelError, TrainingError
from dragoman.models.folder.weights import read_weights
from dragoman.text import toy
from dragoman.training.events import Finished, Quiet, Started, Validation
from dragoman.training.runs.run import train
from dragoman.translation.folder.config import read_config
from dragoman.translation.folder.digest import digest_of
from dragoman.translation.translator import Translator

PAIRS = toy.pairs(seed=3, count=120)
VALID = [*toy.pairs(seed=4, count=6), PAIRS[7], PAIRS[8]]
SMALL = [
    "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=400", "max_updates=4", "validate_every=2", "warmup=2",
                                "log_every=1", "average=2")),
]  # fmt: skip


class Notes(Quiet):
    """An observer that keeps every event."""

    def __init__(self) -> None:
        self.started: Started | None = None
        self.steps: list[int] = []
        self.validations: list[Validation] = []
        self.messages: list[str] = []
        self.finished: Finished | None = None

    def on_start(self, event):
        self.started = event

    def on_report(self, event):
        self.steps.append(event.step)

    def on_validation(self, event):
        self.validations.append(event)

    def on_message(self, text):
        self.messages.append(text)

    def on_finish(self, event):
        self.finished = event


def small(data=PAIRS, *, overrides=(), languages=("en", "de"), **options) -> Translator:
    return train(
        data,
        preset="tiny",
        overrides=[*SMALL, *overrides],
        source_language=languages[0],
        target_language=languages[1],
        **options,
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> tuple[Path, Notes]:
    """A finished run, with validation."""
    notes = Notes()
    output = tmp_path_factory.mktemp("run") / "x"
    small(valid=VALID, output=output, observer=notes, overrides=["generation.size=2", "title=Mine"])
    return output, notes


def put(folder: Path, name: str, pairs: list[tuple[str, str]]) -> list[Path]:
    paths = [folder / f"{name}.{side}" for side in ("en", "de")]
    for place, path in enumerate(paths):
        path.write_text("".join(f"{pair[place]}\n" for pair in pairs), encoding="utf-8")
    return paths


def test_pairs_of_strings_become_a_model_folder(done):
    output, _ = done

    translator = Translator.load(output)
    assert (translator.source_language, translator.target_language) == ("en", "de")
    assert isinstance(translator("A dog sleeps."), str)
    assert json.loads((output / "generation.json").read_text())["size"] == 2
    assert read_toml(output / "training.toml")["preset"] == "tiny"
    kinds = [json.loads(line)["kind"] for line in (output / "metrics.jsonl").read_text().splitlines()]
    part = ["train", "train", "valid", "samples"]
    assert kinds == ["start", *part, *part, "average", "result", "finish"]
    assert dragoman.train is train


def test_validation_text_that_is_training_text_is_counted(done):
    output, notes = done
    leaked = sum(pair in PAIRS for pair in VALID)
    said = f"{leaked} of 8 validation pairs are also in the training text"
    assert leaked >= 2
    assert [message for message in notes.messages if message.startswith(f"warning: {said}")]
    assert said in (output / "README.md").read_text(encoding="utf-8")


def test_a_run_that_cannot_work_says_so_before_and_after(done):
    output, notes = done
    few = [
        n for n, message in enumerate(notes.messages) if message.startswith("warning: 120 training pairs:")
    ]
    rows = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    (result,) = [row for row in rows if row["kind"] == "result"]
    assert len(few) == 2
    assert notes.messages[few[1] - 1].startswith("warning: BLEU ")
    said = [f"warning: {doubt}" for doubt in result["doubts"]]
    assert notes.messages[few[1] - 1 : few[1] - 1 + len(said)] == said


def test_checkpoints_of_a_run_are_models(done):
    output, _ = done
    final, last = Translator.load(output), Translator.load(f"{output}@4")
    assert (last.source_language, last.generation.size) == ("en", 2)
    assert Translator.load(f"{output}@2").translate("A dog.").score != last.translate("A dog.").score
    assert last.tokenizer.config == final.tokenizer.config


@pytest.mark.thorough
def test_the_risk_is_learnt_from_enough_validation_text(done, tmp_path):
    output, notes = done
    assert not (output / "risk.json").exists()
    assert "the risk of translations is not calibrated: 8 different lines" in " ".join(notes.messages)

    more = Notes()
    valid = toy.pairs(seed=4, count=260)
    translator = small(
        valid=valid, output=tmp_path / "x", observer=more, overrides=["training.calibrate=220"]
    )
    assert list(translator.risk_models) == [translator.target_language]
    table = json.loads((tmp_path / "x" / "risk.json").read_text())
    assert table["languages"][translator.target_language]["report"]["lines"] == 110
    assert any(text.startswith("calibrated the risk of translations") for text in more.messages)
    card = (tmp_path / "x" / "README.md").read_text()
    assert "## Training" in card
    assert "## Reliability" in card

    (tmp_path / "x" / "risk.json").unlink()  # as if the run had been stopped before
    again = Notes()
    translator = small(
        valid=valid, output=tmp_path / "x", observer=again, overrides=["training.calibrate=220"]
    )
    assert list(translator.risk_models) == [translator.target_language]
    assert (again.steps, json.loads((tmp_path / "x" / "risk.json").read_text())) == ([], table)
    assert (tmp_path / "x" / "README.md").read_text() == card

    without = Notes()
    small(valid=valid, output=tmp_path / "y", observer=without, overrides=["training.calibrate=0"])
    assert not (tmp_path / "y" / "risk.json").exists()
    assert not any("risk" in text for text in without.messages)


def test_the_observer_hears_of_all_of_it(done):
    output, notes = done

    assert notes.started.output == str(output)
    assert (notes.started.train_pairs, notes.started.valid_pairs) == (120, 8)
    assert notes.started.max_updates == 4
    assert notes.steps == [1, 2, 3, 4]
    assert [validation.step for validation in notes.validations] == [2, 4]
    references = {pair[1] for pair in VALID}
    assert all(s.reference in references for v in notes.validations for s in v.samples)
    assert "train: 120 pairs read, 120 kept, 0 set aside" in notes.messages
    assert notes.finished.step == 4


def test_the_card_says_what_was_done(done):
    card = (done[0] / "README.md").read_text(encoding="utf-8")

    assert card.startswith("# Mine\n")
    assert "120 pairs read, 120 kept" in card
    assert "| updates, target tokens | 4, " in card
    assert "13a" in card


def test_validation_text_is_not_needed(tmp_path):
    notes = Notes()
    small(output=tmp_path / "x", observer=notes)

    assert "BLEU" not in (tmp_path / "x/README.md").read_text(encoding="utf-8")
    assert notes.finished.outcome == "the average of 2 checkpoints"
    assert all(validation.samples == () for validation in notes.validations)


@pytest.mark.thorough
def test_what_is_set_aside_is_told(tmp_path):
    notes = Notes()
    small([*PAIRS, ("", "Leer."), PAIRS[0]], output=tmp_path / "x", observer=notes)

    assert "train: 122 pairs read, 120 kept, 2 set aside" in notes.messages
    assert any("duplicate: 1 (line 122)" in message for message in notes.messages)
    assert any("empty source: 1 (line 121)" in message for message in notes.messages)


def test_languages_come_from_names_and_size_picks_the_preset(tmp_path):
    notes = Notes()
    translator = train(put(tmp_path, "t", PAIRS), output=tmp_path / "x", overrides=SMALL, observer=notes)

    assert (translator.source_language, translator.target_language) == ("en", "de")
    assert "120 pairs: preset tiny" in notes.messages


@pytest.mark.thorough
def test_languages_choose_the_keys_of_jsonl(tmp_path):
    for name, pairs in (("t", PAIRS), ("v", VALID)):
        rows = [json.dumps({"de": de, "fr": "?", "en": en}) for en, de in pairs]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")

    notes = Notes()
    small([tmp_path / "t.jsonl"], valid=[tmp_path / "v.jsonl"], output=tmp_path / "x", observer=notes)

    assert notes.validations[0].samples[0].reference in {pair[1] for pair in VALID}


def test_nobody_says_which_languages_these_are(tmp_path):
    with pytest.raises(ConfigError, match="which languages") as caught:
        small(output=tmp_path / "x", languages=(None, "de"))

    assert "--source-language" in caught.value.hint
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
def test_the_text_of_a_recipe(tmp_path):
    put(tmp_path, "t", PAIRS)
    (tmp_path / "r.toml").write_text('[data]\ntrain = ["t.en", "t.de"]\nvalid = ["t.en", "t.de"]\n')
    notes = Notes()

    train(
        recipe=tmp_path / "r.toml", data_root=tmp_path, output=tmp_path / "x", overrides=SMALL, observer=notes
    )

    assert (notes.started.train_pairs, notes.started.valid_pairs) == (120, 120)


def test_without_text_there_is_nothing_to_train_on(tmp_path):
    with pytest.raises(ConfigError, match="data is text"):
        train({"context": 0.7}, output=tmp_path / "run")
    with pytest.raises(ConfigError, match="no training text"):
        train(output=tmp_path / "x", preset="tiny")


# ---- a folder, and what may be done to it -----------------------------------------------------------


def test_a_finished_run_is_left_alone(done):
    output, _ = done
    before = {path: path.stat().st_mtime_ns for path in output.glob("*.*") if path.name != "training.toml"}
    notes = Notes()

    small(valid=VALID, output=output, observer=notes, overrides=["generation.size=2", "title=Mine"])

    assert notes.steps == []
    assert any("nothing to do" in message for message in notes.messages)
    changed = [path.name for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert set(changed) <= {"tokenizer.json", "tokenizer.spm"}


@pytest.mark.thorough
def test_other_options_are_another_run(tmp_path):
    small(output=tmp_path / "x")
    before = (tmp_path / "x/training.toml").read_bytes()

    with pytest.raises(ConfigError, match="model.heads: 2 -> 1") as caught:
        small(output=tmp_path / "x", overrides=["model.heads=1", "seed=9"])

    assert "seed: 1 -> 9" in str(caught.value)
    assert "-o" in caught.value.hint
    assert (tmp_path / "x/training.toml").read_bytes() == before


@pytest.mark.thorough
def test_a_run_that_began_before_an_option_existed_goes_on_with_its_default(tmp_path):
    small(output=tmp_path / "x")
    file = tmp_path / "x/training.toml"
    newer = ("architecture", "optimizer", "lowercase", "window")
    lines = [line for line in file.read_text().splitlines() if not line.startswith(newer)]
    assert len(lines) < len(file.read_text().splitlines())
    file.write_text("\n".join(lines) + "\n")
    notes = Notes()

    small(output=tmp_path / "x", overrides=["training.max_updates=5"], observer=notes)

    assert notes.steps == [5]


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["ssru", "recurrent", "convolutional"])
def test_every_architecture_goes_on_where_it_stopped_bit_for_bit(architecture, tmp_path):
    shape = ["model.d_model=16", "training.optimizer=muon", f"model.architecture={architecture}"]
    once = [word for word in SMALL if not word.startswith(("model.", "training.max_updates"))] + shape
    options = {"source_language": "en", "target_language": "de", "preset": "tiny"}

    train(PAIRS, output=tmp_path / "x", overrides=[*once, "training.max_updates=3"], **options)
    train(PAIRS, output=tmp_path / "x", overrides=[*once, "training.max_updates=6"], **options)
    train(PAIRS, output=tmp_path / "y", overrides=[*once, "training.max_updates=6"], **options)

    weights = [read_weights(tmp_path / name / "model.safetensors") for name in ("x", "y")]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.thorough
def test_a_run_may_go_on_for_longer(tmp_path):
    small(output=tmp_path / "x")
    notes = Notes()

    small(output=tmp_path / "x", overrides=["training.max_updates=6", "title=Longer"], observer=notes)

    assert notes.steps == [5, 6]
    assert notes.started.resumed_from == 4
    small(output=tmp_path / "y", overrides=["training.max_updates=6"])
    longer, whole = (read_weights(tmp_path / name / "model.safetensors") for name in "xy")
    assert all(longer[name].equal(whole[name]) for name in whole)


@pytest.mark.thorough
def test_other_text_is_another_run(tmp_path):
    small(output=tmp_path / "x")

    with pytest.raises(DataError, match="has changed since this run began"):
        small([*PAIRS[1:], ("A word.", "Ein Wort.")], output=tmp_path / "x")


def test_a_model_of_someone_else_is_not_overwritten(done, tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((done[0] / name).read_bytes())
    before = (tmp_path / "model.safetensors").read_bytes()

    with pytest.raises(ConfigError, match="did not train"):
        small(output=tmp_path)

    assert (tmp_path / "model.safetensors").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.thorough
def test_a_run_that_found_nothing_to_learn_from_binds_nobody(tmp_path):
    with pytest.raises(DataError, match="no usable pair"):
        small(output=tmp_path / "x", overrides=["data.filter.max_length=1"])

    small(output=tmp_path / "x", overrides=["tokenizer.vocab_size=410"])

    assert Translator.load(tmp_path / "x").bundle.tokenizer.source_size == 410


def test_a_stop_saves_and_the_rest_is_the_same(done, tmp_path):
    """In the middle of an epoch, between two validations."""
    notes = Notes()
    options = {"valid": VALID, "output": tmp_path / "x", "observer": notes}
    overrides = ["generation.size=2", "title=Mine"]

    with pytest.raises(Interrupted) as caught:
        small(**options, overrides=overrides, stop=lambda: 15 if notes.steps == [1, 2, 3] else 0)
    assert caught.value.exit_code == 143
    assert not (tmp_path / "x/model.safetensors").exists()
    small(**options, overrides=overrides)

    assert notes.steps == [1, 2, 3, 4]
    resumed, whole = (read_weights(folder / "model.safetensors") for folder in (tmp_path / "x", done[0]))
    assert all(resumed[name].equal(whole[name]) for name in whole)


# ---- what a folder is worth after a crash, and what else may lie in it ------------------------------


def test_text_that_is_as_it_was_is_not_tokenised_again(done):
    output, _ = done
    before = (output / "checkpoints/corpus/train/about.json").stat().st_mtime_ns
    notes = Notes()

    small(valid=VALID, output=output, observer=notes, overrides=["generation.size=2", "title=Mine"])

    assert "tokenising the text" not in notes.messages
    assert (output / "checkpoints/corpus/train/about.json").stat().st_mtime_ns == before


@pytest.mark.thorough
def test_tokens_that_a_crash_left_are_made_again(done, tmp_path):
    """The old tokens are no longer trusted once the first of their files is replaced."""
    output = shutil.copytree(done[0], tmp_path / "x")
    corpus = output / "checkpoints/corpus/train"
    whole = (corpus / "source.tokens").read_bytes()
    (corpus / "about.json").unlink()
    (corpus / "source.tokens").write_bytes(b"")

    small(valid=VALID, output=output, overrides=["generation.size=2", "title=Mine"])

    assert (corpus / "source.tokens").read_bytes() == whole


@pytest.mark.thorough
@pytest.mark.parametrize("valid", [None, VALID[1:], [*VALID[1:], VALID[0]]])
def test_other_validation_text_is_another_run(done, tmp_path, valid):
    """Scores on other text cannot be compared with those of the run so far."""
    output = shutil.copytree(done[0], tmp_path / "x")
    longer = ["generation.size=2", "title=Mine", "training.max_updates=6"]

    with pytest.raises(DataError, match="validation text has changed since this run began"):
        small(valid=valid, output=output, overrides=longer)


@pytest.mark.thorough
def test_validation_text_that_comes_later_is_another_run(tmp_path):
    small(output=tmp_path / "x")

    with pytest.raises(DataError, match="validation text has changed since this run began"):
        small(valid=VALID, output=tmp_path / "x", overrides=["training.max_updates=6"])


@pytest.mark.thorough
def test_validation_text_may_be_left_out_before_the_first_checkpoint(tmp_path):
    with pytest.raises(Interrupted):
        train(PAIRS, valid=VALID, preset="tiny", output=tmp_path / "x", overrides=SMALL,
              source_language="en", target_language="de", observer=Raising())  # fmt: skip
    small(output=tmp_path / "x")

    small(output=tmp_path / "x", overrides=["training.max_updates=6"])

    assert not (tmp_path / "x/checkpoints/corpus/valid").exists()


class Raising(Notes):
    """A signal just before the first update."""

    def on_start(self, event):
        raise Interrupted("stopped", signal=15)


@pytest.mark.thorough
def test_a_longer_run_that_crashed_at_its_end_is_not_taken_for_complete(done, tmp_path, monkeypatch):
    output = shutil.copytree(done[0], tmp_path / "x")
    options = {"valid": VALID, "output": output}
    longer = ["generation.size=2", "title=Mine", "training.max_updates=6"]
    short = (output / "model.safetensors").read_bytes()
    with monkeypatch.context() as crash, pytest.raises(RuntimeError, match="power cut"):
        crash.setattr("dragoman.training.runs.fit.model_folder.save", power_cut)
        small(**options, overrides=longer)
    assert (output / "model.safetensors").read_bytes() == short

    small(**options, overrides=longer)

    small(valid=VALID, output=tmp_path / "y", overrides=longer)
    assert (output / "model.safetensors").read_bytes() == (tmp_path / "y/model.safetensors").read_bytes()


def power_cut(*_):
    raise RuntimeError("power cut")


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_a_run_that_crashed_while_it_wrote_the_model_is_repaired_by_repeating_it(
    done, tmp_path, monkeypatch, file
):
    """Just before one of the files was replaced. Until then the folder is refused, or is the old model."""
    output = shutil.copytree(done[0], tmp_path / "x")
    options = {"valid": VALID, "output": output}
    longer = ["generation.size=2", "title=Mine", "training.max_updates=6"]
    replace_file = os.replace

    def crashing(part, target):
        if Path(target) == (output / file).resolve():
            raise RuntimeError("power cut")
        replace_file(part, target)

    with monkeypatch.context() as crash, pytest.raises(RuntimeError, match="power cut"):
        crash.setattr("dragoman.base.files.os.replace", crashing)
        small(**options, overrides=longer)
    if file == "model.safetensors":
        with pytest.raises(ModelError, match="damaged"):
            Translator.load(output)

    small(**options, overrides=longer)

    assert digest_of(output / "model.safetensors") == read_config(output).weights
    assert digest_of(output / "checkpoints/final.safetensors") == read_config(output).weights


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["flipped bit", "config.json is gone", "digest of another model"])
def test_a_complete_run_whose_model_was_damaged_is_repaired_by_repeating_it(done, tmp_path, damage):
    output = shutil.copytree(done[0], tmp_path / "x")
    before = (output / "model.safetensors").read_bytes()
    match damage:
        case "flipped bit":
            (output / "model.safetensors").write_bytes(before[:-1] + bytes([before[-1] ^ 0x80]))
        case "config.json is gone":
            (output / "config.json").unlink()
        case _:
            config = json.loads((output / "config.json").read_text(encoding="utf-8"))
            config["weights"] = "sha256:" + 64 * "0"
            (output / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError):
        Translator.load(output)

    small(valid=VALID, output=output, overrides=["generation.size=2", "title=Mine"])

    assert (output / "model.safetensors").read_bytes() == before
    Translator.load(output)


@pytest.mark.parametrize("name", ["README.md", "config.json", "metrics.jsonl", "tokenizer.spm"])
def test_files_of_someone_else_are_not_overwritten(tmp_path, name):
    """As with `-o .` in a folder that has a README.md."""
    (tmp_path / name).write_text("Mine.")

    with pytest.raises(ConfigError, match=name) as caught:
        small(output=tmp_path)

    assert "-o" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "Mine."


@pytest.mark.thorough
def test_a_model_whose_checkpoints_are_gone_is_not_trained_again(done, tmp_path):
    output = shutil.copytree(done[0], tmp_path / "x")
    shutil.rmtree(output / "checkpoints")
    before = {path.name: path.read_bytes() for path in output.iterdir()}

    with pytest.raises(ConfigError, match="checkpoints"):
        small(valid=VALID, output=output, overrides=["generation.size=2", "title=Mine"])

    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


@pytest.mark.thorough
def test_a_cosine_that_ends_elsewhere_is_another_run(tmp_path):
    small(output=tmp_path / "x", overrides=["training.schedule=cosine"])

    with pytest.raises(ConfigError, match="training.max_updates: 4 -> 6"):
        small(output=tmp_path / "x", overrides=["training.schedule=cosine", "training.max_updates=6"])


@pytest.mark.thorough
def test_a_longer_run_is_the_same_wherever_the_shorter_one_ended(tmp_path):
    """The last update of a run is validated, but the average of a longer one does not take it."""
    for limit in (3, 5, 6):
        small(output=tmp_path / "x", overrides=[f"training.max_updates={limit}"])
    small(output=tmp_path / "y", overrides=["training.max_updates=6"])

    longer, whole = (read_weights(tmp_path / name / "model.safetensors") for name in "xy")
    assert all(longer[name].equal(whole[name]) for name in whole)


def test_whoever_may_read_the_folder_may_read_the_weights(done):
    modes = {path.name: path.stat().st_mode & 0o777 for path in done[0].iterdir() if path.is_file()}

    assert len(set(modes.values())) == 1, modes


@pytest.mark.thorough
def test_a_disk_that_is_full_when_a_measurement_is_written(tmp_path):
    class Filling(Notes):
        def on_report(self, event):
            path = tmp_path / "x/metrics.jsonl"
            path.unlink()
            path.symlink_to("/dev/full")

    with pytest.raises(TrainingError, match="metrics.jsonl: cannot be written") as caught:
        small(output=tmp_path / "x", observer=Filling())

    assert "space" in caught.value.hint


@pytest.mark.thorough
def test_what_a_crash_left_half_written_goes(done, tmp_path):
    output = shutil.copytree(done[0], tmp_path / "x")
    left = [
        output / ".model.safetensors.0a1b2c3d.part",
        output / "checkpoints/.step-0000004.safetensors.0a1b2c3d.part",
        output / "checkpoints/corpus/train/.source.tokens.0a1b2c3d.part",
    ]
    for path in left:
        path.write_bytes(b"half")
    mine = output / ".notes.part"
    mine.write_text("Mine.")

    small(valid=VALID, output=output, overrides=["generation.size=2", "title=Mine"])

    assert not any(path.exists() for path in left)
    assert mine.exists()


@pytest.mark.thorough
def test_validation_pairs_with_an_empty_side_count_nowhere(tmp_path):
    notes = Notes()

    small(valid=[("A dog.", ""), ("", "Ein Hund."), *VALID], output=tmp_path / "x", observer=notes)
    small(valid=VALID, output=tmp_path / "y", observer=notes)

    first, second = notes.validations[:2], notes.validations[2:]
    assert [entry.chrf for entry in first] == [entry.chrf for entry in second]
    assert [entry.loss for entry in first] == [entry.loss for entry in second]
    assert all(sample.reference for sample in first[0].samples)


@pytest.mark.thorough
def test_validation_text_that_cannot_be_read_is_found_before_the_work(tmp_path):
    put(tmp_path, "v", VALID)
    (tmp_path / "v.de").write_bytes(b"Gut.\n\xff\n")
    notes = Notes()

    with pytest.raises(DataError, match="v.de:2: not valid UTF-8"):
        small(valid=[tmp_path / "v.en", tmp_path / "v.de"], output=tmp_path / "x", observer=notes)

    assert notes.messages == []
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["config.json", "generation.json", "model.safetensors"])
def test_a_finished_run_writes_what_is_gone_again(done, tmp_path, name):
    """`translate` says to repeat the command that trained the model, so that has to help."""
    output = shutil.copytree(done[0], tmp_path / "x")
    (output / name).unlink()
    small(valid=VALID, output=output, overrides=["generation.size=2", "title=Mine"])

    assert (output / name).read_bytes() == (done[0] / name).read_bytes()


@pytest.mark.parametrize("zero", [True, False])
def test_the_decoder_starts_from_zeros_if_asked(tmp_path: Path, zero: bool) -> None:
    model = small(PAIRS, output=tmp_path / "m", overrides=[f"training.zero_start={str(zero).lower()}"])
    weights = read_weights(tmp_path / "m" / "model.safetensors")
    assert bool(weights["target_embedding.weight"][model.tokenizer.specials.start].any()) != zero


@pytest.mark.thorough
def test_tokens_without_a_target_stay_closed(tmp_path: Path) -> None:
    """Also after a stop, and with weight decay."""
    options = ["model.output_bias=true", "training.close_unseen=true", "training.weight_decay=0.1"]
    at = iter([0] * 3 + [2] * 99)
    with pytest.raises(Interrupted):
        small(PAIRS, output=tmp_path / "m", overrides=options, stop=lambda: next(at))
    model = small(PAIRS, output=tmp_path / "m", overrides=options)
    small(PAIRS, output=tmp_path / "whole", overrides=options)

    cut = model.tokenizer
    seen = {cut.end_id, *(token for _, line in PAIRS for token in cut.encode_target([line])[0])}
    bias = read_weights(tmp_path / "m" / "model.safetensors")["logits.bias"]
    assert set((bias > -15).nonzero()[:, 0].tolist()) == seen
    assert len(seen) < len(bias)
    assert bias.max() < 1
    digests = {digest_of(tmp_path / name / "model.safetensors") for name in ("m", "whole")}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs a bias of the output layer"),
        (
            ["model.output_bias=true", "tokenizer.sampling=0.1"],
            "tokenizer.sampling changes the target tokens",
        ),
        (
            ["model.output_bias=true", "tokenizer.placeholders=4"],
            "data.placeholders changes the target tokens",
        ),
    ],
)
def test_what_does_not_go_with_closed_tokens(options: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        small(output=tmp_path / "m", overrides=["training.close_unseen=true", *options])


@pytest.mark.thorough
def test_reserved_pieces_that_the_text_asks_for_are_not_closed(tmp_path: Path) -> None:
    """`tokenizer.placeholders = "auto"` reserves some once the text is read."""
    pairs = [(f"{source} See {{0}}.", f"{target} Siehe {{0}}.") for source, target in toy.pairs(count=60)]
    options = ["model.output_bias=true", "training.close_unseen=true", "training.max_updates=1"]
    with pytest.raises(ConfigError, match=r"data.placeholders changes the target tokens"):
        small(pairs, output=tmp_path / "m", overrides=options)
    assert not [*(tmp_path / "m").glob("checkpoints/corpus/train/*")]

    model = small(pairs, output=tmp_path / "m", overrides=[*options, "data.placeholders=0"])
    assert model.tokenizer.placeholders


@pytest.mark.thorough
def test_tuning_opens_reserved_pieces(tmp_path: Path) -> None:
    pairs = [(f"{source} See {{0}}.", f"{target} Siehe {{0}}.") for source, target in toy.pairs(count=60)]
    closing = ["model.output_bias=true", "training.close_unseen=true", "data.placeholders=0"]
    base = small(pairs, output=tmp_path / "base", overrides=[*closing, "training.max_updates=1"])

    train(
        pairs, base=tmp_path / "base", output=tmp_path / "m",
        overrides=["training.max_updates=1", "tuning.replay=0", "data.placeholders=1"],
    )  # fmt: skip

    before, after = (
        read_weights(tmp_path / name / "model.safetensors")["logits.bias"] for name in ("base", "m")
    )
    pieces = list(base.tokenizer.placeholders[1])
    assert bool((before[pieces] < -15).all())
    assert bool((after[pieces] > -15).all())


@pytest.mark.parametrize(
    "option", ["training.average_of=soup", "training.stop_on=chrf++", "training.choose_by=bleu"]
)
def test_what_needs_validation_text_is_refused_before_the_text_is_tokenised(
    option: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="needs validation text"):
        small(output=tmp_path / "m", overrides=[option])
    assert not (tmp_path / "m").exists()


def test_tuning_closes_no_token(tmp_path: Path) -> None:
    small(output=tmp_path / "base", overrides=["model.output_bias=true"])
    with pytest.raises(ConfigError, match=r"close_unseen = true is for a new model"):
        train(PAIRS, base=tmp_path / "base", output=tmp_path / "m", overrides=["training.close_unseen=true"])


@pytest.mark.thorough
@pytest.mark.parametrize("options", [["tuning.interpolate=0.5"], ["tuning.lora_rank=2"]])
def test_tuning_opens_the_tokens_of_its_text(options: list[str], tmp_path: Path) -> None:
    """Or else no update of a small learning rate would, and each would cost 30 nats."""
    closing = ["model.output_bias=true", "training.close_unseen=true"]
    base = small(PAIRS, output=tmp_path / "base", overrides=closing)
    pairs = [(source, f"{target} Xylophon 77") for source, target in toy.pairs(seed=9, count=60)]
    notes = Notes()

    train(
        pairs, base=tmp_path / "base", output=tmp_path / "m", observer=notes,
        overrides=["training.max_updates=2", "tuning.replay=0", *options],
    )  # fmt: skip

    before, after = (
        read_weights(tmp_path / name / "model.safetensors")["logits.bias"] for name in ("base", "m")
    )
    new = {token for _, line in pairs for token in base.tokenizer.encode_target([line])[0]}
    opened = set(((before < -15) & (after > -15)).nonzero()[:, 0].tolist())
    assert opened == {token for token in new if before[token] < -15}
    assert any(text.startswith(f"opened {len(opened)} tokens") for text in notes.messages)
