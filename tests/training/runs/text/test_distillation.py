"""Students of teachers, from raw text to model folder."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.runs.students import (
    PAIRS,
    STUDENT,
    VALID,
    WORDS,
    Heard,
    distilled,
    make_teacher,
    make_twin,
    same_weights,
)

from dragoman.base.config import from_table, read_toml
from dragoman.base.errors import ConfigError, DataError, Interrupted, ModelError, TrainingError
from dragoman.models.folder.bundle import load, save
from dragoman.models.folder.weights import put_weights, read_weights, weights_of
from dragoman.models.layers.embeddings import close
from dragoman.models.seq2seq import build_model
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.checkpoints import whole as room
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.distillation import teach
from dragoman.training.distillation.distributions import LessonsInProgress, lessons_of
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.run import train
from dragoman.training.runs.text import tokens, translations
from dragoman.translation.translator import Translator

FIXTURES = Path(__file__).parents[3] / "interop" / "fixtures"


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_teacher(tmp_path_factory.mktemp("teacher") / "one")


@pytest.fixture(scope="module")
def twin(teacher: Path) -> Path:
    return make_twin(teacher, teacher.with_name("two"))


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translations, "LINES_OF_A_PART", 16)
    monkeypatch.setattr(LessonsInProgress, "TOKENS", 120)


def corpus(folder: Path, name: str) -> TokenisedCorpus:
    return TokenisedCorpus(folder / "checkpoints/corpus" / f"train.{name}", Tokenizer.load(folder))


# What a student learns from


def test_a_student_learns_from_the_text_and_the_translations(teacher: Path, tmp_path: Path) -> None:
    """With a vocabulary and an architecture of its own."""
    heard = distilled(
        teacher, output=tmp_path / "x",
        options=["tokenizer.vocab_size=300", "model.architecture=ssru", "teacher.outputs_weight=2"],
    )  # fmt: skip

    assert isinstance(Translator.load(tmp_path / "x")("the dog sleeps now"), str)
    assert len(corpus(tmp_path / "x", "reference")) == len(corpus(tmp_path / "x", "reference.outputs")) == 60
    assert "train.reference.outputs: 60 pairs read, 60 kept, 0 set aside" in heard.messages
    recipe = read_toml(tmp_path / "x/training.toml")
    digest = json.loads((teacher / "config.json").read_text())["weights"]
    assert recipe["teacher"]["models"] == [str(teacher)]
    assert recipe["teacher"]["digests"] == [digest]
    assert recipe["tokenizer"]["kind"] == "bpe"
    card = (tmp_path / "x/README.md").read_text()
    assert f"| teacher 1 | {teacher}, `{digest}` |" in card
    assert "| learnt from them | their translations (best) |" in card
    assert "180 pairs" in card or "| training | 180 |" in card


def test_a_student_starts_from_the_weights_of_its_teacher(teacher: Path, tmp_path: Path) -> None:
    """Embeddings, encoder, and all of the decoder but self-attention. At a rate of almost 0 it stays."""
    heard = distilled(
        teacher, output=tmp_path / "x",
        options=["model.architecture=ssru", "model.d_model=32", "teacher.outputs=none", "teacher.start=true",
                 "training.learning_rate=1e-9"],
    )  # fmt: skip

    taught, own = read_weights(teacher / "model.safetensors"), read_weights(tmp_path / "x/model.safetensors")
    same = {name for name in own.keys() & taught.keys() if own[name].allclose(taught[name], atol=1e-6)}
    assert own.keys() - same == {f"decoder.0.attention.{one}" for one in
                                 ("candidate.weight", "forget.weight", "forget.bias")}  # fmt: skip
    shared = sum(own[name].numel() for name in same)
    assert f"started from {shared:,} parameters of {teacher}" in heard.messages


def test_a_student_opens_the_tokens_of_its_text_that_its_teacher_closed(
    teacher: Path, tmp_path: Path
) -> None:
    """And has its own copy of weights that the teacher has tied."""
    bundle = load(teacher)
    closed = replace(bundle.model.config, output_bias=True)
    other = build_model(closed)
    put_weights(other, weights_of(other) | weights_of(bundle.model), "")
    close(other.logits, torch.arange(len(other.logits.bias)) % 2 == 0)
    save(replace(bundle, model=other), tmp_path / "closed")
    distilled(
        tmp_path / "closed", output=tmp_path / "x",
        options=["model.d_model=32", "model.output_bias=true", "model.tie=none", "teacher.outputs=none",
                 "teacher.start=true", "training.learning_rate=1e-9"],
    )  # fmt: skip

    own = read_weights(tmp_path / "x/model.safetensors")
    seen = corpus(tmp_path / "x", "reference").in_targets(len(own["logits.bias"]))
    assert own["logits.bias"][torch.from_numpy(seen)].min() > -1
    assert own["source_embedding.weight"].allclose(own["target_embedding.weight"], atol=1e-6)


def test_a_student_does_not_start_from_weights_that_are_not_finite(teacher: Path, tmp_path: Path) -> None:
    bundle = load(teacher)
    with torch.no_grad():
        next(iter(bundle.model.parameters())).fill_(float("nan"))
    save(bundle, tmp_path / "bad")

    with pytest.raises(ModelError, match="NaN or infinite in"):
        distilled(tmp_path / "bad", output=tmp_path / "x",
                  options=["model.d_model=32", "teacher.outputs=none", "teacher.start=true"])  # fmt: skip


def test_a_student_of_another_width_cannot_start_from_its_teacher(teacher: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.d_model = 16, but .* has 32"):
        distilled(teacher, output=tmp_path / "x", options=["teacher.start=true"])


@pytest.mark.thorough
def test_the_reference_may_be_left_out(teacher: Path, tmp_path: Path) -> None:
    distilled(teacher, output=tmp_path / "x", options=["teacher.reference_weight=0"])

    assert [path.name for path in (tmp_path / "x/checkpoints/corpus").iterdir() if "train" in path.name] == [
        "train.reference.outputs"
    ]


@pytest.mark.thorough
def test_sources_alone_are_enough(teacher: Path, tmp_path: Path) -> None:
    mono = tmp_path / "mono.en"
    mono.write_text("".join(f"{source}\n" for source, _ in PAIRS))

    distilled(teacher, output=tmp_path / "x", data=[mono], options=["teacher.reference_weight=0"])

    assert Translator.load(tmp_path / "x").target_language == "de"
    with pytest.raises(ConfigError, match=r"only sources, but teacher.reference_weight = 1"):
        distilled(teacher, output=tmp_path / "y", data=[mono])
    with pytest.raises(ConfigError, match=r'only sources, but teacher.outputs = "nearest"'):
        nearest = ["teacher.reference_weight=0", "teacher.outputs=nearest"]
        distilled(teacher, output=tmp_path / "y", data=[mono], options=nearest)
    with pytest.raises(ConfigError, match=r"only sources, but teacher.words = 0.5"):
        distilled(teacher, output=tmp_path / "y", data=[mono], options=["teacher.reference_weight=0", *WORDS])
    assert not (tmp_path / "y").exists()


@pytest.mark.thorough
def test_texts_with_weights_each_have_translations(teacher: Path, tmp_path: Path) -> None:
    for name, pairs in (("a", PAIRS[:20]), ("b", PAIRS[20:])):
        for side, suffix in enumerate(("en", "de")):
            (tmp_path / f"{name}.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    texts = [
        'data.corpora=[{name="a", train=["a.en", "a.de"], weight=3.0}, '
        '{name="b", train=["b.en", "b.de"]}]'
    ]  # fmt: skip

    distilled(teacher, output=tmp_path / "x", data=None, options=texts, data_root=tmp_path)

    names = sorted(path.name for path in (tmp_path / "x/checkpoints/corpus").glob("train.*"))
    assert names == ["train.a", "train.a.outputs", "train.b", "train.b.outputs"]
    assert "| training | 200 |" in (tmp_path / "x/README.md").read_text()


@pytest.mark.thorough
def test_distributions_of_texts_that_do_not_say_their_languages(teacher: Path, tmp_path: Path) -> None:
    """The recipe says them, so no text has to."""
    for side, name in enumerate(("one.txt", "other.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS), encoding="utf-8")
    corpora = 'data.corpora=[{name="a", train=["one.txt", "other.txt"]}]'
    own: dict[str, Any] = {"source_language": "en", "target_language": "de", "data_root": tmp_path}
    own["data"] = None
    distilled(teacher, output=tmp_path / "x", options=[*WORDS, corpora], **own)

    assert (tmp_path / "x/checkpoints/lessons/train.a/lessons").exists()
    assert Translator.load(tmp_path / "x").directions == ()


@pytest.mark.thorough
def test_translations_of_synthetic_sources_are_tagged_as_they_are(teacher: Path, tmp_path: Path) -> None:
    (tmp_path / "made.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in PAIRS))
    texts = ['data.corpora=[{name="a", train=["made.tsv"], tagged=true}, {name="b", train=["made.tsv"]}]']

    distilled(
        teacher, output=tmp_path / "x", data=None, options=texts, data_root=tmp_path,
        source_language="en", target_language="de",
    )  # fmt: skip

    report = (tmp_path / "x/README.md").read_text()
    tags = [f"{name}{tag}: 60 pairs read" in report
            for name in ("a", "a.outputs", "b", "b.outputs") for tag in (" (tagged)", "")]  # fmt: skip
    assert tags == [True, False, True, False, False, True, False, True]


def test_distributions_are_the_likeliest_of_the_softmax(teacher: Path, twin: Path, tmp_path: Path) -> None:
    """Of the ensemble, at each token and the end, for both texts: against one pair at a time."""
    options = [*WORDS, "teacher.temperature=2", "teacher.average=probabilities"]
    distilled(teacher, twin, output=tmp_path / "x", options=options)

    recipe = from_table(Recipe, read_toml(tmp_path / "x/training.toml"))
    models = [load(folder).model.eval() for folder in (teacher, twin)]
    for name in ("reference", "reference.outputs"):
        text = corpus(tmp_path / "x", name)
        opened = lessons_of(
            recipe.teacher, text.tokenizer, text.target, tmp_path / "x/checkpoints/lessons" / f"train.{name}"
        )
        assert opened is not None
        assert len(text) == 60
        for row in (0, 7, 59):
            source = torch.tensor([[*text.source[row].tolist(), 2]])
            target = torch.tensor([[1, *text.target[row].tolist()]])
            with torch.inference_mode():
                logits = [m(source, torch.tensor([source.shape[1]]), target)[0] for m in models]
            mean_TV = (logits[0].softmax(-1) + logits[1].softmax(-1)) / 2
            p_TK, ids_TK = (mean_TV.log() / 2).softmax(-1).topk(4)
            assert opened[row].shape == (target.shape[1], 4)
            np.testing.assert_allclose(opened[row]["p"], p_TK.numpy(), atol=1e-3)
            clear = (p_TK[:, 0] - p_TK[:, 1]).numpy() > 1e-3
            assert (opened[row]["id"][:, 0] == ids_TK[:, 0].numpy())[clear].all()


@pytest.mark.thorough
def test_the_vocabulary_for_distributions_is_that_of_the_teachers(teacher: Path, tmp_path: Path) -> None:
    options = [*WORDS, "teacher.outputs=none", "tokenizer.placeholders=0"]  # they have none either
    heard = distilled(teacher, output=tmp_path / "x", options=options)

    assert (tmp_path / "x/tokenizer.words.json").read_bytes() == (
        teacher / "tokenizer.words.json"
    ).read_bytes()
    assert any("4 tokens at 300 places" in message for message in heard.messages)
    assert "their distributions (share of the loss: 0.5)" in (tmp_path / "x/README.md").read_text()
    with pytest.raises(ConfigError, match=r"tokenizer.kind = 'bpe', but the teachers have 'words'"):
        distilled(teacher, output=tmp_path / "y", options=[*WORDS, "tokenizer.kind=bpe"])
    assert not (tmp_path / "y").exists()


@pytest.mark.thorough
def test_distributions_change_what_is_learnt_by_their_share(teacher: Path, tmp_path: Path) -> None:
    """With a share of almost nothing, the student is that of plain training on the same tokens."""
    options = ["teacher.outputs=none", "training.precision=fp32"]
    distilled(teacher, output=tmp_path / "half", options=[*options, "teacher.words=0.5"])
    distilled(teacher, output=tmp_path / "hardly", options=[*options, "teacher.words=1e-12"])
    train(
        PAIRS, valid=VALID, output=tmp_path / "plain", preset="tiny", source_language="en",
        target_language="de", overrides=[*STUDENT, "tokenizer.kind=words", "training.precision=fp32"],
    )  # fmt: skip

    half, hardly, plain = (
        read_weights(tmp_path / name / "model.safetensors") for name in ("half", "hardly", "plain")
    )
    for name in plain:
        torch.testing.assert_close(hardly[name], plain[name], rtol=1e-4, atol=1e-5)
    assert max(float((half[name] - plain[name]).abs().max()) for name in plain) > 1e-3


# Resuming


@pytest.mark.parametrize("method", [[], [*WORDS, "training.consistency=1"], [*WORDS, "teacher.outputs=all"]])
def test_a_stop_saves_and_the_rest_is_the_same(teacher: Path, tmp_path: Path, method: list[str]) -> None:
    heard: list[int] = []

    class Counting(Heard):
        def on_report(self, event: Any) -> None:
            heard.append(event.step)

    with pytest.raises(Interrupted):
        lessons_run(
            teacher, tmp_path / "x", method, observer=Counting(), stop=lambda: 15 * (heard == [1, 2, 3])
        )
    assert not (tmp_path / "x/model.safetensors").exists()
    lessons_run(teacher, tmp_path / "x", method, observer=Counting())
    assert heard == [1, 2, 3, 4]
    lessons_run(teacher, tmp_path / "y", method)

    assert same_weights(tmp_path / "x", tmp_path / "y")


def lessons_run(teacher: Path, output: Path, options: list[str], **more: Any) -> None:
    train(
        PAIRS, valid=VALID, teachers=[teacher], output=output, preset="tiny",
        overrides=[*STUDENT, *options], **more,
    )  # fmt: skip


class Killed(Exception):
    """Stands for a kill: nothing that the program does about errors sees it as one of its own."""


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["translations", "tokens", "distributions"])
def test_a_killed_preparation_goes_on(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    distilled(teacher, output=tmp_path / "whole", options=WORDS)
    calls = 0

    def dying(original: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise Killed
            return original(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        match place:
            case "translations":
                patch.setattr(
                    translations.TeachersOutputs, "_translate", dying(translations.TeachersOutputs._translate)
                )
            case "tokens":
                patch.setattr(tokens, "tokenise", dying(tokens.tokenise))
            case "distributions":
                patch.setattr(teach, "likely", dying(teach.likely))
        with pytest.raises(Killed):
            distilled(teacher, output=tmp_path / "x", options=WORDS)

    heard = distilled(teacher, output=tmp_path / "x", options=WORDS)

    assert ("the teachers resume after 32 lines" in heard.messages) == (place == "translations")
    assert same_weights(tmp_path / "x", tmp_path / "whole")
    names = [path for path in (tmp_path / "whole/checkpoints").rglob("*") if path.is_file()]
    made = [path for path in names if "outputs" in path.parts or "lessons" in path.parts]
    assert len(made) == 4 + 2 * 2
    for path in made:
        assert path.read_bytes() == (tmp_path / "x" / path.relative_to(tmp_path / "whole")).read_bytes()


@pytest.mark.thorough
def test_damaged_distributions_are_made_again(teacher: Path, tmp_path: Path) -> None:
    distilled(teacher, output=tmp_path / "x", options=WORDS)
    path = tmp_path / "x/checkpoints/lessons/train.reference.outputs/lessons"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4] + b"\1\2\3\4")

    distilled(teacher, output=tmp_path / "x", options=WORDS)

    assert path.read_bytes() == whole


@pytest.mark.thorough
def test_a_finished_run_is_left_alone(teacher: Path, tmp_path: Path) -> None:
    distilled(teacher, output=tmp_path / "x", options=WORDS)
    moved = shutil.copytree(teacher, tmp_path / "elsewhere")

    heard = distilled(moved, output=tmp_path / "x", options=WORDS)

    assert any("nothing to do" in message for message in heard.messages)


@pytest.mark.thorough
def test_another_teacher_or_option_is_another_run(teacher: Path, twin: Path, tmp_path: Path) -> None:
    distilled(teacher, output=tmp_path / "x")

    with pytest.raises(ConfigError, match=r"two is not the teacher that this run began with"):
        distilled(twin, output=tmp_path / "x")
    with pytest.raises(ConfigError, match=r"teacher.beam: 5 -> 2"):
        distilled(teacher, output=tmp_path / "x", options=["teacher.beam=2"])
    with pytest.raises(DataError, match="changed since the teachers translated it"):
        distilled(teacher, output=tmp_path / "x", data=PAIRS[1:])
    digests = 'teacher.digests=["sha256:' + "0" * 64 + '"]'
    with pytest.raises(ConfigError, match=r"one: not the teacher of this recipe"):
        distilled(teacher, output=tmp_path / "y", options=[digests])
    assert not (tmp_path / "y").exists()


# What does not fit


def test_teachers_that_do_not_fit_are_refused(teacher: Path, tmp_path: Path) -> None:
    others = [(source.replace("dog", "hen"), target) for source, target in PAIRS]
    other = Tokenizer.train(others, TokenizerConfig(kind="words"))
    make_twin(teacher, tmp_path / "reverse", source_language="de", target_language="en")
    bundle = load(teacher)
    save(replace(bundle, tokenizer=other), tmp_path / "vocabulary")

    for models, message in (
        ([tmp_path / "nowhere"], "no such model folder"),
        ([teacher, tmp_path / "reverse"], "reverse translates from de to en, but .*one from en to de"),
        ([teacher, tmp_path / "vocabulary"], "another vocabulary than"),
        ([FIXTURES / "hf-multilingual"], "the names do not say which languages these are"),
    ):
        with pytest.raises((ConfigError, ModelError), match=message):
            distilled(*models, output=tmp_path / "x")
    with pytest.raises(ConfigError, match="from fr to .*, but"):
        distilled(teacher, output=tmp_path / "x", source_language="fr")
    with pytest.raises(ConfigError, match="from en to fr, but .* translates from eng to deu and eng to eng"):
        distilled(
            FIXTURES / "hf-multilingual", output=tmp_path / "x", source_language="en", target_language="fr"
        )  # fmt: skip
    with pytest.raises(ConfigError, match="teachers and a model to tune"):
        distilled(teacher, output=tmp_path / "x", base=teacher, source_language="en")
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
def test_a_full_disk_is_noticed_before_the_distributions_are_computed(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room.os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))

    with pytest.raises(TrainingError, match="no room for the teachers' distributions, 0.0 MB"):
        distilled(teacher, output=tmp_path / "x", options=WORDS)


@pytest.mark.thorough
def test_an_imported_teacher(tmp_path: Path) -> None:
    """Its vocabulary is used as it is, and its decoder begins with padding."""
    distilled(
        FIXTURES / "hf-opus", output=tmp_path / "x",
        options=[*WORDS, "teacher.outputs=none", "training.max_updates=2"],
    )  # fmt: skip

    translator = Translator.load(tmp_path / "x")
    assert translator.tokenizer.start_id == translator.tokenizer.pad_id
    assert read_toml(tmp_path / "x/training.toml")["tokenizer"]["kind"] == "mapped"


@pytest.mark.thorough
def test_an_imported_teacher_of_several_languages_that_states_no_pairs(tmp_path: Path) -> None:
    distilled(
        FIXTURES / "hf-multilingual", output=tmp_path / "x", source_language="en", target_language="de",
        options=[*WORDS, "teacher.outputs=none", "training.max_updates=2"],
    )  # fmt: skip

    assert Translator.load(tmp_path / "x").directions == (("en", "de"),)
