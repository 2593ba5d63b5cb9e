"""The command line, as a user meets it: words in, exit code, standard output and standard error out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.program import Ended, program

import dragoman
from dragoman.base.errors import TrainingError
from dragoman.cli import display
from dragoman.cli.display import Silent
from dragoman.cli.outcome import run
from dragoman.cli.train.train import sort_words, spread_files
from dragoman.models.folder.weights import read_weights
from dragoman.text import toy
from dragoman.training.trainer import Trainer
from dragoman.translation.native.build import unavailable
from dragoman.translation.translator import Translator

COMMANDS = ["demo", "train", "translate", "evaluate", "align", "score", "config", "doctor", "model"]
SMALL = [
    "--preset=tiny", "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=400", "max_updates=30", "validate_every=10", "warmup=10",
                                "log_every=5", "average=2")),
]  # fmt: skip


@pytest.fixture(scope="session")
def text(tmp_path_factory) -> Path:
    """train, valid and test, each as .en and .de."""
    folder = tmp_path_factory.mktemp("text")
    pairs = toy.pairs(seed=5, count=160)
    for name, part in (("train", pairs[:120]), ("valid", pairs[120:130]), ("test", pairs[130:])):
        for place, side in enumerate(("en", "de")):
            (folder / f"{name}.{side}").write_text("".join(f"{p[place]}\n" for p in part), encoding="utf-8")
    return folder


def training(text: Path, output: Path, *more: str) -> list[str]:
    files = [str(text / name) for name in ("train.en", "train.de")]
    valid = [str(text / name) for name in ("valid.en", "valid.de")]
    return ["train", *files, "--valid", *valid, "-o", str(output), *SMALL, *more]


@pytest.fixture(scope="session")
def model(text, tmp_path_factory) -> Path:
    """A model, trained without a stop. It has learnt little: what is tested does not depend on it."""
    output = tmp_path_factory.mktemp("models") / "en-de"
    assert run(program(), [*training(text, output), "-q"]) == 0
    return output


# ---- the whole path ---------------------------------------------------------------------------------


def test_from_raw_text_to_a_score(dragoman_, text, tmp_path):
    output, made = tmp_path / "runs" / "x", tmp_path / "made.de"

    trained = dragoman_(*training(text, output))
    assert (trained.code, trained.out) == (0, "")
    assert "update 30" in trained.err
    assert "validation at 30" in trained.err
    assert f"{output} is not a model to translate with" in trained.err  # 120 pairs
    names = {path.name for path in output.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "generation.json", "training.toml"}
    assert names >= {"metrics.jsonl", "README.md", "checkpoints"}

    translated = dragoman_("translate", output, text / "test.en", "--plain", "-o", made)
    assert (translated.code, translated.out) == (0, "")
    assert made.read_text(encoding="utf-8").count("\n") == 30

    evaluated = dragoman_("evaluate", output, text / "test.en", text / "test.de", "--json")
    scored = dragoman_("score", made, text / "test.de", "--json")
    assert (evaluated.code, scored.code) == (0, 0)
    assert json.loads(evaluated.out)["cased"] == json.loads(scored.out)["cased"]
    assert json.loads(evaluated.out)["sentences"] == 30


@pytest.mark.thorough
def test_several_seeds_end_with_a_table(dragoman_, text, tmp_path):
    words = [
        *training(text, tmp_path / "x", "training.max_updates=4", "training.validate_every=2"),
        "--seeds=2",
    ]

    ended = dragoman_(*words)
    assert ended.code == 0
    head, first, second, mean, *_ = ended.out.splitlines()
    assert head.split("  ")[0] == "seed"
    assert "test BLEU" not in head  # the command names no test text
    assert (first.split()[0], second.split()[0]) == ("1", "2")
    table = json.loads((tmp_path / "x" / "seeds.json").read_text("utf-8"))
    losses = [run["validation_loss"] for run in table["runs"]]
    assert f"{table['spread']['validation_loss']['mean']:.4f} ± " in mean
    assert sum(losses) / 2 == pytest.approx(table["spread"]["validation_loss"]["mean"])
    assert f"see {tmp_path / 'x' / 'seeds.json'}" in ended.err

    again = dragoman_(*words)
    assert again.out == ended.out
    assert again.err.count("nothing to do") == 2
    alone = dragoman_(*words[:-1])
    assert alone.code == 2
    assert "holds runs of --seeds" in alone.err


@pytest.mark.thorough
def test_tuning_may_have_several_seeds(dragoman_, text, model, tmp_path):
    files = [text / name for name in ("test.en", "test.de")]
    valid = ["--valid", text / "valid.en", text / "valid.de"]
    options = ["training.max_updates=2", "training.validate_every=2", "training.warmup=1", "tuning.alike=1"]

    ended = dragoman_(
        "train", "--from", model, *files, *valid, "-o", tmp_path / "x", "--seeds", "2", *options
    )

    assert ended.code == 0, ended.err
    table = json.loads((tmp_path / "x" / "seeds.json").read_text("utf-8"))
    assert [run["folder"] for run in table["runs"]] == ["seed-1", "seed-2"]
    for entry in table["runs"]:
        rows = (tmp_path / "x" / entry["folder"] / "metrics.jsonl").read_text("utf-8").splitlines()
        (compared,) = [row for row in map(json.loads, rows) if row.get("text") == "in domain"]
        # That of the mean with the base, which is the final model.
        assert entry["validation_bleu"] == compared["systems"]["after"]["bleu"]["value"]
        assert entry["validation_loss"] is not None


def test_repeating_a_finished_command_does_nothing(dragoman_, text, model):
    before = (model / "model.safetensors").stat().st_mtime_ns

    again = dragoman_(*training(text, model))

    assert again.code == 0
    assert "nothing to do" in again.err
    assert (model / "model.safetensors").stat().st_mtime_ns == before


def test_other_options_are_refused_and_the_difference_shown(dragoman_, text, model):
    before = (model / "training.toml").read_bytes()

    refused = dragoman_(*training(text, model, "model.heads=4", "training.max_updates=31"))

    assert refused.code == 2
    assert "model.heads: 2 -> 4" in refused.err
    assert "max_updates" not in refused.err
    assert "hint: repeat the options it began with" in refused.err
    assert (model / "training.toml").read_bytes() == before


def test_text_that_was_wrong_may_be_put_right_with_other_options(dragoman_, text, tmp_path):
    (tmp_path / "bad.de").write_bytes((text / "train.de").read_bytes().replace(b"\n", b"\n\xff", 1))
    words = training(text, tmp_path / "x")
    bad = [*words[:2], str(tmp_path / "bad.de"), *words[3:]]
    assert dragoman_(*bad).code == 3

    assert dragoman_(*words, "tokenizer.vocab_size=420", "training.max_updates=1").code == 0


# ---- signals ----------------------------------------------------------------------------------------


class Interrupting(Silent):
    """Sends this process a signal at a step: for it, Ctrl-C at a known moment."""

    def __init__(self, step: int, number: int, times: int = 1) -> None:
        super().__init__()
        self.step, self.number, self.times = step, number, times
        self.said: list[str] = []

    def on_report(self, event):
        if event.step == self.step:
            for _ in range(self.times):
                os.kill(os.getpid(), self.number)

    def on_message(self, text):
        self.said.append(text)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_same_command_ends_as_if_nothing_had_been(
    dragoman_, text, model, tmp_path, monkeypatch, number
):
    words = training(text, tmp_path / "x")
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    shown = Interrupting(15, number)
    monkeypatch.setattr(display, "observer_for", lambda **_: shown)

    stopped = dragoman_(*words)

    assert stopped.code == 128 + number
    assert "stopped at update 15" in stopped.err
    assert "hint: repeat the command" in stopped.err
    assert any("without saving" in said for said in shown.said)
    assert not (tmp_path / "x" / "model.safetensors").exists()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    unfinished = dragoman_("translate", tmp_path / "x")
    assert unfinished.code == 4
    assert "repeat its command" in unfinished.err

    monkeypatch.undo()
    assert dragoman_(*words).code == 0
    resumed, whole = (read_weights(f / "model.safetensors") for f in (tmp_path / "x", model))
    assert resumed.keys() == whole.keys()
    assert all(resumed[name].equal(whole[name]) for name in whole)


def test_a_second_signal_ends_at_once(dragoman_, text, tmp_path, monkeypatch):
    monkeypatch.setattr(display, "observer_for", lambda **_: Interrupting(15, signal.SIGINT, times=2))

    stopped = dragoman_(*training(text, tmp_path / "x"))

    assert stopped.code == 130
    assert "stopped at once" in stopped.err
    assert "from the last checkpoint" in stopped.err
    progress = json.loads((tmp_path / "x/checkpoints/latest/progress.json").read_text())
    assert progress["step"] == 10


def test_a_signal_before_training_leaves_what_the_command_can_go_on_with(
    dragoman_, text, tmp_path, monkeypatch
):
    import dragoman.training.runs.text.tokens

    words = training(text, tmp_path / "x", "training.max_updates=1")
    with monkeypatch.context() as patch:
        patch.setattr(
            dragoman.training.runs.text.tokens,
            "tokenise",
            lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM),
        )
        stopped = dragoman_(*words)

    assert stopped.code == 143
    assert "error: stopped\nhint: repeat the command to start again" in stopped.err
    assert "Traceback" not in stopped.err
    assert dragoman_(*words).code == 0


# ---- translate: n lines in, n lines out -------------------------------------------------------------


def test_lines_stay_lines(dragoman_, model):
    stdin = "The dog sleeps.\r\n\n  \r\nHe asks why\u2028it rains.\n\x0bA neighbour\x85.\nLast".encode()

    ended = dragoman_("translate", model, stdin=stdin)

    assert ended.code == 0
    lines = ended.out.split("\n")
    assert len(lines) == 6  # the last has no end, as in the input
    assert [line.endswith("\r") for line in lines] == [True, False, True, False, False, False]
    assert (lines[1], lines[2]) == ("", "\r")
    assert all("\u2028" not in line for line in lines)


def test_files_are_joined_line_by_line(dragoman_, model, tmp_path):
    (tmp_path / "a").write_text("The dog sleeps.")
    (tmp_path / "b").write_text("\nThe cat sleeps.")

    ended = dragoman_("translate", model, tmp_path / "a", tmp_path / "b")

    assert ended.out.count("\n") == 2
    assert ended.out.split("\n")[1] == ""


def test_nothing_in_nothing_out(dragoman_, model):
    assert dragoman_("translate", model, stdin=b"") == Ended(0, "", "")


def test_equal_input_gives_equal_output_in_any_batch(dragoman_, model, text):
    source = (text / "test.en").read_bytes()

    whole = dragoman_("translate", model, text / "test.en", "--max-extra", "5")
    small = dragoman_("translate", model, "-", "--max-extra", "5", "--batch-tokens", "40", stdin=source)

    assert whole.out == small.out


def test_n_best(dragoman_, model):
    ended = dragoman_("translate", model, "--n-best", "3", stdin=b"The dog sleeps.\n\nThe cat sleeps.\n")

    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert [row[2] for row in rows[3:6]] == [""] * 3
    for first in (0, 6):
        scores = [float(row[1]) for row in rows[first : first + 3]]
        assert scores == sorted(scores, reverse=True)


def test_jsonl(dragoman_, model):
    ended = dragoman_("translate", model, "--n-best", "2", "--jsonl", stdin="Größe 你好.\r\n\n42\n".encode())

    first, second, third = (json.loads(line) for line in ended.out.splitlines())
    assert (first["line"], first["source"]) == (1, "Größe 你好.")
    assert len(first["alternatives"]) == 1
    assert len(first["token_logp"]) == len(first["tokens"]) + 1
    assert (second["text"], second["tokens"]) == ("", [])
    assert (third["text"], third["score"], first["score"] < 0) == ("42", None, True)


def test_jsonl_with_attention(dragoman_, model):
    words = ["translate", model, "--jsonl", "--n-best", "2", "--attention"]
    head, layer = (
        [json.loads(line) for line in dragoman_(*words, which, stdin=b"The dog sleeps.\n\n").out.splitlines()]
        for which in ("1.2", "1")
    )

    for one in (head[0], head[0]["alternatives"][0], layer[0]):
        assert len(one["attention"]) == len(one["tokens"]) + 1
        assert all(sum(row) == pytest.approx(1, abs=1e-3) for row in one["attention"])
    assert head[0]["attention"] != layer[0]["attention"]
    assert "attention" not in head[1]


def test_alignment_in_every_output(dragoman_, model):
    lines = b"Anna sees the\tdog.\r\n\nPeter eats."
    plain = dragoman_("translate", model, stdin=lines).out.split("\n")
    aligned = dragoman_("translate", model, "--alignment", stdin=lines).out.split("\n")
    for text, both in zip(plain, aligned, strict=True):
        text, links = text.removesuffix("\r"), both.removesuffix("\r").rsplit("\t", 1)[1]
        assert both == f"{text}\t{links}" + "\r" * both.endswith("\r")
        assert all(int(link.split("-")[1]) < len(text.split()) for link in links.split())
    assert (aligned[0][-1], aligned[1]) == ("\r", "\t")

    words = [line.rsplit("\t", 1)[1].strip() for line in aligned]
    jsonl = dragoman_("translate", model, "--alignment", "--jsonl", "--n-best=2", stdin=lines).out
    tables = [json.loads(line) for line in jsonl.splitlines()]
    assert [" ".join(f"{s}-{t}" for s, t in table["alignment"]) for table in tables] == words
    assert all("alignment" in other for table in tables for other in table.get("alternatives", []))
    assert "attention" not in tables[0]

    rows = dragoman_("translate", model, "--alignment", "--n-best=2", stdin=lines).out.splitlines()
    assert [len(row.split("\t")) for row in rows] == [4] * 6
    assert rows[0].split("\t")[3] == words[0]
    scored = dragoman_("translate", model, "--alignment", "--scores", stdin=lines).out.splitlines()
    assert [row.split("\t")[-1] for row in scored] == words


def test_align_gives_a_line_for_each_pair(dragoman_, model, tmp_path, monkeypatch):
    monkeypatch.setattr("dragoman.cli.evaluate.given._TOGETHER", 2)
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("Anna sees the dog.\n\nPeter eats.\n\nThe cat.\n", encoding="utf-8")
    target.write_text("Anna sieht den Hund.\n\nPeter isst.\nEin Hund.\n\n", encoding="utf-8")
    out = tmp_path / "links"
    ended = dragoman_("align", model, source, target)
    assert dragoman_("align", model, source, target, "-o", out).out == ""
    both = "".join(
        f"{one}\t{other}\n"
        for one, other in zip(source.read_text().split("\n"), target.read_text().split("\n"), strict=True)
    )
    piped = dragoman_("align", model, "-", stdin=both.removesuffix("\t\n").encode())

    assert ended.code == 0
    lines = ended.out.split("\n")
    assert [bool(line) for line in lines] == [True, False, True, False, False, False]
    assert {link.split("-")[1] for link in lines[0].split()} == {"0", "1", "2", "3"}
    assert out.read_text() == ended.out == piped.out
    aligned = Translator.load(model).align(["Peter eats."], ["Peter isst."])
    assert lines[2] == aligned[0].pharaoh()
    other = dragoman_("align", model, source, target, "--attention=1.2").out
    assert other != ended.out


def test_align_against_gold(dragoman_, model, text, tmp_path):
    files = [text / "test.en", text / "test.de"]
    links = dragoman_("align", model, *files).out
    (tmp_path / "own.gold").write_text(links)
    ended = dragoman_("align", model, *files, "--gold", tmp_path / "own.gold")
    assert ended.out.split()[:6] == ["AER", "0.0", "precision", "100.0", "recall", "100.0"]
    lines = links.splitlines()
    possible = [lines[0].replace("-", "p"), *lines[1:]]
    (tmp_path / "own.gold").write_text("\n".join(possible) + "\n")
    out = tmp_path / "links"
    as_json = dragoman_("align", model, *files, "--gold", tmp_path / "own.gold", "--json", "-o", out)
    table = json.loads(as_json.out)
    assert (table["aer"], table["lines"]) == (0, 30)
    assert table["sure"] == table["links"] - len(lines[0].split())
    assert out.read_text() == links

    (tmp_path / "own.gold").write_text("0-0\n0=0\n")
    ended = dragoman_("align", model, *files, "--gold", tmp_path / "own.gold")
    assert (ended.code, ended.out) == (3, "")
    assert "own.gold:2: '0=0' is not a link" in ended.err
    (tmp_path / "own.gold").write_text("0-0\n0-0\n")
    assert "only 2 gold alignments" in dragoman_("align", model, *files, "--gold", tmp_path / "own.gold").err
    assert dragoman_("align", model, *files, "--json").code == 2


def test_align_refuses_uneven_files(dragoman_, model, text, tmp_path):
    short = tmp_path / "short.de"
    short.write_text("Ein Hund.\n", encoding="utf-8")
    out = tmp_path / "links"
    ended = dragoman_("align", model, text / "test.en", short, "-o", out)
    assert ended.code == 3
    assert "short.de: 1 line, but" in ended.err
    assert not out.exists()


def test_the_stop_of_a_search(dragoman_, model, text):
    words = ["translate", model, text / "test.en", "--scores", "--length-penalty", "2", "--max-extra", "9"]
    full, exact = (
        [float(line.split("\t")[0]) for line in dragoman_(*words, "--stop", stop).out.splitlines()]
        for stop in ("full", "exact")
    )

    assert len(full) == 30
    assert all(found >= given_up for found, given_up in zip(exact, full, strict=True))
    ended = dragoman_("evaluate", model, text / "test.en", text / "test.de", "--stop", "exact", "--json")
    assert json.loads(ended.out)["sentences"] == 30


def test_scores(dragoman_, model):
    plain = dragoman_("translate", model, stdin=b"The dog sleeps.\r\n")
    scored = dragoman_("translate", model, "--scores", stdin=b"The dog sleeps.\r\n")

    score, _, text = scored.out.partition("\t")
    assert float(score) < 0
    assert text == plain.out


def test_a_prefix_for_all_and_one_for_each(dragoman_, model, tmp_path):
    (tmp_path / "prefixes").write_text("Die\n\n")
    stdin = b"The dog sleeps.\nThe cat sleeps.\n"

    everywhere = dragoman_("translate", model, "--prefix", "Der Hund", stdin=stdin)
    each = dragoman_("translate", model, "--prefix-file", tmp_path / "prefixes", stdin=stdin)
    free = dragoman_("translate", model, stdin=stdin)

    assert all(line.startswith("Der Hund") for line in everywhere.out.splitlines())
    assert each.out.startswith("Die")
    assert each.out.splitlines()[1] == free.out.splitlines()[1]


def test_sampling_is_drawn_by_its_seed(dragoman_, model, text):
    def drawn(*more: str) -> str:
        return dragoman_("translate", model, text / "test.en", "--sample", *more).out

    assert drawn("--seed", "3") == drawn("--seed", "3") != drawn("--seed", "4")
    assert drawn("--top-k", "1") == dragoman_("translate", model, text / "test.en", "--beam", "1").out


def test_what_is_cut_short_is_named(dragoman_, model, text):
    ended = dragoman_("translate", model, text / "test.en", "--max-extra", "0", "--min-length", "99")

    assert ended.code == 0
    assert ended.out.count("\n") == 30
    assert "warning: 30 translations are cut short (line 1, 2, 3, 4, 5, ...)" in ended.err


def test_translations_that_lack_most_of_their_source_are_counted(dragoman_, model, monkeypatch, tmp_path):
    from dragoman.translation import translation

    monkeypatch.setattr(translation, "lacks_most", lambda source, _: len(source) > 10)
    text = "The dog sleeps.\nThe dog.\nThe cat sleeps.\n"

    ended = dragoman_("translate", model, stdin=text.encode())
    assert "warning: 2 translations lack most of the source (line 1, 3)\n" in ended.err
    (tmp_path / "in").write_text(text)
    ended = dragoman_("translate", model, tmp_path / "in", "-o", tmp_path / "out")
    assert "warning: 2 translations lack most of the source (line 1, 3)\n" in ended.err
    assert dragoman_("translate", model, "--quiet", stdin=text.encode()).err == ""


def test_lines_whose_placeholders_the_model_cannot_place_are_counted(dragoman_, model, monkeypatch):
    from dragoman.translation.protected import Sentences, Translated

    def copies(_, asked):
        return [Translated(one.text, one.kept, (), "copied", ("not translated",)) for one in asked]

    monkeypatch.setattr(Sentences, "translate", copies)
    text = b"The dog.\nQuit %s\nThe dog. Quit {0}\n"
    warning = "warning: 2 lines with placeholders are translated only in parts, or not at all (line 2, 3)\n"
    assert warning in dragoman_("translate", model, stdin=text).err
    assert dragoman_("translate", model, "--quiet", stdin=text).err == ""


def test_each_line_has_as_many_rows_as_it_should():
    from dragoman.cli.translate.translate import n_best_rows
    from dragoman.translation.translation import Translation

    protected = Translation("A %s.", "Ein %s.", -1.0, ("Ein", "%s."), (-1.0, -1.0, -1.0), False)
    two = replace(protected, alternatives=(replace(protected, text="Der %s."),))
    assert n_best_rows(3)(7, protected, "\n") == "7\t-1.0000\tEin %s.\n" * 3
    rows = n_best_rows(3)(7, two, "\n").splitlines()
    assert [row.split("\t")[2] for row in rows] == ["Ein %s.", "Der %s.", "Ein %s."]


def test_lines_are_split_unless_they_are_plain(dragoman_, model):
    text = "The dog sleeps. The cat sleeps.\nThe dog sleeps.\nThe cat sleeps.\n%s\n"
    lines = dragoman_("translate", model, stdin=text.encode()).out.splitlines()

    assert lines[0] == f"{lines[1]} {lines[2]}"
    assert lines[3] == "%s"
    plain = dragoman_("translate", model, "--plain", stdin=text.encode()).out.splitlines()
    assert plain[1:3] == lines[1:3]
    assert plain[3] != "%s"


def test_output_is_whole_or_not_there(dragoman_, model, tmp_path):
    (tmp_path / "in").write_bytes(b"The dog sleeps.\n" * 2 + b"\xff\n")
    (tmp_path / "out").write_text("precious")

    ended = dragoman_("translate", model, tmp_path / "in", "-o", tmp_path / "out")

    assert ended.code == 3
    assert f"error: {tmp_path}/in:3: not valid UTF-8" in ended.err
    assert (tmp_path / "out").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_input_is_never_overwritten(dragoman_, model, tmp_path):
    (tmp_path / "in").write_text("The dog sleeps.\n")
    (tmp_path / "link").symlink_to(tmp_path / "in")

    ended = dragoman_("translate", model, tmp_path / "in", "-o", tmp_path / "link")

    assert ended.code == 2
    assert (tmp_path / "in").read_text() == "The dog sleeps.\n"


@pytest.mark.thorough
def test_a_typed_line_is_answered_at_once(model):
    """On a terminal each line is translated and flushed before the next is asked for."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dragoman", "translate", str(model)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            os.write(ours, b"The dog sleeps.\n")
            first = child.stdout.readline()
            os.write(ours, b"The cat sleeps.\n\x04")
            second = child.stdout.read()
        finally:
            child.kill() if child.poll() is None and child.wait(60) is None else None
            os.close(ours)
            os.close(theirs)
    translator = Translator.load(model)
    assert first.decode() == translator("The dog sleeps.") + "\n"
    assert second.decode() == translator("The cat sleeps.") + "\n"


