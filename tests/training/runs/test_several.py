"""A run in several directions: from texts in several languages to a model folder, and its tuning."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.program import Ended
from tests.training.runs.test_run import Notes

from dragoman import Translator, train
from dragoman.base.config import from_table, read_toml
from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.cli.models import model_and_pairs
from dragoman.evaluation.risk import calibrate as risk_of_folder
from dragoman.models.folder.average import average_folders
from dragoman.models.folder.bundle import load, save
from dragoman.models.folder.check import check_adapter_folder
from dragoman.models.folder.extend import extend_folder
from dragoman.models.folder.merge import merge_adapter
from dragoman.models.folder.weights import read_weights
from dragoman.serving.service.models import ModelSpec, load_served
from dragoman.text import toy
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.batches import collate
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.distillation.distributions import lessons_of
from dragoman.training.runs.recipe import Recipe
from dragoman.training.runs.text.opening import open_texts
from dragoman.training.runs.text.texts import RunRequest, Texts
from dragoman.training.runs.tuning.base import open_model
from dragoman.training.runs.tuning.held_out import normal
from dragoman.translation import lines
from dragoman.translation.folder.config import read_config
from dragoman.translation.folder.summary import adapter_summary_of
from dragoman.translation.search.options import Decoding
from dragoman.translation.terms.terms import Term, TermList

PAIRS, VALID = toy.pairs(seed=3, count=80), toy.pairs(seed=4, count=6)
FP32 = "training.precision=fp32"  # whatever the processor is
TINY = [
    FP32,
    "tokenizer.vocab_size=420",
    *(
        "model.d_model=16",
        "model.d_ff=16",
        "model.heads=2",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
    ),
    *(
        "training.max_updates=4",
        "training.validate_every=2",
        "training.warmup=2",
        "training.batch_tokens=800",
    ),
]
# The teacher is too young to translate, but its distributions can be learnt from.
WORDS = ["teacher.outputs=none", "teacher.words=0.5", "data.placeholders=0"]
RECIPE = """
preset = "tiny"
[[data.corpora]]
name = "german"
train = ["train.en", "train.de"]
valid = ["valid.en", "valid.de"]
test = ["valid.en", "valid.de"]
both = true
[[data.corpora]]
name = "code"
train = ["code.en-cs.tsv"]
valid = ["valid.en-cs.tsv"]
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German, and a code that stands for a third language: the letters of English in reverse order."""
    folder = tmp_path_factory.mktemp("data")
    for name, pairs in (("train", PAIRS), ("valid", VALID)):
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
    rows = [f"{english}\t{english[::-1]}\n" for english, _ in PAIRS[:20]]
    (folder / "code.en-cs.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "valid.en-cs.tsv").write_text("".join(rows[:4]), encoding="utf-8")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return folder


def run(data: Path, output: Path, *overrides: str, **options: Any) -> Notes:
    notes = Notes()
    options.setdefault("recipe", data / "recipe.toml")
    train(output=output, data_root=data, overrides=[*TINY, *overrides], observer=notes, **options)
    return notes


@pytest.fixture(scope="module")
def many(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "many"
    run(data, folder)
    return folder


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["kind"] == kind]


def test_a_model_of_several_languages(many: Path) -> None:
    config = read_config(many)
    assert (config.source_language, config.target_language) == ("mul", "mul")
    assert config.directions == (("en", "de"), ("de", "en"), ("en", "cs"))
    translator = Translator.load(many)
    assert translator.tokenizer.languages == ("de", "en", "cs")
    found = [translator.translate("The dog sleeps.", source="en", to=to) for to in ("de", "cs")]
    assert found[0].score != found[1].score
    scored = [translator.score([("The dog sleeps.", "Der Hund.")], source="en", to=to) for to in ("de", "cs")]
    assert scored[0][0].score != scored[1][0].score


def test_tuning_counts_the_pairs_of_an_epoch(data: Path, many: Path) -> None:
    """It makes as many updates for a text with a small weight as for one that is so small."""

    def updates(count: int, weight: float, both: bool) -> int:
        pairs = "".join(f"{english}\t{german}\n" for english, german in toy.pairs(seed=5, count=count))
        (data / "more.en-de.tsv").write_text(pairs, encoding="utf-8")
        corpus = {"name": "more", "train": ["more.en-de.tsv"], "weight": weight, "both": both}
        corpus["valid"] = ["valid.en", "valid.de"]
        with open_model(many) as base:
            request = RunRequest(base=base, options={"data": {"corpora": [corpus]}}, data_root=data)
            return open_texts(request, print).recipe.training.max_updates

    assert updates(4000, 0.1, False) == pytest.approx(updates(400, 1.0, False), rel=0.1)
    assert updates(800, 0.5, True) == pytest.approx(updates(800, 1.0, False), rel=0.1)
    assert updates(4000, 1.0, False) > updates(4000, 0.1, False)


def opened(many: Path, root: Path, *overrides: str, **options: Any) -> tuple[Texts, list[str]]:
    messages: list[str] = []
    with open_model(many) as base:
        request = RunRequest(base=base, overrides=overrides, data_root=root, **options)
        return open_texts(request, messages.append), messages


def test_held_out_pairs_leave_every_text_of_their_languages(data: Path, many: Path) -> None:
    pairs, more = toy.pairs(seed=6, count=30), toy.pairs(seed=7, count=20)
    texts = {
        "new.en-de": pairs,
        "old.de-en": [(german, english) for english, german in pairs + more],
        "letters.en-cs": [(english, english[::-1]) for english, _ in pairs],
    }
    for name, text in texts.items():
        (data / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in text), encoding="utf-8")
    corpora = [
        '{name="new", train=["new.en-de.tsv"]}',
        '{name="old", train=["old.de-en.tsv"], valid=["valid.de", "valid.en"]}',
        '{name="code", train=["letters.en-cs.tsv"], valid=["valid.en-cs.tsv"]}',
    ]
    found, messages = opened(
        many, data, f"data.corpora=[{', '.join(corpora)}]", "tuning.held_out=5", "tuning.alike=1"
    )

    held = {(line.source, line.target) for line in found.validation["en", "de"]}
    learnt = {name: [(line.source, line.target) for line in text] for name, text in found.corpora.items()}
    sides = [{normal(pair[side]) for pair in held} for side in (0, 1)]
    like = [pair for pair in pairs + more if any(normal(pair[side]) in sides[side] for side in (0, 1))]
    assert len(held) == 5 <= len(like) < 40
    assert learnt["new"] == [pair for pair in pairs if pair not in like]
    assert learnt["old"] == [
        (german, english) for english, german in pairs + more if (english, german) not in like
    ]
    assert learnt["code"] == texts["letters.en-cs"]
    assert any(f"5 pairs held out; {30 - len(learnt['new']) - 5} more leave" in one for one in messages)


def test_options_of_tuning_hold_for_a_model_of_several(data: Path, many: Path) -> None:
    text: dict[str, Any] = {"data": PAIRS, "languages": ("en", "de")}
    assert opened(many, data, "tuning.held_out=0", **text)[0].validation == {}
    for option in ("tuning.replay=0.5", "tuning.replay_from=base"):
        with pytest.raises(ConfigError, match=r"tuning\.replay with .*, a model of several languages"):
            opened(many, data, option, **text)
    with pytest.raises(ConfigError, match="tuning.held_out = 80 of 80 pairs"):
        opened(many, data, "tuning.held_out=80", **text)
    with pytest.raises(ConfigError, match="data is a section"):
        opened(many, data, "data=3")


def test_scores_of_each_direction_and_their_mean(many: Path) -> None:
    valid = rows(many, "valid")
    assert [row["step"] for row in valid] == [2, 4]
    for row in valid:
        each = row["directions"]
        assert [*each] == ["en-de", "de-en", "en-cs"]
        assert row["loss"] == pytest.approx(sum(one["loss"] for one in each.values()) / 3)
        assert row["chrf"] == pytest.approx(sum(one["chrf"] for one in each.values()) / 3)
    card = (many / "README.md").read_text(encoding="utf-8")
    assert "Translates between several languages: en-de, de-en, en-cs." in card
    assert "| validation de-en | 6 |" in card


def test_the_loss_of_a_direction_is_that_of_its_marked_pairs(many: Path, data: Path) -> None:
    translator = Translator.load(many, engine="pytorch")
    (last,) = rows(many, "result")
    losses = {}
    for source, to, pairs in (("en", "de", VALID), ("de", "en", [(b, a) for a, b in VALID])):
        found = translator.score(pairs, source=source, to=to)
        tokens = sum(len(one.token_logp) for one in found)
        losses[f"{source}-{to}"] = -sum(sum(one.token_logp) for one in found) / tokens
    code = [tuple(line.split("\t")) for line in (data / "valid.en-cs.tsv").read_text().splitlines()]
    found = translator.score(code, source="en", to="cs")  # type: ignore[arg-type]
    losses["en-cs"] = -sum(sum(one.token_logp) for one in found) / sum(len(one.token_logp) for one in found)
    assert last["loss"] == pytest.approx(sum(losses.values()) / 3, rel=0.01)  # trained in bf16 perhaps


@pytest.mark.thorough
def test_the_worst_direction_may_decide(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "run", "training.stop_direction=worst", "training.calibrate=0")
    for row in rows(tmp_path / "run", "valid"):
        assert row["loss"] == max(one["loss"] for one in row["directions"].values())
        assert row["bleu"] == min(one["bleu"] for one in row["directions"].values())


@pytest.mark.thorough
def test_marks_at_the_beginning_of_the_target(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "run", "tokenizer.target_mark=target", "tokenizer.source_mark=true")
    translator = Translator.load(tmp_path / "run")
    (one,) = translator.translate(["The dog sleeps."], source="en", to="cs")
    assert not any(">>" in piece for piece in one.tokens)


def test_a_run_of_several_is_done_once(many: Path, data: Path) -> None:
    notes = run(data, many)
    assert "this run is complete" in " ".join(notes.messages)


def test_validation_text_of_one_direction_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="validation text of one direction") as error:
        run(data, tmp_path / "run", valid=VALID)
    assert "[[data.corpora]]" in (error.value.hint or "")


@pytest.mark.thorough
def test_a_model_of_several_is_tuned(many: Path, data: Path, tmp_path: Path) -> None:
    notes = Notes()
    memory = [(german, english) for english, german in PAIRS]
    overrides = ["training.max_updates=3", "training.validate_every=3"]
    tuned = train(
        memory,
        base=many,
        output=tmp_path / "tuned",
        source_language="deu",
        target_language="en",
        overrides=overrides,
        observer=notes,
    )
    assert "to tune" in " ".join(notes.messages)
    assert tuned.directions == read_config(many).directions
    (row,) = rows(tmp_path / "tuned", "valid")[-1:]
    assert "directions" not in row  # there is one
    with pytest.raises(ConfigError, match="its vocabulary has no mark for fr") as error:
        train(PAIRS, base=many, output=tmp_path / "x", source_language="en", target_language="fr")
    assert "dragoman model extend" in (error.value.hint or "")
    with pytest.raises(ConfigError, match="--replay, --general or tuning.replay"):
        train(PAIRS, base=many, output=tmp_path / "x", replay=PAIRS)


@pytest.mark.thorough
def test_old_pairs_are_named_beside_new_ones(many: Path, data: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "more.toml"
    recipe.write_text(RECIPE.replace('preset = "tiny"\n', ""), encoding="utf-8")
    overrides = ["training.max_updates=2", "training.validate_every=2"]
    train(base=many, recipe=recipe, data_root=data, output=tmp_path / "tuned", overrides=overrides)
    names = [row["text"] for row in rows(tmp_path / "tuned", "comparison")]
    assert names == ["in domain, en-de", "in domain, de-en", "in domain, en-cs"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options", [["training.weight_decay=0.1"], ["training.ema=0.9"], ["training.precision=bf16"]]
)
def test_an_adapter_adds_a_language(many: Path, data: Path, tmp_path: Path, options: list[str]) -> None:
    pairs = [(english, english.replace("e", "ę")[::-1]) for english, _ in PAIRS]
    extended, new = tmp_path / "extended", [target for _, target in pairs]
    extend_folder(many, new, ["pl"], extended, pieces=40)
    overrides = ["training.max_updates=3", "training.validate_every=3", "tuning.lora_rank=2", *options]
    own = {"source_language": "en", "target_language": "pl", "overrides": overrides}
    train(pairs, base=extended, output=tmp_path / "polish", **own)  # type: ignore[arg-type]
    adapter, whole = tmp_path / "polish" / "adapter", Translator.load(tmp_path / "polish")
    lines = ["The dog sleeps.", "A small window looks over the garden."]
    expected = [(one.text, one.tokens) for one in whole.translate(lines, to="pl")]
    before = [(one.text, one.score) for one in Translator.load(many).translate(lines, to="de")]
    old, tuned = (read_weights(one / "model.safetensors") for one in (many, tmp_path / "polish"))

    for name in (
        "target_embedding.weight",
        "logits.bias",
    ):  # the rows of old tokens stay, those of new ones learn
        first = old.get(name, torch.zeros(len(old["target_embedding.weight"])))
        assert torch.equal(tuned[name][: len(first)], first)
    begun = read_weights(extended / "model.safetensors")["target_embedding.weight"]
    assert not torch.equal(tuned["target_embedding.weight"][len(first) :], begun[len(first) :])
    for base in (many, extended):
        for engine in ("native", "pytorch"):
            both = Translator.load(base, adapter={"polish": adapter}, engine=engine)  # type: ignore[arg-type]
            polish = both.using(adapter="polish")
            assert [(one.text, one.tokens) for one in polish.translate(lines, to="pl")] == expected
            assert ("en", "pl") in polish.directions
            if base == many and engine == "native":
                off = polish.using(adapter=None)
                assert [(one.text, one.score) for one in off.translate(lines, to="de")] == before
                assert (off.tokenizer.languages, off.directions) == (("de", "en", "cs"), whole.directions[:3])
    merge_adapter(many, adapter, tmp_path / "merged")
    merged = read_weights(tmp_path / "merged" / "model.safetensors")
    assert merged.keys() == tuned.keys()
    assert all(torch.allclose(merged[name], tuned[name], rtol=1e-5, atol=1e-6) for name in tuned)
    assert [one.text for one in Translator.load(tmp_path / "merged").translate(lines, to="pl")] == [
        text for text, _ in expected
    ]
    assert all(check.status == "ok" for check in check_adapter_folder(adapter))


@pytest.mark.thorough
def test_an_adapter_says_its_pairs(many: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also between languages that the model has: with it they are not zero-shot."""
    pairs = [(german, english[::-1]) for english, german in PAIRS]
    overrides = ["training.max_updates=1", "training.validate_every=1", "tuning.lora_rank=2"]
    own: dict[str, Any] = {"source_language": "de", "target_language": "cs"}
    train(pairs, base=many, output=tmp_path / "tuned", overrides=overrides, **own)
    adapter, before = tmp_path / "tuned" / "adapter", read_config(many).directions
    both = Translator.load(many, adapter={"a": adapter})
    assert both.using(adapter="a").directions == (*before, ("de", "cs"))
    assert both.using(adapter=None).directions == before
    both.using(adapter="a").translate(["Ein Hund."], source="de", to="cs")
    assert "zero-shot" not in caplog.text
    merge_adapter(many, adapter, tmp_path / "merged")
    assert read_config(tmp_path / "merged").directions == (*before, ("de", "cs"))
    assert ("de", "cs") in adapter_summary_of(adapter).directions


