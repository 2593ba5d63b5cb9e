"""`dragoman back-translate`: the file of pairs, stops in between, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman.models.folder.bundle import save
from dragoman.text.corpora.corpus import open_corpus
from dragoman.translation.search.options import Sample
from dragoman.translation.translator import Translator

LINES = [target for _, target in PAIRS] + ["", "Ein Bäcker wartet.", "Zwei Boote, ein Hafen."]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """de-en, the same again with fewer updates, and en-de."""
    place = tmp_path_factory.mktemp("models")
    save(learnt_bundle(reverse=True), place / "de-en")
    save(learnt_bundle(reverse=True, updates=50), place / "de-en-2")
    save(learnt_bundle(), place / "en-de")
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mono.de").write_text("".join(f"{line}\n" for line in LINES * 6), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pairs_are_parallel_text_in_the_direction_of_the_system(dragoman_, folder, models):
    ended = dragoman_("back-translate", models / "de-en", "mono.de", "-o", "new.en-de.tsv")

    assert (ended.code, ended.out) == (0, "")
    corpus = open_corpus(["new.en-de.tsv"])
    assert (corpus.source_language, corpus.target_language) == ("en", "de")
    pairs = [(line.source, line.target) for line in corpus]
    assert pairs[:4] == PAIRS
    kept = {target for _, target in pairs}
    assert [target for _, target in pairs] == [line for line in LINES * 6 if line in kept]
    assert ended.err.startswith(f"42 lines, {len(pairs)} pairs written, {42 - len(pairs)} left out\n")
    assert "  empty line: 6\n" in ended.err


def test_without_an_output_the_pairs_are_printed(dragoman_, folder, models):
    ended = dragoman_(
        "back-translate", models / "de-en", "-", "-q", stdin="Ein Bäcker verkauft frisches Brot.".encode()
    )

    assert (ended.code, ended.out, ended.err) == (0, "\t".join(PAIRS[1]) + "\n", "")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("--how", "greedy"), {"beam": 1}),
        (("--how", "beam", "--beam", "2"), {"beam": 2}),
        (("--how", "beam", "--per-line", "3"), {"n_best": 3}),
        (("--how", "sample", "--seed", "5"), {"sample": Sample(seed=5)}),
        (
            ("--how", "sample", "--temperature", "1.5", "--top-k", "9", "--top-p", "0.9", "--per-line", "2"),
            {"sample": Sample(temperature=1.5, top_k=9, top_p=0.9), "n_best": 2},
        ),
    ],
)
def test_the_sources_are_those_of_translate(dragoman_, folder, models, words, options):
    (folder / "mono.de").write_text("".join(f"{line}\n" for line in LINES[:4]), encoding="utf-8")
    ended = dragoman_("back-translate", models / "de-en", "mono.de", *words)

    found = Translator.load(models / "de-en").translate(LINES[:4], max_source_tokens=256, **options)
    rows = [row.split("\t") for row in ended.out.splitlines()]
    expected = [
        [text, one.source]
        for one in found
        for text in dict.fromkeys(each.text for each in (one, *one.alternatives) if not each.truncated)
    ]
    assert rows == [row for row in expected if row in rows]
    assert len(expected) - len(rows) <= 1  # what else is left out


def test_several_files_patterns_and_models(dragoman_, folder, models):
    for number in range(2):
        (folder / f"part-{number}.de.gz").write_bytes(
            gzip.compress("".join(f"{line}\n" for line in LINES[number * 2 : number * 2 + 2]).encode())
        )
    ended = dragoman_("back-translate", models / "de-en", models / "de-en-2", "part-*.de.gz", "-q")

    assert (ended.code, ended.out.splitlines()) == (0, ["\t".join(pair) for pair in PAIRS])


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--how", "sample", "--temperature", "1.6", "--seed", "3", "--per-line", "2"),
        ("--how", "noise", "--per-line", "3"),
    ],
    ids=" ".join,
)
def test_a_stopped_command_goes_on(dragoman_, folder, models, stopping, options):
    words = ("back-translate", models / "de-en", "mono.de", *options, "-o")
    whole = dragoman_(*words, "whole.en-de.tsv")

    for lines in (5, 0, 14):
        stopping(lines)
        assert dragoman_(*words, "out.en-de.tsv").code == 130
        assert not (folder / "out.en-de.tsv").exists()
    stopping(None)
    ended = dragoman_(*words, "out.en-de.tsv")

    assert f"out.en-de.tsv: resuming after line 19\n{whole.err}" == ended.err  # the same counts
    assert (folder / "out.en-de.tsv").read_bytes() == (folder / "whole.en-de.tsv").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["mono.de", "out.en-de.tsv", "whole.en-de.tsv"]


# Notes each line, and kills itself before the 20th.
KILLED = """
import os, signal, sys
from dragoman.cli import main, writing
writing.Unfinished.SECONDS = -1.0
add = writing.Unfinished.add
def killing(self, number, text, **more):
    if number == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, number, text, **more)
