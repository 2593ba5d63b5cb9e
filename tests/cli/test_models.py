"""Several models on the command line: which names are models, and what they give together."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from tests.translation.bundles import PAIRS, bundle_of
from tests.translation.test_ensemble import another

from dragoman import Translator
from dragoman.cli.models import models_and_text
from dragoman.cli.train.distil import teachers_and_text
from dragoman.cli.writing import made_from, made_of
from dragoman.models.folder.bundle import save
from dragoman.training.data.chunk import digests_of
from dragoman.translation.folder.checkpoint import _FOLDERS
from dragoman.translation.folder.config import WEIGHTS


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models with one vocabulary, one with another, and text."""
    place = tmp_path_factory.mktemp("models")
    bundle = bundle_of("bpe")
    for number, one in enumerate((bundle, another(bundle), another(bundle, 8)), 1):
        save(one, place / str(number))
    save(bundle_of("unigram"), place / "other")
    for side, name in enumerate(("in.en", "in.de")):
        (place / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    return place


def test_evaluate_and_calibrate_warn_of_pairs_that_were_training_pairs(
    dragoman_, place: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(place / "1", tmp_path / "run"))
    learnt = model / "checkpoints" / "corpus" / "train"
    learnt.mkdir(parents=True)
    (learnt / "seen").write_bytes(digests_of(PAIRS[:3]).tobytes())
    (model / "checkpoints" / "step-0000007.safetensors").write_bytes((model / WEIGHTS).read_bytes())
    expected = sum(pair in PAIRS[:3] for pair in PAIRS)
    text, said = (
        [place / "in.en", place / "in.de"],
        f"{expected} of {len(PAIRS)} test pairs are also in the training",
    )

    for name in (model, f"{model}@7"):
        ended = dragoman_("evaluate", name, *text, "--bootstrap", "0", "--json")
        assert ended.code == 0
        assert f"warning: {name}: {said}" in ended.err
        (warned,) = json.loads(ended.out)["warnings"]
        assert said in warned
    ended = dragoman_("evaluate", place / "1", *text, "--bootstrap", "9", "--against", f"{model}@7")
    assert f"warning: {model}@7: {said}" in ended.err
    assert f"{expected} of {len(PAIRS)} held-out pairs" in dragoman_("model", "calibrate", model, *text).err
    clean = dragoman_("evaluate", place / "1", *text, "--bootstrap", "0", "--json")
    assert "training text" not in clean.err
    assert "warnings" not in json.loads(clean.out)


def test_checkpoints_join_the_model_too(place: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(place / "1", tmp_path / "run"))
    assert models_and_text(model, [f"{model}@5", "in.en"]) == ([model, Path(f"{model}@5")], ["in.en"])


def test_model_folders_after_the_model_join_it(place: Path) -> None:
    one, two, text = place / "1", str(place / "2"), str(place / "in.en")
    assert models_and_text(one, None) == ([one], [])
    assert models_and_text(one, [two, text]) == ([one, Path(two)], [text])
    assert models_and_text(one, [text, two]) == ([one], [text, two])
    assert models_and_text(one, [str(place)]) == ([one], [str(place)])  # a folder of documents


@pytest.mark.parametrize("options", [[], ["--average", "probabilities"], ["--dtype", "bfloat16"]])
def test_translate_with_several(dragoman_, place: Path, options: list[str]) -> None:
    models = [place / "1", place / "2", place / "3"]
    ended = dragoman_("translate", *models, place / "in.en", *options)
    assert ended.code == 0
    average = "probabilities" if "probabilities" in options else "log-probabilities"
    dtype = "bfloat16" if "bfloat16" in options else None
    loaded = [Translator.load(model, dtype=dtype) for model in models]
    together = Translator.ensemble(loaded, average=average)
    lines = [source for source, _ in PAIRS]
    assert ended.out.split("\n")[:-1] == [one.text for one in together.translate(lines)]
    alone = dragoman_("translate", models[0], place / "in.en")
    assert alone.out != ended.out


def test_unfinished_work_of_other_models_is_not_gone_on_with(place: Path) -> None:
    given = dict.fromkeys(("adapter", "memory", "prefix_file", "reverse", "terms"))
    one, two = ([place / "1", place / name] for name in ("2", "3"))
    text = [str(place / "in.en")]
    about = partial(made_from, given, text=text, files=("adapter", "terms"), apart=("model", "quiet"))
    assert about(one) == about(one)
    assert about(one) != about(two)
    assert about(one) != about(one[:1])


def test_evaluate_several(dragoman_, place: Path) -> None:
    text = place / "in.en", place / "in.de"
    ended = dragoman_("evaluate", place / "1", place / "2", *text, "--against", place / "1", "--json")
    table = json.loads(ended.out)
    assert table["models"] == [str(place / "1"), str(place / "2")]
    assert table["sentences"] == len(PAIRS)
    whole = dragoman_("evaluate", place / "1", place / "2", *text)
    assert f"{place / '1'} + {place / '2'}: " in whole.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["translate", "1", "other", "in.en"], "model 2 has another vocabulary"),
        (["translate", "1", "in.en", "--average", "probabilities"], "--average with one model"),
        (["translate", "1", "2", "in.en", "--average", "median"], "--average median"),
        (["translate", "1", "2", "in.en", "--adapter", "x"], "--adapter with several models"),
        (["evaluate", "1", "2", "in.en", "in.de", "--risk"], "--risk with several models"),
    ],
)
def test_what_does_not_fit_is_refused(
    dragoman_, place: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(place)
    ended = dragoman_(*words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_several_translate_a_folder_in_parts(dragoman_, place: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(place / "in.en", tmp_path / "in" / "a.txt")
    models = place / "1", place / "2"
    parts = [tmp_path / "in", "-o", tmp_path / "out", "--part-lines", "2"]
    assert dragoman_("bulk", *models, *parts).code == 0
    assert (tmp_path / "out" / "a.txt").read_text() == dragoman_("translate", *models, place / "in.en").out


def test_a_copy_of_a_model_changes_nothing(dragoman_, place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "1", tmp_path / "copy")
    alone = dragoman_("translate", place / "1", place / "in.en", "--scores")
    assert (
        dragoman_("translate", place / "1", tmp_path / "copy", place / "in.en", "--scores").out == alone.out
    )


@pytest.mark.parametrize("command", ["evaluate", "align", "risk"])
def test_no_output_replaces_a_file_that_a_pattern_names(dragoman_, place: Path, command: str) -> None:
    for name in ("p1.tsv", "p2.tsv"):
        (place / name).write_text("A dog.\tEin Hund.\n")
    ended = dragoman_(command, place / "1", place / "p*.tsv", "-o", place / "p1.tsv")
    assert ended.code == 2
    assert "input and output are the same file" in ended.err
    assert (place / "p1.tsv").read_text() == "A dog.\tEin Hund.\n"


@pytest.mark.parametrize("command", ["align", "risk"])
def test_alignments_and_risks_do_not_replace_a_file_of_the_model(
    dragoman_, place: Path, command: str
) -> None:
    before = (place / "1" / "config.json").read_bytes()
    ended = dragoman_(
        command, place / "1", place / "in.en", place / "in.de", "-o", place / "1" / "config.json"
    )
    assert ended.code == 2
    assert (place / "1" / "config.json").read_bytes() == before


@pytest.mark.parametrize("name", ["1/config.json", "2/model.safetensors"])
def test_no_output_replaces_a_file_of_a_model(dragoman_, place: Path, name: str) -> None:
    before = (place / name).read_bytes()
    for words in (["translate", place / "1", place / "2"], ["evaluate", place / "1", place / "2"]):
        text = [place / "in.en", place / "in.de"][: 1 if words[0] == "translate" else 2]
        ended = dragoman_(*words, *text, "-o", place / name)
        assert ended.code == 2
        assert "input and output are the same file" in ended.err
    assert (place / name).read_bytes() == before


def test_lines_are_not_written_to_a_compressed_name(dragoman_, place: Path, tmp_path: Path) -> None:
    for suffix in (".gz", ".zst"):
        ended = dragoman_("translate", place / "1", place / "in.en", "-o", tmp_path / f"out{suffix}")
        assert ended.code == 2
        assert "dragoman bulk" in ended.err
        assert not (tmp_path / f"out{suffix}").exists()


@pytest.fixture
def run(place: Path, tmp_path: Path) -> Path:
    """A run with the weights of update 7."""
    folder = Path(shutil.copytree(place / "1", tmp_path / "run"))
    (folder / "checkpoints").mkdir()
    shutil.copy(place / "2" / WEIGHTS, folder / "checkpoints" / "step-0000007.safetensors")
    return folder


def test_commands_take_a_checkpoint_wherever_they_take_a_model(
    dragoman_, place: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    line = PAIRS[0][0]
    ended = dragoman_("inspect", "run", line, "--compare", "run@7")
    assert ended.code == 0, ended.err
    assert "run@7" not in ended.out.split("\n")[0]
    assert ended.out != dragoman_("inspect", "run", line, "--compare", "run").out
    for name, said in (
        ("run@7", "the reverse model translates from en"),
        ("run@8", "has no such checkpoint"),
    ):
        assert said in dragoman_("translate", "run", place / "in.en", "--reverse", name).err
    assert dragoman_("bulk", "run@7", place / "in.en", "-o", "bulk.de").code == 0
    assert Path("bulk.de").read_bytes() == dragoman_("translate", "run@7", place / "in.en").out.encode()
    assert teachers_and_text(["run", "run@7", "in.en", "in.de"]) == (["run", "run@7"], ["in.en", "in.de"])


def test_the_record_of_a_translation_has_the_weights_of_a_checkpoint(run: Path) -> None:
    def digest() -> str:
        found = made_of(text=[], models=[f"{run}@7"], files={"reverse": f"{run}@7"}, options={})
        assert found["model"] == found["--reverse"]
        return found["model"]

    before = digest()
    assert digest() == before
    _FOLDERS.popitem()[1].cleanup()  # as in another process
    assert digest() == before
    weights = run / "checkpoints" / "step-0000007.safetensors"
    shutil.copy(run / WEIGHTS, weights)
    assert digest() != before


def test_no_output_replaces_a_checkpoint_or_a_file_of_the_model_inspected(
    dragoman_, place: Path, run: Path
) -> None:
    weights = run / "checkpoints" / "step-0000007.safetensors"
    before = weights.read_bytes()
    ended = dragoman_("translate", f"{run}@7", place / "in.en", "-o", weights)
    assert (ended.code, "input and output are the same file" in ended.err) == (2, True)
    assert weights.read_bytes() == before
    ended = dragoman_("inspect", run, PAIRS[0][0], "-o", run / "config.json", "--format", "json")
    assert (ended.code, "input and output are the same file" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recipe", "none.toml"], "--recipe or --data with text"),
        (["--test", "ar"], "--test without --against"),
        (["--comet-python", "x"], "--comet-python without --comet"),
        (["--bootstrap", "-1"], "bootstrap = -1 cannot be used"),
        (
            ["--bootstrap", "0", "--dtype", "float32,bfloat16"],
            "--bootstrap 0: comparing systems needs resamples",
        ),
    ],
    ids=str,
)
def test_options_of_evaluate_are_checked_before_translating(
    dragoman_, place: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    output = tmp_path / "out.de"
    ended = dragoman_("evaluate", place / "1", place / "in.en", place / "in.de", "-o", output, *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert not output.exists()


def test_quiet_commands_give_no_warnings(dragoman_, run: Path, place: Path) -> None:
    learnt = run / "checkpoints" / "corpus" / "train"
    learnt.mkdir(parents=True)
    (learnt / "seen").write_bytes(digests_of(PAIRS[:3]).tobytes())
    words = ("evaluate", run, place / "in.en", place / "in.de", "--bootstrap", "0")
    assert "warning: " in dragoman_(*words).err
    assert dragoman_(*words, "--quiet").err == ""
    assert dragoman_(*words, "-qo", run.parent / "x.de").err == ""
    assert "warning: " in dragoman_(*words).err