@pytest.mark.thorough
def test_an_adapter_with_a_language_opens_closed_tokens_of_the_old_model(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "old", "training.close_unseen=true", "model.output_bias=true")
    extend_folder(tmp_path / "old", [], ["pl"], tmp_path / "extended", pieces=0)
    pairs = [(english, english[::-1].upper()) for english, _ in PAIRS]
    overrides = ["training.max_updates=1", "training.validate_every=1", "tuning.lora_rank=2"]
    own: dict[str, Any] = {"source_language": "en", "target_language": "pl", "overrides": overrides}
    train(pairs, base=tmp_path / "extended", output=tmp_path / "light", **own)
    both = Translator.load(tmp_path / "old", adapter=tmp_path / "light" / "adapter", engine="pytorch")
    tuned = read_weights(tmp_path / "light" / "model.safetensors")["logits.bias"]

    assert torch.equal(both.bundle.model.logits.bias.detach(), tuned)
    before = read_weights(tmp_path / "old" / "model.safetensors")["logits.bias"]
    assert (tuned[: len(before)] > before).any()


@pytest.mark.thorough
def test_what_an_adapter_with_a_language_does_and_refuses(
    many: Path, tmp_path: Path, dragoman_: Callable[..., Ended], caplog: pytest.LogCaptureFixture
) -> None:
    old, extended = tmp_path / "old", tmp_path / "extended"
    pair = {"source_language": "en", "target_language": "de"}
    train(PAIRS, valid=VALID, output=old, preset="tiny", overrides=TINY, **pair)  # type: ignore[arg-type]
    extend_folder(old, [target for _, target in PAIRS], ["pl"], extended, pieces=5)
    overrides = ["training.max_updates=1", "training.validate_every=1", "tuning.lora_rank=2"]
    own: dict[str, Any] = {"source_language": "en", "target_language": "pl"}
    train(PAIRS, base=extended, output=tmp_path / "polish", overrides=overrides, **own)
    adapter = tmp_path / "polish" / "adapter"
    with pytest.raises(ConfigError, match="'polish': adds languages") as error:
        load_served(ModelSpec(folder=old, adapters={"polish": adapter}))
    assert "serve the folder" in (error.value.hint or "")
    with pytest.raises(ModelError, match="not an adapter for") as fault:
        Translator.load(many, adapter=adapter)
    assert "or the model it extends" in (fault.value.hint or "")
    with pytest.raises(ConfigError, match="needs all rows in each process"):
        sharded = [*overrides, "training.parallel=sharded"]
        train(PAIRS, base=extended, output=tmp_path / "sharded", overrides=sharded, **own)
    assert not (tmp_path / "sharded").exists()
    assert ("en", "pl") in adapter_summary_of(adapter).directions
    assert "| languages with it | en-de, en-pl |" in (adapter / "README.md").read_text()
    both = Translator.load(old, adapter={"polish": adapter})
    both.translate(["The dog sleeps."])
    polish = both.using(adapter="polish", terms=TermList([Term("dog", ("pies",))], "en", "pl"))
    assert polish._phrasing._tokenizer is polish.tokenizer is not both.tokenizer
    folder = tmp_path / "text"
    folder.mkdir()
    for language in ("en", "pl"):
        (folder / f"t.{language}").write_text("The dog sleeps.\n", encoding="utf-8")
    texts = [str(folder / f"t.{language}") for language in ("en", "pl")]
    done = dragoman_("evaluate", str(old), *texts, "--adapter", str(adapter))
    assert done.code == 0
    assert "used as" not in caplog.text  # the file in pl is read as that

    generation = shutil.copytree(old, tmp_path / "again") / "generation.json"
    generation.write_text(generation.read_text(encoding="utf-8").replace('"size": 4', '"size": 7'))
    merge_adapter(tmp_path / "again", adapter, tmp_path / "merged")
    assert read_config(tmp_path / "merged").generation.size == 7
    digests = adapter / "extended" / "digests.json"
    digests.write_text(digests.read_text(encoding="utf-8") + "\n", encoding="utf-8")  # of another adapter
    with pytest.raises(ModelError, match="not the one that adapter.json names"):
        Translator.load(old, adapter=adapter)
    digests.write_text(digests.read_text(encoding="utf-8")[:-1], encoding="utf-8")
    path = adapter / "extended" / "config.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"pl"', '"sk"'), encoding="utf-8")
    with pytest.raises(ModelError, match="config.json"):
        Translator.load(old, adapter=adapter)
    shutil.rmtree(adapter / "extended")
    with pytest.raises(ModelError, match="extended: missing, or not the one that adapter.json names"):
        Translator.load(old, adapter=adapter)
    names = [check.name for check in check_adapter_folder(adapter) if check.status == "fault"]
    assert "extended" in names


