"""What is settled before training, and what of it is written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.text import toy
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.formality import Formality
from dragoman.text.guidance import Guidance, marks_of, reading
from dragoman.text.noise import noised
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.processes.distributed import World
from dragoman.training.runs.folder import RunFolder
from dragoman.training.runs.prepare import Prepared, prepare
from dragoman.training.runs.recipe import resolve
from dragoman.training.runs.text.texts import RunRequest, Texts
from dragoman.training.runs.text.tokens import tokenise_texts

PAIRS, VALID = toy.pairs(seed=3, count=60), toy.pairs(seed=4, count=8)


def prepared(
    output: Path,
    *overrides: str,
    valid: list[tuple[str, str]] | None = None,
    root: Path | None = None,
    messages: list[str] | None = None,
) -> Prepared:
    with RunFolder(output) as folder:
        request = RunRequest(
            data=PAIRS, valid=valid, preset="tiny", languages=("en", "de"),
            overrides=overrides or ("tokenizer.vocab_size=400",), data_root=root,
        )  # fmt: skip
        return prepare(request, folder, World(0, 1), [].append if messages is None else messages.append)


def test_everything_that_training_needs(tmp_path: Path) -> None:
    messages: list[str] = []
    ready = prepared(tmp_path, valid=[*VALID, ("A dog.", "")], messages=messages)

    assert ready.languages == ("en", "de")
    assert not ready.begun
    assert (len(ready.training), ready.tokenizer.source_size) == (60, 400)
    assert [(one, len(text)) for one, text in ready.validation.items()] == [(("en", "de"), len(VALID))]
    # The pair with an empty side counts nowhere.
    assert ready.validation_pairs == {("en", "de"): tuple(VALID)}
    assert messages[:2] == ["training the tokenizer", "tokenising the text"]


def test_without_validation_text(tmp_path: Path) -> None:
    ready = prepared(tmp_path)

    assert ready.validation == ready.validation_pairs == {}


def test_a_run_that_has_begun_keeps_its_tokens(tmp_path: Path) -> None:
    prepared(tmp_path)
    RunFolder(tmp_path).checkpoints.latest.mkdir()
    messages: list[str] = []

    again = prepared(tmp_path, messages=messages)

    assert again.begun
    assert messages == []
    with pytest.raises(DataError, match="validation text has changed since this run began"):
        prepared(tmp_path, valid=VALID)


def test_validation_text_that_is_left_out_has_changed(tmp_path: Path) -> None:
    """Also that of one of several pairs of languages."""
    prepared(tmp_path)
    folder = RunFolder(tmp_path).checkpoints
    folder.latest.mkdir()
    shutil.copytree(folder.corpus("train"), folder.corpus("valid.en-de"))
    with pytest.raises(DataError, match="validation text has changed since this run began"):
        prepared(tmp_path)


@pytest.mark.parametrize("option", ["lora_rank=16", "replay_from=base", "base=sha256:0"])
def test_tuning_options_need_a_model_to_tune(tmp_path: Path, option: str) -> None:
    messages: list[str] = []

    with pytest.raises(ConfigError, match="tuning options, but no model to tune") as caught:
        prepared(tmp_path / "x", f"tuning.{option}", messages=messages)

    assert (caught.value.hint, messages) == ("name one with --from, or leave them out", [])
    assert not (tmp_path / "x").exists()


# Text in several files, and several texts


def write_text(folder: Path) -> Path:
    """Two texts: `news` in two shards, `web` in one file of pairs."""
    for number, first in enumerate((0, 20)):
        for side, language in enumerate(("en", "de")):
            lines = [f"{pair[side]}\n" for pair in PAIRS[first : first + 20]]
            (folder / f"news-{number}.{language}").write_text("".join(lines), encoding="utf-8")
    rows = [f"{source}\t{target}\n" for source, target in PAIRS[40:]]
    (folder / "web.en-de.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "recipe.toml").write_text(
        f'''
        preset = "tiny"
        [tokenizer]
        vocab_size = 400
        [[data.corpora]]
        name = "news"
        train = ["news-*.en", "{folder}/news-*.de"]
        [[data.corpora]]
        name = "web"
        train = ["web.en-de.tsv"]
        weight = 0.5
        '''
    )
    return folder


def of_recipe(
    text: Path, output: Path, *overrides: str, data: list[str] | None = None
) -> tuple[Prepared, list[str]]:
    messages: list[str] = []
    with RunFolder(output) as folder:
        request = RunRequest(data=data, recipe=text / "recipe.toml", overrides=overrides, data_root=text)
        ready = prepare(request, folder, World(0, 1), messages.append)
    return ready, messages


def test_only_sources_of_several_languages_are_in_lower_case(tmp_path: Path) -> None:
    rows = {
        "de": ("A dog sees Tom.", "Ein Hund sieht Tom."),
        "cs": ("The cat sleeps.", "Kočka Tomáše spí."),
    }
    corpora = []
    for code, sides in rows.items():
        names = [f"{code}.{side}" for side in ("en", code)]
        for name, line in zip(names, sides, strict=True):
            (tmp_path / name).write_text(f"{line}\n" * 40)
        corpora.append(f"{{name={code!r}, train={names}, source_language='en', target_language={code!r}}}")
    (tmp_path / "recipe.toml").write_text(f"data.corpora = [{', '.join(corpora)}]\n")
    options = ("tokenizer.vocab_size=400", "tokenizer.lowercase=source")
    ready, _ = of_recipe(tmp_path, tmp_path / "run", *options)
    tokenizer = ready.tokenizer
    for _, target in rows.values():
        pieces = tokenizer.target_pieces(tokenizer.encode_target([target])[0])
        assert not any(piece.startswith("<0x") for piece in pieces), pieces


def test_texts_with_weights(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    ready, messages = of_recipe(text, tmp_path / "run")

    assert ready.languages == ("en", "de")
    assert len(ready.training) == 40 + 10
    assert "news: 40 pairs read, 40 kept" in ready.training.report
    assert "train.web: 20 pairs read, 20 kept, 0 set aside" in messages
    corpus = tmp_path / "run" / "checkpoints" / "corpus"
    assert sorted(path.name for path in corpus.iterdir()) == ["train.news", "train.web"]


def test_stages_have_other_weights_and_other_noise(tmp_path: Path) -> None:
    """The noise of each is drawn from the same files, and without noise the tokens are the plain ones."""
    text = write_text(tmp_path)
    first, second = "{updates=3, weights={web=0}, noise=1.0}", "{updates=5, weights={web=2, news=0.5}}"
    ready, _ = of_recipe(text, tmp_path / "run", f"data.stages=[{first}, {second}]")

    assert [(updates, len(stage)) for updates, stage in ready.stages] == [(3, 40), (5, 20 + 40)]
    assert len(ready.training) == 40 + 10
    source, target = ready.stages[0][1].epoch(0, seed=1)
    for row, pair in enumerate(PAIRS[:40]):
        expected = noised(pair, f"1 0 {row}", languages=("en", "de"))
        decode = ready.tokenizer.decode
        assert (decode(source[row].tolist()), decode(target[row].tolist())) == expected
    plain, _ = of_recipe(text, tmp_path / "plain")
    assert sources_of(ready, 0) == sources_of(plain, 0)


def test_texts_with_weights_are_compared_with_the_tokens(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    before, _ = of_recipe(text, tmp_path / "run")
    RunFolder(tmp_path / "run").checkpoints.latest.mkdir()
    again, messages = of_recipe(text, tmp_path / "run", "data.workers=1")
    assert (again.training.fingerprint, messages) == (before.training.fingerprint, [])
    with pytest.raises(ConfigError, match="other options"):
        of_recipe(text, tmp_path / "run", 'data.corpora=[{name="web", train=["web.en-de.tsv"]}]')

    (text / "news-1.de").write_text("Anders.\n" * 20)
    changed = r"(?m)training text has changed .*; changed: .*news-1.en and .*news-1.de$"
    with pytest.raises(DataError, match=changed):
        of_recipe(text, tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (['data.train=["a.en", "a.de"]'], "both name training text"),
        (['data.corpora=[{name="a", train=["web.en-de.tsv"], weight=0}]'], "weight = 0"),
        (['data.corpora=[{name="a/b", train=["web.en-de.tsv"]}]'], "name = 'a/b'"),
        (['data.corpora=[{name="a", train=[]}]'], "a has no files"),
        (['data.corpora=[{name="a"}]'], "train is missing"),
        (['data.corpora=[{name="a", train=["x.tsv"]}, {name="a", train=["y.tsv"]}]'], "are equal"),
        (['data.corpora=[{name="a", train=["none-*.tsv"]}]'], "no none-"),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_mixed(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        of_recipe(write_text(tmp_path), tmp_path / "run", *options)
    assert caught.value.hint


NEWS = '{name="news", train=["news-*.en", "news-*.de"]}'
TAGGED = f'data.corpora=[{NEWS}, {{name="web", train=["web.en-de.tsv"], tagged=true, weight=0.5}}]'


def sources_of(ready: Prepared, epoch: int) -> list[list[int]]:
    source, target = ready.training.epoch(epoch, seed=1)
    assert len(source) == len(target) == len(ready.training)
    rows = [source[row].tolist() for row in range(len(source))]
    assert [len(row) for row in rows] == source.lengths.tolist()
    assert source.lengths_of(np.array([45, 2])).tolist() == [len(rows[45]), len(rows[2])]
    return rows


def test_validation_text_is_cut_in_one_way(tmp_path: Path) -> None:
    ready = prepared(tmp_path, "tokenizer.sampling=0.5", valid=VALID)
    (text,) = ready.validation.values()

    assert text.epoch(0, seed=1) == (text.source, text.target)
    assert ready.training.epoch(0, seed=1)[1] != ready.training.epoch(1, seed=1)[1]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("tokenizer.sampling=0.3",),
        ("tokenizer.placeholders=4", "data.placeholders=1"),
        ("data.terms=1", "data.matches=1"),
    ],
    ids=" ".join,
)
def test_sources_of_a_tagged_text_begin_with_a_mark_in_every_epoch(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    text = write_text(tmp_path)
    plain, _ = of_recipe(text, tmp_path / "plain", *options)
    ready, messages = of_recipe(text, tmp_path / "run", TAGGED, *options)
    marks = marks_of(ready.tokenizer)
    assert marks is not None
    mark = marks.synthetic

    for epoch in range(3):
        rows, without = sources_of(ready, epoch), sources_of(plain, epoch)
        assert all(mark not in row for row in rows[:40])
        assert [row[0] for row in rows[40:]] == [mark] * 10
        assert [*rows[:40], *(row[1:] for row in rows[40:])] == without
    assert "web (tagged): 20 pairs read" in ready.training.report
    assert ready.training.fingerprint != plain.training.fingerprint
    assert "train.web: 20 pairs read, 20 kept, 0 set aside" in messages


def test_a_tag_needs_a_vocabulary_with_bytes(tmp_path: Path) -> None:
    corpora = 'data.corpora=[{name="web", train=["web.tsv"], tagged=true}]'
    texts = Texts(
        recipe=resolve(preset="tiny", overrides=[corpora]), training=open_pairs(PAIRS),
        validation={}, validation_pairs={}, corpora={"web": open_pairs(PAIRS)},
    )  # fmt: skip
    words = Tokenizer.train(PAIRS, TokenizerConfig(kind="words", vocab_size=100))

    with RunFolder(tmp_path) as folder, pytest.raises(ConfigError, match="no bytes for the tag"):
        tokenise_texts(texts, folder, given=words, begun=False, say=print)


def test_the_mark_is_that_of_no_text(tmp_path: Path) -> None:
    ready, _ = of_recipe(write_text(tmp_path), tmp_path / "run", TAGGED)
    marks = marks_of(ready.tokenizer)
    assert marks is not None
    mark = marks.synthetic
    assert len(set(marks)) == len(marks)
    (piece,) = ready.tokenizer.vocabularies[0].pieces([mark])
    everything = "".join(chr(code) for code in range(0x20, 0x11000) if not 0xD800 <= code < 0xE000)

    for line in (everything, piece, "<BT> \N{REPLACEMENT CHARACTER}"):
        (tokens,) = ready.tokenizer.encode_source([line])
        assert mark not in tokens


def test_a_tag_is_among_the_options_of_a_run(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    before, _ = of_recipe(text, tmp_path / "run", TAGGED)
    RunFolder(tmp_path / "run").checkpoints.latest.mkdir()
    again, messages = of_recipe(text, tmp_path / "run", TAGGED)
    assert (again.training.fingerprint, messages) == (before.training.fingerprint, [])
    assert sources_of(again, 1) == sources_of(before, 1)

    with pytest.raises(ConfigError, match="other options"):
        of_recipe(text, tmp_path / "run", TAGGED.replace("tagged=true, ", ""))


def test_texts_are_in_the_languages_that_one_of_them_names(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    (text / "web.tsv").write_bytes((text / "web.en-de.tsv").read_bytes())
    unnamed, named = '{name="a", train=["web.tsv"]}', '{name="b", train=["web.en-de.tsv"]}'

    for number, corpora in enumerate(([unnamed, named], [named, unnamed])):
        ready, _ = of_recipe(text, tmp_path / f"run-{number}", f"data.corpora=[{', '.join(corpora)}]")
        assert ready.languages == ("en", "de")
    with pytest.raises(ConfigError, match="do not say which languages"):
        of_recipe(text, tmp_path / "run", f"data.corpora=[{unnamed}]")


def test_text_on_the_command_line_does_not_mix_with_that_of_the_recipe(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    with pytest.raises(ConfigError, match="more in data.corpora"):
        of_recipe(text, tmp_path / "run", data=[str(text / "web.en-de.tsv")])


def test_text_is_named_in_one_place(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    for option in ("data.train", "data.valid"):
        with pytest.raises(ConfigError, match=f"{option} together with text on the command line"):
            prepared(tmp_path / "run", f'{option}=["nowhere.en", "nowhere.de"]', root=text)
    with pytest.raises(ConfigError, match="data is a section"):
        prepared(tmp_path / "run", "data=5")
    with pytest.raises(ConfigError, match=r"data\.valid together with text"):
        prepared(tmp_path / "run", 'data.valid=["nowhere.en", "nowhere.de"]', valid=VALID)


def test_the_validation_text_of_a_recipe_is_not_used_with_other_text(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    (text / "recipe.toml").write_text('preset = "tiny"\n[data]\nvalid = ["valid.en", "valid.de"]\n')
    ready, messages = of_recipe(
        text, tmp_path / "run", "tokenizer.vocab_size=400", data=[str(text / "web.en-de.tsv")]
    )

    assert ready.validation == {}
    assert messages[0].startswith("no validation text: the recipe's belongs")


def test_a_tokenizer_is_learned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed while it tokenises goes on with the tokenizer that it has."""
    text = write_text(tmp_path)
    whole, _ = of_recipe(text, tmp_path / "whole")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.runs.text.tokens.tokenise", killed)
        with pytest.raises(KeyboardInterrupt):
            of_recipe(text, tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.text.tokenizers.tokenizer.Tokenizer.train", killed)
        ready, messages = of_recipe(text, tmp_path / "run")
    assert messages[0] == "using the tokenizer of the stopped run"
    assert ready.training.fingerprint == whole.training.fingerprint

    # Other text, or other options, need another tokenizer.
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.runs.text.tokens.tokenise", killed)
        with pytest.raises(KeyboardInterrupt):
            of_recipe(text, tmp_path / "run")
    (text / "news-1.de").write_text("Anders.\n" * 20)
    assert of_recipe(text, tmp_path / "run")[1][0] == "training the tokenizer"


def test_a_tokenizer_of_another_command_is_not_taken_for_the_learned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commands are killed while they tokenise: one learns a tokenizer, one is given another."""
    text = write_text(tmp_path)
    whole, _ = of_recipe(text, tmp_path / "whole")
    other = Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=420), seed=1)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def given(texts: Texts, folder: RunFolder, **options: Any) -> None:
        tokenise_texts(texts, folder, **(options | {"given": other}))

    with monkeypatch.context() as patch:
        patch.setattr("dragoman.training.runs.text.tokens.tokenise", killed)
        with pytest.raises(KeyboardInterrupt):
            of_recipe(text, tmp_path / "run")
        patch.setattr("dragoman.training.runs.prepare.tokenise_texts", given)
        with pytest.raises(KeyboardInterrupt):
            of_recipe(text, tmp_path / "run")
    ready, messages = of_recipe(text, tmp_path / "run")
    assert messages[0] == "training the tokenizer"
    assert ready.training.fingerprint == whole.training.fingerprint


@pytest.mark.parametrize(
    ("options", "before", "start"),
    [
        ((), {"de": [">>de<<"], "en": [">>en<<"]}, {"de": [], "en": []}),
        (
            ("tokenizer.source_mark=true",),
            {"de": [">>en<<", ">>de<<"], "en": [">>de<<", ">>en<<"]},
            {"de": [], "en": []},
        ),
        (("tokenizer.target_mark=target",), {"de": [], "en": []}, {"de": [">>de<<"], "en": [">>en<<"]}),
    ],
)
def test_marks_of_languages_are_read_and_predicted(
    tmp_path: Path, options: tuple[str, ...], before: dict[str, list[str]], start: dict[str, list[str]]
) -> None:
    """In training and in validation, in both directions, where the recipe puts them."""
    corpus = '{name="news", train=["news-*.en", "news-*.de"], valid=["web.en-de.tsv"], both=true}'
    ready, _ = of_recipe(write_text(tmp_path), tmp_path / "run", f"data.corpora=[{corpus}]", *options)
    tokenizer = ready.tokenizer
    pieces = tokenizer.source_pieces
    texts = {"train": ready.training, **{to: text for (_, to), text in ready.validation.items()}}
    for name, text in texts.items():
        source, target = text.epoch(0, seed=1)
        for row in range(len(text)):
            own = {
                side: tokenizer.decode(rows[row].tolist()) for side, rows in (("x", source), ("y", target))
            }
            to = "de" if (own["x"], own["y"]) in PAIRS else "en"
            assert name in ("train", to)
            assert (own["x"], own["y"])[:: 1 if to == "de" else -1] in PAIRS
            marked = [one for one in pieces(source[row].tolist()) if one.startswith(">>")]
            begun = [one for one in pieces(target[row].tolist()) if one.startswith(">>")]
            assert (marked, begun) == (before[to], start[to])
            assert pieces(source[row].tolist())[: len(marked)] == marked


def test_formality_is_that_of_each_target_language_and_behind_its_mark(tmp_path: Path) -> None:
    """Sources are marked as `Translator` marks them."""
    rows = {"de": "{} Siehst du es?", "fr": "{} Le voyez-vous ?"}
    corpora = []
    for to, target in rows.items():
        text = "".join(f"{n} Do you see it?\t{target.format(n)}\n" for n in range(30))
        (tmp_path / f"a.en-{to}.tsv").write_text(text, encoding="utf-8")
        corpora.append(f'{{name="{to}", train=["a.en-{to}.tsv"]}}')
    (tmp_path / "recipe.toml").write_text(f'preset = "tiny"\ndata.corpora = [{", ".join(corpora)}]\n')
    ready, _ = of_recipe(tmp_path, tmp_path / "run", "tokenizer.vocab_size=320", "data.formality=1")
    found = {tuple(row) for row in sources_of(ready, 0)}
    ways: dict[str, Formality] = {"de": "informal", "fr": "formal"}
    for to, how in ways.items():
        line = ready.tokenizer.address("en", to) + "7 Do you see it?"
        (tokens,) = ready.tokenizer.encode_source([line])
        assert tuple(reading(ready.tokenizer, line, tokens, Guidance(formality=how)).tokens) in found
    with pytest.raises(ConfigError, match="data.formality: no rules for cs"):
        prepared(tmp_path / "x", "data.formality=0.5", "data.target_language=cs")
    # A model that has learnt it for another language may be tuned.
    resolve(overrides=["data.formality=0.5", "data.target_language=cs", "tuning.base=x"])
