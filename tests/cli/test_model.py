"""`dragoman model`, as a user meets it: words in, exit code, standard output and standard error out."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.program import program
from tests.translation.folder.models import edit, saved

from dragoman.cli.outcome import run
from dragoman.training.checkpoints.progress import Candidate, Progress

COMMANDS = ("info", "verify", "average", "merge", "diff", "quantize", "shortlist", "extend")
SAVED = Path(__file__).parents[1] / "saved" / "0.1"


@pytest.fixture
def model_(dragoman_):
    """Runs `dragoman model`."""
    return partial(dragoman_, "model")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return saved(tmp_path / "a", 1), saved(tmp_path / "b", 2)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(model_, command):
    code, out, _ = model_(command, "--help")

    assert code == 0
    assert any(line.strip().startswith(f"dragoman model {command} runs/") for line in out.splitlines())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder_is_an_error(model_, tmp_path, command):
    output = ["-o", tmp_path / "x"]
    words = {"average": output, "quantize": output, "shortlist": ["a.en", "a.de"], "merge": ["x", *output]}
    words["extend"] = ["--language", "cs", "--pieces", "0", *output]
    more = [SAVED / "transformer"] if command in ("average", "diff") else []

    code, out, err = model_(command, tmp_path / "nowhere", *more, *words.get(command, []))

    assert (code, out) == (4, "")
    assert "nowhere: no such model folder\nhint: " in err


def test_info(model_, folders):
    code, out, err = model_("info", folders[0])
    table = json.loads(model_("info", folders[0], "--json")[1])

    assert (code, err) == (0, "")
    assert out.startswith(f"{folders[0]}: translates from en to yo\n")
    assert f"{table['parameters']:,}" in out
    assert table["weights"]["digest"] in out


def test_info_of_an_unfinished_training(model_):
    code, out, err = model_("info", SAVED / "half-done")

    assert (code, out) == (4, "")
    assert "hint: training has not finished here: repeat its command" in err


def test_verify_exits_with_4_and_lists_all_faults(model_, folders):
    path = folders[0] / "model.safetensors"
    assert model_("verify", folders[0])[0] == 0
    weights = load_file(path)
    name = sorted(weights)[0]
    weights[name].view(-1)[0] = torch.nan
    save_file(weights, path)
    edit(folders[0] / "generation.json", lambda table: table.update(size=0))

    code, out, err = model_("verify", folders[0])
    table = json.loads(model_("verify", folders[0], "--json")[1])

    assert (code, err) == (4, "")
    lines = [line.split() for line in out.splitlines()]
    assert [line[1] for line in lines if line[0] == "fault"] == ["generation.json", "digest", "values"]
    assert name in out
    assert table["ok"] is False
    assert len(table["checks"]) == len(lines)


def test_quantize_writes_a_folder_that_every_command_reads(model_, folders, tmp_path):
    output = tmp_path / "int8"

    code, out, err = model_("quantize", folders[0], "-o", output)

    before, after = ((folder / "model.safetensors").stat().st_size for folder in (folders[0], output))
    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {output}: weights of {after:,} bytes, ")
    assert f" of {before:,} bytes" in err
    assert model_("verify", output)[0] == 0
    assert "quantised       int8" in model_("info", output)[1]
    assert json.loads(model_("info", output, "--json")[1])["weights"]["quantised"] == "int8"
    assert "float32 -> int8" in model_("diff", folders[0], output)[1]
    assert model_("average", output, folders[0], "-o", tmp_path / "mean")[0] == 0
    assert model_("diff", output, output)[0] == 0


def test_quantize_refuses_an_old_folder_a_quantised_model_and_another_architecture(model_, folders, tmp_path):
    output = tmp_path / "int8"
    assert model_("quantize", folders[0], "-o", output, "-q") == (0, "", "")

    assert "exists already" in model_("quantize", folders[1], "-o", output)[2]
    code, _, err = model_("quantize", output, "-o", tmp_path / "x")
    assert (code, "quantised already" in err) == (2, True)
    code, _, err = model_("quantize", SAVED / "recurrent", "-o", tmp_path / "x")
    assert (code, "recurrent models cannot be quantised" in err) == (2, True)
    assert not (tmp_path / "x").exists()


def test_diff_exits_with_1_if_they_differ(model_, folders):
    code, out, err = model_("diff", *folders)

    assert (code, err) == (1, "")
    assert "weights: " in out
    assert "decoder.0.feed_forward.inner.weight" in out
    assert json.loads(model_("diff", *folders, "--json")[1])["equal"] is False


def test_diff_exits_with_0_if_they_are_equal(model_, folders, tmp_path):
    copy = shutil.copytree(folders[0], tmp_path / "copy")
    (copy / "README.md").write_text("other")

    code, out, _ = model_("diff", folders[0], copy)

    assert code == 0
    assert out.startswith("equal: ")


def test_diff_of_a_search(model_, folders, tmp_path):
    copy = shutil.copytree(folders[0], tmp_path / "copy")
    edit(copy / "generation.json", lambda table: table.update(size=5))

    code, out, _ = model_("diff", folders[0], copy)

    assert (code, out.splitlines()[0]) == (1, "search: size: 7 -> 5")


def test_average(model_, folders, tmp_path):
    code, out, err = model_("average", *folders, "-o", tmp_path / "mean")

    assert (code, out, err) == (0, "", f"wrote {tmp_path / 'mean'}\n")
    assert model_("verify", tmp_path / "mean")[0] == 0
    again = model_("average", *folders, "-o", tmp_path / "mean")
    assert again[0] == 2
    assert "exists already" in again[2]
    assert model_("average", folders[0], "-o", tmp_path / "x")[0] == 2
    other = saved(tmp_path / "c", 3, d_ff=16)
    refused = model_("average", folders[0], other, "-o", tmp_path / "x")
    assert refused[0] == 2
    assert "model.d_ff: 12 -> 16" in refused[2]
    assert not (tmp_path / "x").exists()


def test_shortlist(model_, folders, tmp_path):
    source, target = tmp_path / "train.en", tmp_path / "train.yo"
    source.write_text("the moon is pale\nold stones\n", encoding="utf-8")
    target.write_text("pale the moon is\nstones old\n", encoding="utf-8")
    code, out, err = model_("shortlist", folders[0], source, target, "--frequent", "1", "--candidates", "2")

    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {folders[0] / 'shortlist.safetensors'}: from 2 pairs; on average")
    assert err.endswith("of 10 target tokens\n")
    assert model_("verify", folders[0])[0] == 0
    translated = run(program(), ["translate", str(folders[0]), str(source), "--shortlist"])
    assert translated == 0
    assert model_("shortlist", folders[1], source, target, "-q") == (0, "", "")


def test_extend(model_, tmp_path):
    old, text, new = SAVED / "transformer", tmp_path / "news.bg.gz", tmp_path / "new"
    text.write_bytes(gzip.compress("Пекарят продава хляб, пекарят отваря.\n".encode() * 9))
    code, out, err = model_("extend", old, text, "--language", "bg", "--language", "en", "-o", new)

    assert (code, out) == (0, "")
    assert re.fullmatch(rf"wrote {new}: \d+ pieces and marks of de, bg, en\n", err)
    assert model_("verify", new)[0] == 0
    table = json.loads(model_("info", new, "--json")[1])
    assert table["tokenizer"]["target_languages"] == ["de", "bg", "en"]
    refused = {
        (text, "--language", "bg", "-o", new): "exists already",
        ("--language", "bg", "-o", tmp_path / "x"): "no text to learn pieces from",
        (text, "--language", "de", "-o", tmp_path / "x"): "--language de: the model has it already",
        (text, "--language", "?", "-o", tmp_path / "x"): "--language ?: not the code of a language",
        (text, "-o", tmp_path / "x"): "--language",
        (text, "--language", "bg", "--pieces", "-1", "-o", tmp_path / "x"): "--pieces",
    }
    for words, message in refused.items():
        code, _, err = model_("extend", old, *words)
        assert code == 2
        assert message in err
    assert "no such file" in model_("extend", old, "nothing", "--language", "bg", "-o", tmp_path / "x").err
    assert not (tmp_path / "x").exists()


def test_average_of_checkpoints(model_, tmp_path, monkeypatch):
    """The files of three updates, of which validation says that the first two are better."""
    run = saved(tmp_path / "run", 1)
    latest = run / "checkpoints" / "latest"
    latest.mkdir(parents=True)
    history = [Candidate(step=10 * n, score=-n, loss=float(n), bleu=float(n % 3)) for n in (1, 2, 3, 4)]
    (latest / "progress.json").write_text(Progress(step=40, history=history).to_json())
    for step in (10, 20, 30):  # the file of update 40 is lost
        weights = saved(tmp_path / f"seed {step}", step) / "model.safetensors"
        shutil.copy(weights, run / "checkpoints" / f"step-{step:07}.safetensors")

    wanted = {
        ("--last", "2"): (20, 30),
        ("--best", "2"): (10, 20),
        ("--best", "2", "--by", "loss"): (10, 20),
        ("--best", "2", "--by", "bleu"): (20, 10),
        ("--last", "3"): (10, 20, 30),
    }
    for number, (words, steps) in enumerate(wanted.items()):
        code, out, err = model_("average", run, *words, "-o", tmp_path / f"{number}")
        assert (code, out) == (0, "")
        assert f"the average of {', '.join(f'{run}@{step}' for step in steps)}\n" in err
        files = [load_file(tmp_path / f"seed {step}" / "model.safetensors") for step in steps]
        for name, weight in load_file(tmp_path / f"{number}" / "model.safetensors").items():
            mean = sum(file[name].double() for file in files) / len(files)
            assert torch.equal(weight, mean.float())

    shutil.copytree(saved(tmp_path / "other", 7), tmp_path / "run@20")  # a folder of the name of a checkpoint
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link").symlink_to(run)
    monkeypatch.chdir(run)
    for number, named in enumerate((run, tmp_path / "sub" / "link", ".")):
        assert model_("average", named, "--last", "2", "-o", tmp_path / f"named {number}")[0] == 0
        assert (tmp_path / f"named {number}" / "model.safetensors").read_bytes() == (
            tmp_path / "0" / "model.safetensors"
        ).read_bytes()

    refused = {
        ("--last", "4"): "4 checkpoints wanted, but it has 3 checkpoints",
        ("--best", "2", "--by", "chrf"): "it has 3 checkpoints, 0 with chrf",
        ("--by", "bleu"): "--by without --best",
        ("--last", "2", "--best", "2"): "one of both",
        ("--last", "1"): "--last",
    }
    for words, message in refused.items():
        code, _, err = model_("average", run, *words, "-o", tmp_path / "x")
        assert code == 2
        assert message in err
    assert "no such checkpoint" in model_("average", run, f"{run}@40", "-o", tmp_path / "x").err
    shutil.rmtree(latest)  # which has the scores
    assert "0 with a score" in model_("average", run, "--best", "2", "-o", tmp_path / "x").err


def test_a_checkpoint_is_read_as_a_model(model_, folders, tmp_path):
    run_, weights = folders[0], folders[0] / "checkpoints" / "step-0000002.safetensors"
    weights.parent.mkdir()
    shutil.copy(folders[1] / "model.safetensors", weights)
    name = f"{run_}@2"

    code, out, _ = model_("info", name)
    assert code == 0
    assert out.startswith(f"{name}: translates from en to yo\n")
    assert model_("diff", name, weights)[0] == 0
    assert model_("diff", name, run_)[0] == 1
    assert model_("quantize", name, "-o", tmp_path / "q")[0] == 0
    assert not any(path.is_symlink() for path in (tmp_path / "q").iterdir())
    assert f"| from | {name}, " in (tmp_path / "q" / "README.md").read_text(encoding="utf-8")
    for words in (["verify", name], ["calibrate", name, "a.en", "a.de"], ["shortlist", name, "a.en", "a.de"]):
        code, _, err = model_(*words)
        assert (code, f"{name}: no such model folder" in err) == (4, True)