@pytest.mark.thorough
def test_a_student_of_a_model_of_several(many: Path, data: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "student.toml"
    recipe.write_text(RECIPE.replace("both = true\n", ""), encoding="utf-8")
    run(data, tmp_path / "student", *WORDS, recipe=recipe, teachers=[many])
    assert read_config(tmp_path / "student").directions == (("en", "de"), ("en", "cs"))
    with pytest.raises(ConfigError, match="german: both = true, but teachers translate in one direction"):
        run(data, tmp_path / "x", teachers=[many])


def check_read_as_trained(folder: Path, *languages: str) -> None:
    """The loss that training recorded is that of the translator: both have the same marks."""
    row = rows(folder, "valid")[-1]
    loss = row.get("directions", {}).get("-".join(languages), row)["loss"]
    pairs = VALID if languages[0] in ("en", "eng") else [(target, source) for source, target in VALID]
    scored = Translator.load(folder).score(pairs, source=languages[0], to=languages[1])
    logp = [one for each in scored for one in each.token_logp]
    assert -sum(logp) / len(logp) == pytest.approx(loss, rel=1e-5)


@pytest.mark.thorough
def test_a_student_of_one_pair_of_a_model_of_several(
    many: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The teacher reads its marks; the student has one target language, and reads none."""
    student, overrides = tmp_path / "student", [*TINY, *WORDS, "model.d_model=12"]
    train(
        PAIRS, valid=VALID, output=student, preset="tiny", teachers=[many],
        source_language="eng", target_language="deu", overrides=overrides,
    )  # fmt: skip

    assert read_config(student).directions == (("eng", "deu"),)
    assert "choose one" not in caplog.text
    assert Translator.load(student).addressed("A dog.", None, None).text == "A dog."
    check_read_as_trained(student, "eng", "deu")
    teacher, tokenizer = Translator.load(many).bundle.model, Tokenizer.load(student)
    (mark,) = tokenizer.encode_source([">>de<<"])
    recipe = from_table(Recipe, read_toml(student / "training.toml"))
    corpus = TokenisedCorpus(student / "checkpoints/corpus/train.reference", tokenizer)
    folder = student / "checkpoints/lessons/train.reference"
    lessons = lessons_of(recipe.teacher, tokenizer, corpus.target, folder)
    assert lessons is not None
    for row in (0, len(corpus) - 1):
        source, target = corpus.source[row].tolist(), corpus.target[row].tolist()
        batch = collate([[*mark, *source]], [target], pad_id=0, start_id=1, end_id=2)
        with torch.inference_mode():
            memory = teacher.encode(batch.source_BS, batch.source_len_B)
            p_TK, ids_TK = teacher.decode(batch.target_BT, memory)[0].softmax(-1).topk(8)
        assert (lessons[row]["id"] == ids_TK.numpy()).mean() > 0.99
        assert lessons[row]["p"] == pytest.approx(p_TK.numpy(), abs=1e-3)


@pytest.mark.thorough
def test_marks_are_trained_as_they_are_read(many: Path, tmp_path: Path) -> None:
    """Also in tuning on one pair: without its mark, the model would unlearn what the mark says."""
    check_read_as_trained(many, "de", "en")
    overrides = [FP32, "training.max_updates=1", "training.validate_every=1", "tuning.interpolate=1"]
    pair: dict[str, Any] = {"source_language": "en", "target_language": "de", "valid": VALID}
    train(PAIRS, base=many, output=tmp_path / "tuned", overrides=overrides, **pair)
    config = read_config(tmp_path / "tuned")
    assert (config.source_language, config.target_language) == ("mul", "mul")
    assert config.directions == read_config(many).directions
    check_read_as_trained(tmp_path / "tuned", "en", "de")

    train(PAIRS, output=tmp_path / "old", preset="tiny", overrides=TINY, **pair)
    extend_folder(tmp_path / "old", [], ["cs"], tmp_path / "extended", pieces=0)
    train(PAIRS, base=tmp_path / "extended", output=tmp_path / "same", overrides=overrides, **pair)
    assert Translator.load(tmp_path / "same").addressed("A dog.", "en", "de").text == "A dog."
    check_read_as_trained(tmp_path / "same", "en", "de")


@pytest.fixture(scope="module")
def unstated(many: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of several that states no pairs, as imported ones are."""
    folder = tmp_path_factory.mktemp("unstated") / "model"
    bundle = load(many)
    save(replace(bundle, directions=()), folder)
    return folder


@pytest.mark.thorough
def test_a_model_that_states_no_pairs_is_tuned(unstated: Path, tmp_path: Path) -> None:
    overrides = [FP32, "training.max_updates=1", "training.validate_every=1", "tuning.interpolate=1"]
    pair: dict[str, Any] = {"source_language": "en", "target_language": "de", "valid": VALID}
    train(PAIRS, base=unstated, output=tmp_path / "tuned", overrides=overrides, **pair)
    config = read_config(tmp_path / "tuned")
    assert (config.target_language, config.directions) == ("mul", ())
    assert Translator.load(tmp_path / "tuned").addressed("A dog.", "en", "de").text == ">>de<< A dog."
    check_read_as_trained(tmp_path / "tuned", "en", "de")


@pytest.mark.thorough
def test_a_model_of_a_group_of_languages_is_tuned(many: Path, tmp_path: Path) -> None:
    """As opus-mt-en-ROMANCE: it names a group, and has the marks of its languages."""
    save(replace(load(many), directions=(), source_language="en", target_language="roa"), tmp_path / "roa")
    overrides = [FP32, "training.max_updates=1", "training.validate_every=1", "tuning.interpolate=1"]
    pair: dict[str, Any] = {"source_language": "en", "target_language": "de", "valid": VALID}
    train(PAIRS, base=tmp_path / "roa", output=tmp_path / "tuned", overrides=overrides, **pair)
    assert read_config(tmp_path / "tuned").target_language == "roa"
    check_read_as_trained(tmp_path / "tuned", "en", "de")


@pytest.mark.thorough
def test_names_say_the_languages_where_a_model_states_no_pairs(
    many: Path, unstated: Path, data: Path, tmp_path: Path, dragoman_: Callable[..., Ended]
) -> None:
    """The scores are those of the model that states them; nothing is translated without a mark."""
    text, scores = [str(data / f"valid.{code}") for code in ("de", "en")], []
    for folder in (many, unstated):
        done = dragoman_("evaluate", str(folder), *text, "--json", "--bootstrap", "0")
        scores.append(json.loads(done.out)["cased"])
        _, _, decoding = model_and_pairs(folder, text, Decoding(), None)
        assert (decoding.source, decoding.to) == ("de", "en")
    assert scores[0] == scores[1]
    refused = dragoman_("model", "shortlist", str(unstated), *text)
    assert "has several target languages" in refused.err
    extend_folder(unstated, [], ["pl"], tmp_path / "extended", pieces=0)
    assert read_config(tmp_path / "extended").directions == ()
    with pytest.raises(ConfigError, match="cannot be averaged"):
        average_folders([many, unstated], tmp_path / "mean")


@pytest.mark.thorough
def test_a_rival_of_several_is_told_the_languages(
    many: Path, data: Path, tmp_path: Path, dragoman_: Callable[..., Ended], caplog: pytest.LogCaptureFixture
) -> None:
    one = tmp_path / "one"
    train(PAIRS, output=one, preset="tiny", overrides=TINY, source_language="en", target_language="de")
    text = [str(data / f"valid.{code}") for code in ("en", "de")]
    assert dragoman_("evaluate", str(one), *text, "--against", str(many)).code == 0
    assert "choose one" not in caplog.text
    example = tmp_path / "one.jsonl"
    example.write_text('{"source": "A dog.", "right": "Ein Hund.", "wrong": ["Eine Katze."]}\n')
    open_ = dragoman_("evaluate", str(many), "--contrast", str(example))
    assert "name both, --from and --to" in open_.err
    assert (
        dragoman_("evaluate", str(many), "--contrast", str(example), "--from", "en", "--to", "de").code == 0
    )


@pytest.mark.thorough
def test_pairs_are_scored_in_their_languages(
    many: Path, data: Path, tmp_path: Path, dragoman_: Callable[..., Ended]
) -> None:
    text = [str(data / f"valid.{code}") for code in ("de", "en")]
    scores = tmp_path / "pairs.scores"
    words = ["data", "clean", *text, "-o", str(tmp_path / "clean.de-en.tsv"), "--scores", str(scores)]
    words += ["--score", str(many), "--reverse", str(many), "--keep", "1"]
    assert dragoman_(*words).code == 0
    found = [line.split("\t") for line in scores.read_text(encoding="utf-8").splitlines()[1:]]
    translator, (english, german) = Translator.load(many), zip(*VALID, strict=True)
    there = translator.score(german, english, source="de", to="en")
    back = translator.score(english, german, source="en", to="de")
    for row, one, other in zip(found, there, back, strict=True):
        if row[0] != "-":
            entropies = [-sum(each.token_logp) / len(each.token_logp) for each in (one, other)]
            assert [float(value) for value in row[1:3]] == pytest.approx(entropies, abs=1e-4)
    for side, name in ((0, "one.txt"), (1, "other.txt")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in VALID), encoding="utf-8")
    words[2:4] = [str(tmp_path / "one.txt"), str(tmp_path / "other.txt")]
    assert "do not say which languages" in dragoman_(*words).err


def test_the_risk_is_that_of_the_language_as_the_model_writes_it(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(many, tmp_path / "model")
    (folder / "risk.json").unlink(missing_ok=True)
    asked: list[Any] = []

    def examples_of(translator: Any, pairs: Any, decoding: Any, **options: Any) -> Any:
        asked.append(decoding.to)
        raise DataError("enough")

    monkeypatch.setattr(risk_of_folder, "examples_of", examples_of)
    pairs = [(f"{source} {n}", target) for n, (source, target) in enumerate(PAIRS * 3)]
    with pytest.raises(DataError, match="enough"):
        risk_of_folder.calibrate_folder(folder, pairs, source="eng", to="deu")
    assert asked == ["de"]


def test_a_reverse_model_of_several_needs_both_languages(many: Path) -> None:
    both = Translator.load(many).using(reverse=Translator.load(many))
    with pytest.raises(ConfigError, match="the reverse model has several"):
        both.translate(["Ein Hund."], to="en")
    assert both.translate(["Ein Hund."], source="de", to="en")


def test_the_sentences_of_a_line_are_in_one_language(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those with placeholders, and the parts that these are cut into."""
    asked: list[str] = []

    def likeliest(line: str, among: Any) -> str:
        asked.append(line)
        return "de"

    save(replace(load(many), directions=(("en", "de"), ("de", "en"))), tmp_path / "two")
    monkeypatch.setattr(lines, "likeliest", likeliest)
    line = "Ein Hund. Hand in Hand. Ein {name} Haus."
    assert Translator.load(tmp_path / "two")(line) == Translator.load(many)(line, source="de", to="en")
    assert {*asked} == {line}


def test_terms_are_for_the_languages_of_the_translation(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("en,de,cs\ndog,Töle,pes\n", encoding="utf-8")
    translator = Translator.load(many)
    with pytest.raises(ConfigError, match="the model has several languages, and a list needs a pair"):
        translator.using(terms=path)
    for to, word in (("de", "Töle"), ("cs", "pes")):
        told = translator.using(terms=TermList.read(path, "en", to))
        assert word.lower() in told("A dog.", source="en", to=to).lower()


def test_commands_take_the_languages_of_the_translation(
    many: Path, data: Path, tmp_path: Path, dragoman_: Callable[..., Ended]
) -> None:
    """In both directions, with a list of terms and a memory that have all languages."""
    (tmp_path / "terms.csv").write_text("en,de,cs\ndog,Hund,pes\n", encoding="utf-8")
    units = "".join(
        f'<tu><tuv xml:lang="{code}"><seg>{text}</seg></tuv><tuv xml:lang="cs"><seg>Pes.</seg></tuv></tu>'
        for code, text in (("en", "A dog."), ("de", "Ein Hund."))
    )
    memory = tmp_path / "memory.tmx"
    memory.write_text(
        f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>', encoding="utf-8"
    )
    (tmp_path / "line.txt").write_text("A dog.\n", encoding="utf-8")
    for word, given in (("terms", tmp_path / "terms.csv"), ("memory", memory)):
        to = "cs" if word == "memory" else "de"
        words = ["translate", str(many), str(tmp_path / "line.txt"), f"--{word}", str(given)]
        assert dragoman_(*words, "--from", "en", "--to", to).code == 0
    words = ["bulk", str(many), str(tmp_path / "line.txt"), "-o", str(tmp_path / "line.cs")]
    words += ["--terms", str(tmp_path / "terms.csv"), "--from", "en", "--to", "cs"]
    assert dragoman_(*words).code == 0
    text = [str(data / f"valid.{code}") for code in ("de", "en")]
    assert dragoman_("align", str(many), *text).code == 0
    page = tmp_path / "page.html"
    assert dragoman_("evaluate", str(many), *text, "--page", str(page)).code == 0
    inspecting = re.search(r"dragoman (inspect [^\"]+)", page.read_text(encoding="utf-8"))
    assert inspecting is not None
    assert dragoman_(*shlex.split(inspecting[1]), "Ein Hund.").code == 0
    _, _, decoding = model_and_pairs(many, text, Decoding(), None)  # as align and risk do
    assert (decoding.source, decoding.to) == ("de", "en")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model", "shortlist", "MANY", "train.en", "train.de"], "has several target languages"),
        (["translate", "MANY", "page.html", "-o", "out.html"], "page.html: the target language is open"),
        (["translate", "MANY", "valid.en", "--from", "", "--to", "de"], "source = ''"),
        (["evaluate", "MANY", "--recipe", "recipe.toml", "--data", ".", "--to", "de"], "--to with a recipe"),
        (
            ["evaluate", "MANY", "--recipe", "recipe.toml", "--data", ".", "--lowercase"],
            "--lowercase with a recipe",
        ),
        (["evaluate", "MANY", "--contrast", "x.jsonl", "--bootstrap", "9"], "--bootstrap with --contrast"),
    ],
)
def test_what_has_no_one_language_is_refused(
    many: Path, data: Path, dragoman_: Callable[..., Ended], monkeypatch: Any, words: list[str], message: str
) -> None:
    monkeypatch.chdir(data)
    (data / "page.html").write_text("<p>The dog sleeps.</p>", encoding="utf-8")
    ended = dragoman_(*(str(many) if word == "MANY" else word for word in words))
    assert ended.code == 2
    assert message in ended.err
    assert "hint: " in ended.err


def test_a_text_in_no_language_is_refused(data: Path, tmp_path: Path) -> None:
    recipe = RECIPE.replace('name = "code"', 'name = "code"\ntarget_language = "Czech text"')
    (data / "wrong.toml").write_text(recipe, encoding="utf-8")
    with pytest.raises(ConfigError, match="code: the names do not say which languages"):
        run(data, tmp_path / "run", recipe=data / "wrong.toml")