writing.Unfinished.add = killing
main()
"""


@pytest.mark.thorough
def test_a_killed_process_goes_on(dragoman_, folder, models):
    words = ["back-translate", models / "de-en", "mono.de", "--how", "noise", "--per-line", "2", "-o"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words, "out.tsv"], check=False, timeout=200)
    assert killed.returncode == -signal.SIGKILL
    assert json.loads((folder / "out.tsv.unfinished.json").read_text())["written"]["lines"] == 19

    ended, whole = dragoman_(*words, "out.tsv"), dragoman_(*words, "whole.tsv")

    assert ended.err == f"out.tsv: resuming after line 19\n{whole.err}"
    assert (folder / "out.tsv").read_bytes() == (folder / "whole.tsv").read_bytes()


def test_other_options_do_not_go_on(dragoman_, folder, models, stopping):
    stopping(5)
    dragoman_("back-translate", models / "de-en", "mono.de", "--how", "noise", "-o", "out.en-de.tsv")
    stopping(None)

    for words, named in (
        ((models / "de-en", "mono.de", "--how", "noise", "--seed", "2"), "--seed"),
        ((models / "de-en", "mono.de"), "--how"),
        ((models / "de-en-2", "mono.de", "--how", "noise"), "model"),
        ((models / "de-en", models / "de-en-2", "mono.de", "--how", "noise"), "model 2"),
    ):
        ended = dragoman_("back-translate", *words, "-o", "out.en-de.tsv")
        assert ended.code == 2
        assert f"out.en-de.tsv.unfinished: was begun with another {named}\n" in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("en-de", "mono.de"), "mono.de: text in de by its name, but the model translates from en to de"),
        (("de-en", "mono.de", "-o", "x.de-en.tsv"), "but its pairs are from en to de"),
        (("de-en", "mono.de", "-o", "x.fr-de.tsv"), "but its pairs are from en to de"),
        (("de-en", "mono.de", "-o", "x.en-de"), "the pairs are tab-separated values"),
        (("de-en", "mono.de", "-o", "x.en-de.tsv.gz"), "tab-separated values, not compressed"),
        (("de-en", "x.en-de.tsv"), "a file of pairs; text of one language is needed"),
        (("de-en", "mono.de", "--how", "magic"), "--how magic"),
        (("de-en", "mono.de", "--how", "greedy", "--per-line", "2"), "--per-line with --how greedy"),
        (("de-en", "mono.de", "--per-line", "0"), "--per-line 0"),
        (("de-en", "mono.de", "--top-k", "3"), "--top-k has no effect with --how beam"),
        (("de-en", "mono.de", "--how", "sample", "--beam", "3"), "--beam has no effect with --how sample"),
        (
            ("de-en", "mono.de", "--beam", "2", "--per-line", "3"),
            "--per-line 3: 3 translations from a beam of 2",
        ),
        (("de-en", "mono.de", "--how", "noise", "--seed", "-1"), "--seed -1"),
        (("de-en", "mono.de", "--seed", "7"), "--seed has no effect with --how beam"),
        (("de-en", "mono.de", "--how", "greedy", "--seed", "7"), "--seed has no effect with --how greedy"),
        (("de-en", "mono.de", "--to", "fr"), "to = 'fr'"),
        (("de-en", "mono.de", "--average", "probabilities"), "--average with one model"),
        (("de-en", "-", "-"), "standard input is named twice"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(dragoman_, folder, models, words, message):
    ended = dragoman_("back-translate", models / words[0], *words[1:])

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "hint: " in ended.err
    assert [path.name for path in folder.iterdir()] == ["mono.de"]


def test_a_model_of_one_language_is_refused(dragoman_, folder, models):
    place = folder / "de-de"
    save(replace(learnt_bundle(reverse=True, updates=1), target_language="de"), place)

    ended = dragoman_("back-translate", place, "mono.de")

    assert (ended.code, ended.out) == (2, "")
    assert "the model translates from de to de" in ended.err


def test_text_without_a_usable_pair_leaves_no_file(dragoman_, folder, models):
    (folder / "empty.de").write_text("\n \n")
    ended = dragoman_("back-translate", models / "de-en", "empty.de", "-o", "out.en-de.tsv")

    assert (ended.code, ended.out) == (3, "")
    assert "empty.de: no usable pair" in ended.err
    assert "  empty line: 2\n" in ended.err
    assert [path.name for path in folder.glob("out*")] == []


def test_input_is_not_overwritten(dragoman_, folder, models):
    os.symlink("mono.de", "link.tsv")
    ended = dragoman_("back-translate", models / "de-en", "mono.de", "-o", "link.tsv")

    assert ended.code == 2
    assert "input and output are the same file" in ended.err