@pytest.mark.thorough
def test_a_line_from_a_program_that_waits_is_answered_at_once(model):
    """Also a line that is equal to one before it, and one that ends the program with a signal."""
    command = [sys.executable, "-m", "dragoman", "translate", str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        try:
            answers = []
            for line in (b"The dog sleeps.\n", b"The cat sleeps.\n", b"The dog sleeps.\n", b"\n"):
                child.stdin.write(line)
                child.stdin.flush()
                answers.append(child.stdout.readline().decode())
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == 130
            assert child.stderr.read() == b"error: interrupted\n"
        finally:
            child.kill()
    translator = Translator.load(model)
    dog, cat = (translator(line) + "\n" for line in ("The dog sleeps.", "The cat sleeps."))
    assert answers == [dog, cat, dog, "\n"]


@pytest.mark.thorough
def test_an_error_in_a_pipe_comes_after_the_lines_before_it(model):
    command = [sys.executable, "-m", "dragoman", "translate", str(model)]
    ended = subprocess.run(command, input=b"The dog sleeps.\n\xff\n", capture_output=True, check=False)

    assert ended.returncode == 3
    assert ended.stdout.count(b"\n") == 1
    assert b"error: standard input:2: not valid UTF-8" in ended.stderr


@pytest.mark.thorough
def test_a_closed_pipe_is_no_error(model, tmp_path):
    """As when `head` has seen enough."""
    (tmp_path / "in").write_text("The dog sleeps.\n" * 1000)  # as JSON more than a pipe holds
    command = [sys.executable, "-m", "dragoman", "translate", str(model), str(tmp_path / "in"), "--jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


# ---- evaluate and score -----------------------------------------------------------------------------


def test_evaluate_shows_figures_with_their_signatures(dragoman_, model, text, tmp_path):
    ended = dragoman_(
        "evaluate", model, text / "test.en", text / "test.de", "--lowercase", "-o", tmp_path / "made"
    )

    assert ended.code == 0
    assert "sentences/s" in ended.out
    cased, _, lower = ended.out.partition("In lower case:")
    assert "BLEU   nrefs:1|bs:1000|seed:12345|case:mixed" in cased
    assert "BLEU   nrefs:1|bs:1000|seed:12345|case:lc" in lower
    assert len((tmp_path / "made").read_text(encoding="utf-8").splitlines()) == 30


@pytest.mark.skipif(unavailable() is not None, reason="int8 needs the native engine")
def test_evaluate_shows_what_a_type_costs(dragoman_, model, text, tmp_path):
    words = ["evaluate", model, text / "test.en", text / "test.de", "--beam", "1", "--bootstrap", "20"]

    shown = dragoman_(*words, "--dtype", "bfloat16,int8", "-o", tmp_path / "made")
    table = json.loads(dragoman_(*words, "--dtype", "int8", "--json").out)

    rows = [line.split() for line in shown.out.splitlines()]
    assert [row[:2] for row in rows if "native" in row] == [
        ["float32", "native"],
        ["bfloat16", "native"],
        ["int8", "native"],
    ]
    assert table["dtype"] == "int8"
    float32, int8 = table["types"]
    assert (float32["dtype"], int8["dtype"]) == ("float32", "int8")
    assert int8["weights_bytes"] < 0.5 * float32["weights_bytes"]
    assert table["cased"]["baseline"] == "float32"
    assert [each["system"] for each in table["cased"]["differences"]] == ["int8"] * 3
    dragoman_(
        "translate",
        model,
        text / "test.en",
        "--plain",
        "--beam",
        "1",
        "--dtype",
        "int8",
        "-o",
        tmp_path / "int8",
    )
    assert (tmp_path / "made").read_text() == (tmp_path / "int8").read_text()


def test_evaluate_in_float32_compares_nothing(dragoman_, model, text):
    words = ["evaluate", model, text / "test.en", text / "test.de", "--bootstrap", "0"]

    ended = dragoman_(*words, "--dtype", "float32", "--json")

    assert [each["dtype"] for each in json.loads(ended.out)["types"]] == ["float32"]
    assert "baseline" not in json.loads(ended.out)["cased"]
    assert "types" not in json.loads(dragoman_(*words, "--json").out)


def test_evaluate_against_another(dragoman_, model, text):
    reference = text / "test.de"

    ended = dragoman_("evaluate", model, text / "test.en", reference, "--against", reference, "--json")

    table = json.loads(ended.out)["cased"]
    assert table["baseline"] == str(reference)
    (bleu,) = (d for d in table["differences"] if d["metric"] == "bleu")
    assert bleu["system"] == str(model)
    assert bleu["difference"] < -50
    assert bleu["significant"]
    itself = dragoman_("evaluate", model, text / "test.en", reference, "--against", model)
    assert itself.code == 2


def test_a_quality_gate(dragoman_, model, text):
    words = ["evaluate", model, text / "test.en", text / "test.de", "--bootstrap", "0"]

    failed = dragoman_(*words, "--min-bleu", "100")

    assert failed.code == 5
    assert "below 100" in failed.err
    assert "BLEU" in failed.out
    assert dragoman_(*words, "--min-bleu", "0").code == 0


def test_evaluate_on_the_text_of_a_recipe(dragoman_, model, text, tmp_path):
    (tmp_path / "r.toml").write_text('[data]\ntest = ["test.en", "test.de"]\n')

    ended = dragoman_("evaluate", model, "--recipe", tmp_path / "r.toml", "--data", text, "--json")

    assert json.loads(ended.out)["text"] == [str(text / "test.en"), str(text / "test.de")]


def test_score_with_several_references_and_a_rival(dragoman_, text, tmp_path):
    (tmp_path / "worse.de").write_text("Ein Hund.\n" * 30)
    reference = text / "test.de"

    perfect = json.loads(dragoman_("score", reference, tmp_path / "worse.de", reference, "--json").out)
    compared = dragoman_("score", reference, reference, "--against", tmp_path / "worse.de")

    assert perfect["cased"]["bleu"]["value"] == pytest.approx(100)
    assert perfect["cased"]["references"] == 2
    assert compared.code == 0
    assert "better" in compared.out


# ---- looking inside ----------------------------------------------------------------------------------


def test_inspect_in_every_format(dragoman_, model, tmp_path):
    words = ["inspect", model, "The dog sleeps."]
    shown = dragoman_(*words)
    translated = dragoman_("translate", model, stdin=b"The dog sleeps.\n").out
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[:2] == ["The dog sleeps.", translated.rstrip("\n")]
    assert dragoman_("inspect", model, stdin=b"The dog sleeps.\n").out == shown.out

    for name, begins in (
        ("r.html", b"<!doctype html>"),
        ("a.svg", b"<svg "),
        ("a.png", b"\x89PNG"),
        ("t.txt", b"The dog"),
        ("t.json", b'{"format": "dragoman-trace"'),
    ):
        ended = dragoman_(*words, "-o", tmp_path / name)
        assert (ended.code, ended.out) == (0, "")
        assert (tmp_path / name).read_bytes().startswith(begins)
    for view in ("attention", "heads", "beam", "positions"):
        assert dragoman_(*words, "--format", "svg", "--view", view).out.startswith("<svg ")
    for kind in ("encoder", "decoder", "cross"):
        assert dragoman_(*words, "--format", "svg", "--attention", kind, "--head", "2").code == 0


def test_inspect_compares(dragoman_, model, tmp_path):
    words = ["inspect", model, "The dog sleeps."]
    both = dragoman_(*words, "--compare", "The cat sleeps.").out
    assert "The dog sleeps." in both
    assert "The cat sleeps." in both
    assert dragoman_(*words, "--compare", "A cat sleeps. " * 40).code == 0
    assert dragoman_(*words, "--compare", model).out.count("The dog sleeps.\n") == 2
    assert dragoman_(*words, "--compare", model, "-o", tmp_path / "both.html").code == 0


def test_inspect_of_a_given_translation(dragoman_, model):
    assert (
        dragoman_("inspect", model, "The dog sleeps.", "--target", "Der Hund.").out.splitlines()[1]
        == "Der Hund."
    )


def test_inspect_a_changed_run(dragoman_, model, tmp_path):
    words = ["inspect", model, "The dog sleeps."]
    changes = ["--without", "cross.1.2", "--without", "encoder.1.1", "--ban", "1=Der", "--force", "3=x"]
    changes += ["--with-length-penalty", "0", "--shift-positions", "2"]
    untouched = dragoman_(*words).out.splitlines()[1]
    changed = dragoman_(*words, *changes)
    assert changed.code == 0
    lines = changed.out.splitlines()
    assert lines[0] == (
        "without cross.1.2, without encoder.1.1, force 3=x, ban 1=Der, source positions shifted by 2, "
        "length penalty 0"
    )
    assert lines[2] == untouched != lines[3]
    for name, begins in (
        ("r.html", b"<!doctype html>"),
        ("a.svg", b"<svg "),
        ("t.txt", b"without cross.1.2"),
        ("t.json", b'{"format": "dragoman-contrast"'),
    ):
        assert dragoman_(*words, *changes, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert dragoman_(*words, "--no-positions").out.startswith("no source positions\n")


def test_positions_in_every_format(dragoman_, tmp_path):
    assert dragoman_("positions", "--width", "8", "--length", "5").out.startswith("<svg")
    assert "p.json: unknown format" in dragoman_("positions", "-o", tmp_path / "p.json").err
    for name in ("p.html", "p.svg", "p.png"):
        assert dragoman_("positions", "-o", tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 1000


# ---- what goes wrong: what, where, what to do, and an exit code --------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "what", "hint"),
    [
        (["trian"], 2, "no such command 'trian'", "did you mean train?"),
        (["translate", "MODEL", "--dtype", "int4"], 2, "--dtype int4", "one of: auto, float32"),
        (["evaluate", "MODEL", "a", "b", "--dtype", "int8,int4"], 2, "'int4' is not one of", "int8"),
        (["evaluate", "MODEL", "a", "b", "--dtype", "int8,auto"], 2, "'auto' is not one of", "int8"),
        (
            ["evaluate", "MODEL", "a", "b", "--dtype", "float32,int8", "--against", "x"],
            *(2, "--against cannot be used with --dtype float32,int8", "name one type"),
        ),
        (["translate", "MODEL", "--beem", "2"], 2, "no such option: --beem", "did you mean --beam?"),
        (["translate", "MODEL", "--beam", "two"], 2, "--beam", "dragoman translate --help"),
        (["translate"], 2, "missing argument 'MODEL'", "dragoman translate --help"),
        (["translate", "MODEL", "--top-k", "2"], 2, "--top-k without --sample", "add --sample"),
        (["translate", "MODEL", "--stop", "soon"], 2, "stop", "exact"),
        (["translate", "MODEL", "--shortlist"], 2, "this model has no shortlist", "dragoman model shortlist"),
        (["model", "shortlist", "MODEL", "PAIR", "--frequent", "0"], 2, "frequent = 0", "at least 1"),
        (["model", "shortlist", "MODEL", "TEXT/train.en"], 2, "train.en", ""),
        (["translate", "MODEL", "--attention", "1"], 2, "--attention without --jsonl", "add --jsonl"),
        (["translate", "MODEL", "--attention", "0", "--jsonl"], 2, "attention 0", "from 1"),
        (["translate", "MODEL", "TEXT/test.en", "--attention", "9", "--jsonl"], 2, "layers 1 to 1", "LAYER"),
        (["translate", "MODEL", "nowhere.en"], 3, "nowhere.en: no such file", "check the path"),
        (["translate", "nowhere"], 4, "nowhere: no such model folder", "dragoman train"),
        (["translate", "MODEL", "TEXT/test.en", "-o", "TEXT/test.en/x"], 1, "cannot be written", "another"),
        (["train"], 2, "no folder to write to", "-o runs/en-de"),
        (["train", "-o", "OUT"], 2, "no text to train on", "--recipe"),
        (["train", "a", "b", "c", "-o", "OUT"], 2, "3 files", "--valid"),
        (["train", "nowhere.en", "nowhere.de", "-o", "OUT"], 3, "nowhere.en: no such file", "check the path"),
        (["train", "TEXT/train.en", "-o", "OUT"], 2, "only one side", "train.en train.de"),
        (["train", "TEXT/train.en", "TEXT/test.de", "-o", "OUT"], 3, "test.de: 30 lines", "line n"),
        (["train", "PAIR", "-o", "OUT", "--preset", "huge"], 2, "no preset 'huge'", "tiny, small"),
        (["train", "PAIR", "-o", "OUT", "model.head=2"], 2, "unknown option 'model.head'", "model.heads?"),
        (["train", "PAIR", "-o", "OUT", "model.heads=x"], 2, "model.heads", "a whole number"),
        (["train", "PAIR", "-o", "OUT", "--recipe", "no.toml"], 2, "no.toml: No such file", "check the path"),
        (["train", "PAIR", "-q", "-o", "TEXT/train.en/x"], 1, "cannot be written", "another path"),
        (["evaluate", "MODEL"], 2, "no text to evaluate on", "--recipe"),
        (["evaluate", "MODEL", "TEXT/test.en", "TEXT/train.de"], 3, "train.de", "line n"),
        (["inspect", "nowhere", "A dog."], 4, "nowhere: no such model folder", "dragoman train"),
        (["inspect", "MODEL", " "], 3, "the text is empty", "in quotes"),
        (["inspect", "MODEL", "A dog.", "-o", "OUT"], 2, "unknown format", "*.html"),
        (["inspect", "MODEL", "A dog.", "--format", "pdf"], 2, "--format pdf", "html, svg"),
        (["inspect", "MODEL", "A dog.", "--format", "png"], 2, "PNG on standard output", "-o"),
        (["inspect", "MODEL", "A dog.", "--view", "tree"], 2, "--view tree", "beam"),
        (["inspect", "MODEL", "A dog.", "--view", "beam"], 2, "--view has no effect in txt", "format"),
        (["inspect", "MODEL", "A dog.", "--layer", "1", "-o", "OUT.html"], 2, "--layer", "leave it out"),
        (["inspect", "MODEL", "A dog.", "--view", "beam", "--head", "1", "-o", "O.svg"], 2, "--head", "view"),
        (["inspect", "MODEL", "A dog.", "--compare", "runs/othr"], 4, "no such model folder", "train"),
        (["inspect", "MODEL", "A \0 dog."], 3, "NUL", "remove it"),
        (["inspect", "MODEL", "A dog.", "--without", "1.2"], 2, "head '1.2'", "encoder.2.3"),
        (["inspect", "MODEL", "A dog.", "--without", "cross.1.9"], 2, "no head cross.1.9", "heads 1 to 2"),
        (["inspect", "MODEL", "A dog.", "--force", "Hund"], 2, "without a step", "3=Hund"),
        (["inspect", "MODEL", "A dog.", "--force", "0=Hund"], 2, "step 0", "from 1"),
        (["inspect", "MODEL", "A dog.", "--ban", " "], 2, "token ' '", "text"),
        (["inspect", "MODEL", "A dog.", "--shift-positions", "-1"], 2, "shift = -1", "from 0"),
        (["inspect", "MODEL", "A dog.", "--no-positions", "--compare", "A."], 2, "--compare", "leave out"),
        (["inspect", "MODEL", "A dog.", "--target", "Hund", "--ban", "Hund"], 2, "given", "leave out"),
        (["inspect", "MODEL", "A dog.", "--min-length", "-1"], 2, "--min-length -1", "from 0 to 100,000"),
        (["inspect", "MODEL", "A dog.", "--beam", "99"], 2, "a beam of 99", "at most 50"),
        (["inspect", "MODEL", "A dog.", "--layer", "9"], 2, "layer 9", "layers 1 to 1"),
        (["inspect", "MODEL", "A dog.", "--head", "0"], 2, "head 0", "heads 1 to 2"),
        (["inspect", "MODEL", "A dog.", "--attention", "self"], 2, "--attention self", "encoder"),
        (["inspect", "MODEL", "A dog.", "--compare", "A cat.", "--format", "svg"], 2, "--compare", "html"),
        (["inspect", "MODEL", "A dog.", "--target", "Hund", "--prefix", "Hu"], 2, "given", "one of them"),
        (["positions", "--width", "1"], 2, "width = 1", "from 2"),
        (["positions", "--base", "nan"], 2, "--base nan", "finite"),
        (["score", "TEXT/test.de", "TEXT/train.de"], 3, "30 lines", "line n"),
        (["score", "TEXT/test.de", "TEXT/test.de", "--against", "TEXT/test.de"], 2, "itself", "different"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_gets_an_error_and_a_hint(dragoman_, model, text, tmp_path, words, code, what, hint):
    names = {"MODEL": [str(model)], "OUT": [str(tmp_path / "out")]}
    names["PAIR"] = [str(text / "train.en"), str(text / "train.de")]
    there = sorted(path for path in text.rglob("*"))

    ended = dragoman_(*(w for word in words for w in names.get(word, [word.replace("TEXT", str(text))])))

    assert (ended.code, ended.out) == (code, "")
    first, *_, last = ended.err.splitlines()
    assert first.startswith("error: ")
    assert what in first
    assert last.startswith("hint: ")
    assert hint in last
    assert len(ended.err.splitlines()) == 2
    assert sorted(text.rglob("*")) == there
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b'{"format_version": 99}'),
        ("model.safetensors", b"damaged"),
        ("model.safetensors", None),
        ("tokenizer.json", b"[]"),
    ],
)
def test_a_damaged_model_is_named(dragoman_, model, tmp_path, file, content):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in model.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    (copy / file).unlink()
    if content is not None:
        (copy / file).write_bytes(content)

    ended = dragoman_("translate", copy, stdin=b"A dog.\n")

    assert (ended.code, ended.out) == (4, "")
    assert file in ended.err
    assert "hint: " in ended.err


def test_errors_of_work_and_faults_of_ours(dragoman_, text, tmp_path, monkeypatch):
    words = training(text, tmp_path / "x", "-q")

    def failing(error: Exception):
        def train(self: Trainer) -> Path:
            raise error

        monkeypatch.setattr(Trainer, "train", train)

    failing(TrainingError("the loss is [bold]nan[/bold]", hint="lower it"))
    assert dragoman_(*words) == Ended(1, "", "error: the loss is [bold]nan[/bold]\nhint: lower it\n")
    failing(MemoryError())
    assert "hint: lower training.batch_tokens" in dragoman_(*words).err
    failing(ZeroDivisionError("by zero"))
    ours = dragoman_(*words)
    assert ours.code == 1
    assert "error: unexpected ZeroDivisionError: by zero" in ours.err
    assert "--debug" in ours.err
    assert "Traceback" not in ours.err
    assert "Traceback" in dragoman_(*words, "--debug").err


# ---- help, version, doctor --------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(dragoman_, command):
    ended = dragoman_(command, "--help")

    assert ended.code == 0
    assert any(line.strip().startswith(f"dragoman {command}") for line in ended.out.splitlines())
    assert f"dragoman {command}" in dragoman_(command, "-h").out


def test_help_names_the_commands_and_the_version_is_told(dragoman_):
    ended = dragoman_("--help")

    assert all(f"\n  {command} " in ended.out for command in COMMANDS)
    assert dragoman_("--version") == Ended(0, f"dragoman {dragoman.__version__}\n", "")


@pytest.mark.parametrize("group", ["model", "memory"])
def test_a_group_alone_shows_its_help(dragoman_, group):
    ended = dragoman_(group)

    assert ended.code == 0
    assert ended.out.rstrip() == dragoman_(group, "--help").out.rstrip()
    assert ended.err == ""


def test_an_interrupt_that_a_library_turned_into_an_error_is_one(dragoman_, model, monkeypatch):
    def load(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise ImportError("initialization failed") from interrupt

    monkeypatch.setattr("dragoman.translation.translator.Translator.load", load)

    assert dragoman_("translate", model, stdin=b"x") == Ended(130, "", "error: interrupted\n")


def test_doctor(dragoman_, monkeypatch):
    from dragoman.cli import doctor

    monkeypatch.setattr(doctor, "_speed", lambda torch: doctor.Finding(name="speed", value="fast"))
    monkeypatch.setattr(doctor.machine, "busy_cores", lambda: 0.0)

    ended = dragoman_("doctor")
    table = json.loads(dragoman_("doctor", "--json").out)

    assert ended.code == 0
    assert "torch" in ended.out
    assert {"Python", "torch", "cores", "memory", "GPU"} <= {finding["name"] for finding in table}


# ---- the words of `train` ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "spread"),
    [
        ("a b --valid c d -o x", "a b --valid c --valid d -o x"),
        ("--valid c d a b", "--valid c --valid d a b"),
        ("--valid c --valid d a b", "--valid c --valid d a b"),
        ("--valid c.tsv a b", "--valid c.tsv a b"),
        ("--valid c.en-de.JSONL.gz a b", "--valid c.en-de.JSONL.gz a b"),
        ("--test c.de.po a", "--test c.de.po a"),
        ("--test c.xliff a", "--test c.xliff a"),
        ("a b --valid c -o x", "a b --valid c -o x"),
        ("a b --valid", "a b --valid"),
        ("a --valid=c b", "a --valid c --valid b"),
        ("a b --valid c training.seed=1", "a b --valid c training.seed=1"),
        ("a b --valid=c.tsv d", "a b --valid c.tsv d"),
        ("a b --data=c", "a b --data=c"),
        ("-- --valid c d", "-- --valid c d"),
    ],
)
def test_valid_takes_two_files(words, spread):
    assert spread_files(words.split()) == spread.split()


def test_overrides_are_what_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b.en").touch()

    assert sort_words(["a=b.en", "model.heads=2", "c.de"]) == (["a=b.en", "c.de"], ["model.heads=2"])


def test_a_long_value_of_an_option_is_no_file():
    title = "title=" + 300 * "a"

    assert sort_words([title]) == ([], [title])


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_standard_output_is_no_fault_of_ours(text):
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dragoman", "score", text / "test.de", text / "test.de"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr.startswith("error: the output: No space left on device\nhint: ")
    assert "fault" not in ended.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), ("2>&-", 0), ("<&- >&- 2>&-", 0)])
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_standard_stream_may_be_closed(model, closed, code):
    words = f'"{sys.executable}" -m dragoman translate "{model}" {closed}'

    ended = subprocess.run(["sh", "-c", words], input="", capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")


def test_the_model_says_which_key_of_jsonl_is_the_source(dragoman_, text, model, tmp_path):
    """Not the order of the keys."""
    sides = [(text / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "de")]
    rows = [json.dumps({"de": german, "en": english}) for english, german in zip(*sides, strict=True)]
    (tmp_path / "test.jsonl").write_text("\n".join(rows), encoding="utf-8")

    keyed = dragoman_("evaluate", model, tmp_path / "test.jsonl", "--json", "--beam", 1)
    plain = dragoman_("evaluate", model, text / "test.en", text / "test.de", "--json", "--beam", 1)

    assert json.loads(keyed.out)["cased"]["chrf"]["value"] == json.loads(plain.out)["cased"]["chrf"]["value"]


def test_standard_input_is_read_for_one_thing(dragoman_, model):
    """Else a sentence and its prefix would be taken by turns."""
    ended = dragoman_("translate", model, "-", "--prefix-file", "-", stdin=b"A dog.\nEin\n")

    assert (ended.code, ended.out) == (2, "")
    assert "standard input is named twice" in ended.err
