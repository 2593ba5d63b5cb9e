"""Files and folders: each whole or not at all, and an error in one keeps nothing from the others."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents import files
from dragoman.documents.files import Outcome, left_out_of, tasks_of, translate_file, translate_files
from dragoman.documents.formats import FORMATS
from dragoman.translation.translator import Translator
from tests.documents.pretend import Pretend


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two texts, one of them in a folder below, and a file of no known format."""
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("A dog.\n")
    (tmp_path / "in" / "below" / "b.txt").write_text("A cat.\n")
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path / "in"


def run(paths: list[Path], output: Path | None, change: object = str.upper, **options: object) -> Outcome:
    tasks = tasks_of(paths, output)
    translator = cast("Translator", Pretend(change))  # type: ignore[arg-type]
    return translate_files(translator, tasks, **options)  # type: ignore[arg-type]


def test_one_file_goes_to_one_file(folder: Path, tmp_path: Path) -> None:
    outcome = run([folder / "a.txt"], tmp_path / "new.txt")
    assert (tmp_path / "new.txt").read_text() == "A DOG.\n"
    assert (outcome.counts.segments, outcome.doubts, outcome.failed) == (1, [], [])


def test_a_file_goes_into_a_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    run([folder / "a.txt"], tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "A DOG.\n"


def test_other_xml_in_a_folder_is_left_out(tmp_path: Path) -> None:
    """An Android app has layouts and a manifest beside its strings."""
    res = tmp_path / "res"
    res.mkdir()
    (res / "AndroidManifest.xml").write_text('<?xml version="1.0"?>\n<manifest package="a"/>\n')
    (res / "page.xml").write_text("<html><p>A dog</p></html>")
    (res / "empty.xml").write_text("")
    (res / "strings.xml").write_text(
        '<!-- A dog. -->\n<resources><string name="a">A dog</string></resources>'
    )
    (res / "b.xml").write_text("<resources><string")  # damaged: its reader says so
    tasks = tasks_of([res], tmp_path / "out")
    assert [one.source.name for one in tasks] == ["b.xml", "strings.xml"]
    assert [one.name for one in left_out_of([res], tasks, None)] == [
        "AndroidManifest.xml",
        "empty.xml",
        "page.xml",
    ]
    android = tasks_of([res], tmp_path / "out", FORMATS["android"])
    assert len(android) == 5  # as the caller says


def test_one_column_needs_no_list(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,a,b\n1,dog,cat\n")
    translate_file(
        cast("Translator", Pretend(str.upper)), tmp_path / "a.csv", tmp_path / "b.csv", columns="b"
    )
    assert (tmp_path / "b.csv").read_text() == "id,a,b\n1,dog,CAT\n"


def test_without_an_output_the_bytes_are_given(folder: Path) -> None:
    got: list[bytes] = []
    run([folder / "a.txt"], None, write=got.append)
    assert got == [b"A DOG.\n"]


def test_a_folder_goes_to_a_folder_of_the_same_shape(folder: Path, tmp_path: Path) -> None:
    run([folder], tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "A DOG.\n"
    assert (tmp_path / "out" / "below" / "b.txt").read_text() == "A CAT.\n"
    assert not (tmp_path / "out" / "picture.png").exists()


def test_the_output_may_be_inside_the_folder(folder: Path) -> None:
    for _ in range(2):
        run([folder], folder / "out")
    assert not (folder / "out" / "out").exists()


def test_the_output_may_be_around_the_folder(folder: Path) -> None:
    names = [task.output for task in tasks_of([folder], folder.parent)]
    assert names
    assert all(name is not None and name.parent == folder.parent for name in names[:1])


def test_an_output_with_a_slash_at_its_end_is_a_folder(folder: Path, tmp_path: Path) -> None:
    translate_file(cast("Translator", Pretend(str.upper)), folder / "a.txt", f"{tmp_path}/new/")
    assert (tmp_path / "new" / "a.txt").is_file()


def test_a_folder_in_the_place_of_a_translation_is_refused(folder: Path, tmp_path: Path) -> None:
    task = tasks_of([folder], tmp_path / "new")[0]
    assert task.output is not None
    task.output.mkdir(parents=True)
    with pytest.raises(ConfigError, match="is a folder"):
        tasks_of([folder], tmp_path / "new")


def test_files_of_other_formats_are_named_but_for_hidden_and_translated_ones(folder: Path) -> None:
    (folder / ".git").mkdir()
    for name in (".git/HEAD", ".hidden", "b.po", "below/c.bin"):
        (folder / name).write_text("x")
    (folder / "link").symlink_to(folder / "below", target_is_directory=True)
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    output = folder / "out"
    for _ in range(2):
        tasks = tasks_of([folder], output, FORMATS["text"])
        left_out = left_out_of([folder, folder / "a.txt"], tasks, output)
        names = [str(path.relative_to(folder)) for path in left_out]
        assert names == ["b.po", "gone.txt", "link", "picture.png", "below/c.bin"]
        translate_files(cast("Translator", Pretend()), tasks)


def test_translations_of_the_file_stay_unless_asked(tmp_path: Path) -> None:
    source, new = tmp_path / "a.po", tmp_path / "b.po"
    source.write_text('msgid "a"\nmsgstr "Eins"\n\nmsgid "b"\nmsgstr ""\n')
    translator = cast("Translator", Pretend(str.upper))
    counts = translate_file(translator, source, new).counts
    assert (counts.filled, counts.kept, counts.translated) == (1, 1, 1)
    assert 'msgstr "Eins"' in new.read_text()
    assert translate_file(translator, source, new, retranslate=True).counts.replaced == 1
    assert 'msgstr "A"' in new.read_text()


def test_an_error_keeps_nothing_from_the_others(folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_bytes(b"Gr\xfc\xdfe\n")
    outcome = run([folder], tmp_path / "out")
    ((path, error),) = outcome.failed
    assert path.name == "a.txt"
    assert str(error) == f"{folder / 'a.txt'}: line 1: not utf-8"
    assert not (tmp_path / "out" / "a.txt").exists()
    assert (tmp_path / "out" / "below" / "b.txt").exists()


def test_an_output_that_cannot_be_written_is_an_error_of_that_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "below").write_text("no folder")
    outcome = run([folder], tmp_path / "out")
    ((path, error),) = outcome.failed
    assert path.name == "b.txt"
    assert "cannot be written" in str(error)
    assert (tmp_path / "out" / "a.txt").exists()


def test_a_file_that_cannot_be_read_is_an_error_of_that_file(folder: Path, tmp_path: Path) -> None:
    tasks = tasks_of([folder], tmp_path / "out")
    (folder / "a.txt").unlink()
    outcome = translate_files(cast("Translator", Pretend()), tasks)
    assert "No such file" in str(outcome.failed[0][1])


def test_doubts_are_listed_with_their_place(folder: Path, tmp_path: Path) -> None:
    (folder / "a.txt").write_text("A dog.\n\n5 cats.\n")
    outcome = run([folder / "a.txt"], tmp_path / "out.txt", lambda word: word.replace("5", "6"))
    (doubt,) = outcome.doubts
    assert (doubt.where, doubt.source, doubt.translation) == ("line 3", "5 cats.", "6 cats.")
    assert doubt.reasons == ("number differs: 5 missing", "number differs: 6 added")


def test_one_call_translates_one_file(folder: Path, tmp_path: Path) -> None:
    translator = cast("Translator", Pretend(str.upper))
    outcome = translate_file(translator, folder / "a.txt", tmp_path / "b", format="text")
    assert ((tmp_path / "b").read_text(), outcome.counts.translated) == ("A DOG.\n", 1)
    (folder / "a.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not utf-8"):
        translate_file(translator, folder / "a.txt", tmp_path / "c")


def test_what_would_not_be_read_again_is_not_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of defence against a broken file."""

    def broken(*_: object) -> None:
        raise DataError("line 1: broken")

    monkeypatch.setattr(files, "_read_back", broken)
    outcome = run([folder / "a.txt"], tmp_path / "out.txt")
    assert [str(error) for _, error in outcome.failed] == [f"{folder / 'a.txt'}: line 1: broken"]
    assert not (tmp_path / "out.txt").exists()


def test_a_file_that_is_too_large_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_LARGEST", 5)
    (_, error), *_ = run([folder / "a.txt"], tmp_path / "out.txt").failed
    assert "larger than" in str(error)


def test_the_format_may_be_chosen(folder: Path, tmp_path: Path) -> None:
    (task,) = tasks_of([folder / "a.txt"], None, FORMATS["markdown"])
    assert task.format is FORMATS["markdown"]
    with pytest.raises(DataError, match="no document in this folder"):
        tasks_of([folder], tmp_path / "out", FORMATS["po"])


def test_mistakes_are_said_before_any_work(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: no such file"):
        tasks_of([folder / "none.txt"], None)
    with pytest.raises(ConfigError, match="2 input files need an output folder"):
        tasks_of([folder], None)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        tasks_of([folder], tmp_path / "file")
    with pytest.raises(ConfigError, match="is one of the files to translate"):
        tasks_of([folder / "a.txt"], folder / "a.txt")
    with pytest.raises(ConfigError, match="there is no table"):
        translate_file(cast("Translator", Pretend()), folder / "a.txt", tmp_path / "out.txt", columns="2")
    with pytest.raises(ConfigError, match="would both go to"):
        (folder / "below" / "a.txt").write_text("")
        tasks_of([folder / "a.txt", folder / "below" / "a.txt"], tmp_path / "out")
