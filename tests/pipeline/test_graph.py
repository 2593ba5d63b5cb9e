"""The steps of a file: their order, their commands, and what they read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.pipeline.graph import Pipeline

TWO = """
[[steps]]
name = "a"
shell = "cp {data}/x {out}"
[[steps]]
name = "b"
run = "score {data}/x {a} -o {out}"
"""


def read(tmp_path: Path, text: str, *, data: bool = True) -> Pipeline:
    (tmp_path / "x").write_text("1\n")
    path = tmp_path / "p.toml"
    path.write_text(text)
    return Pipeline.read(path, tmp_path / "out", tmp_path if data else None)


def test_steps_come_after_what_they_need(tmp_path: Path) -> None:
    text = '[[steps]]\nname = "last"\nshell = "cat {first} {middle}"\n'
    text += '[[steps]]\nname = "middle"\nshell = "cat {first}"\n[[steps]]\nname = "first"\nshell = "echo"\n'
    found = read(tmp_path, text)
    assert list(found.steps) == ["first", "middle", "last"]
    assert found.needs(found.steps["last"]) == ["first", "middle"]


def test_steps_otherwise_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """What is trained is scored before the next is trained."""
    commands = {"b": "", "score-b": "{b}", "a": "", "score-a": "{a}"}
    text = "".join(f'[[steps]]\nname = "{name}"\nshell = "echo {of}"\n' for name, of in commands.items())
    assert list(read(tmp_path, text).steps) == list(commands)


def test_a_command_has_the_places_and_results(tmp_path: Path) -> None:
    place = tmp_path / "a place"
    place.mkdir()
    found = read(
        place, TWO + '[[steps]]\nname = "c"\nrun = "train --recipe {here}/r.toml -o {out}"\nprocesses = 2\n'
    )
    a, b, c = (found.steps[name] for name in "abc")
    out = place / "out"
    assert found.command(a) == ["/bin/sh", "-ec", f"cp '{place}'/x '{out}/a'"]
    assert found.command(b) == [
        sys.executable,
        "-m",
        "dragoman",
        "score",
        f"{place}/x",
        f"{out}/a",
        "-o",
        f"{out}/b",
    ]
    assert found.command(c)[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert found.by_hand(b) == f"dragoman score '{place}/x' '{out}/a' -o '{out}/b'"


def test_a_digest_changes_with_the_command_the_files_and_what_is_needed(tmp_path: Path) -> None:
    before = read(tmp_path, TWO).digests()
    assert read(tmp_path, TWO).digests() == before
    changed = read(tmp_path, TWO.replace("-o {out}", "--lowercase -o {out}")).digests()
    assert (changed["a"], changed["b"] != before["b"]) == (before["a"], True)
    found = read(tmp_path, TWO)
    (tmp_path / "x").write_text("2\n")
    after = found.digests()
    assert after["a"] != before["a"]
    assert after["b"] != before["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no steps"),
        ("steps = 3", "steps"),
        ('[[steps]]\nshell = "x"', "name"),
        ('[[steps]]\nname = "a"', "a has neither run nor shell|neither run and shell"),
        ('[[steps]]\nname = "a"\nrun = "x"\nshell = "y"', "a has both"),
        ('[[steps]]\nname = "A b"\nrun = "x"', "name = 'A b'"),
        ('[[steps]]\nname = "out"\nrun = "x"', "name = 'out'"),
        ('[[steps]]\nname = "../a"\nrun = "x"', "name = '../a'"),
        ('[[steps]]\nname = "a"\nrun = "x {b}"', "a needs {b}, which is no step"),
        ('[[steps]]\nname = "a"\nrun = "x {a}"', "steps need each other: a -> a"),
        (TWO.replace("{data}/x {out}", "{b} {out}"), "steps need each other"),
        (TWO.replace('name = "b"', 'name = "a"'), "same name"),
        ('[[steps]]\nname = "a"\nrun = "x \'y"', "a: No closing quotation"),
        ('[[steps]]\nname = "a"\nrun = "x"\nprocesses = 0', "processes"),
        ('[[steps]]\nname = "a"\nshell = "x\\u0000y"', "a: a command has no NUL"),
        (f'[[steps]]\nname = "{"a" * 300}"\nrun = "x"', "cannot be used"),
        ('[[steps]]\nname = "a"\nrun = "x"\ncolour = 1', "colour"),
    ],
)
def test_a_mistake_is_one_clear_error(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, text).digests()


def test_the_folder_of_the_text_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a needs {data}"):
        read(tmp_path, TWO, data=False)


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in "pq":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text("1\n")
    text = '[[steps]]\nname = "a"\nrun = "score {data}/p/x {data}/q/x"\n'
    before = read(tmp_path, text).digests()
    (tmp_path / "p" / "x").write_text("2\n")
    assert read(tmp_path, text).digests() != before


@pytest.mark.parametrize("place", ["{data}/in", "{data}/in/", "{data}/."])
def test_all_files_below_a_folder_count(place: str, tmp_path: Path) -> None:
    text = f'[[steps]]\nname = "a"\nrun = "data clean {place} -o {{out}}"\n'
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "p.en-de.tsv").write_text("1\n")
    before = read(tmp_path, text).digests()
    (tmp_path / "in" / "sub" / "p.en-de.tsv").write_text("2\n")
    assert read(tmp_path, text).digests() != before


def test_results_in_the_folder_of_the_text_do_not_count(tmp_path: Path) -> None:
    text = '[[steps]]\nname = "a"\nrun = "data clean {data}/. -o {out}"\n'
    before = read(tmp_path, text).digests()
    (tmp_path / "out" / "a").mkdir(parents=True)
    (tmp_path / "out" / "pipeline.json").touch()
    assert read(tmp_path, text).digests() == before


@pytest.mark.parametrize("name", ["two words", "a (1)", "b, c", "d & e", "it's"])
def test_a_word_of_run_is_one_file_whatever_its_name(name: str, tmp_path: Path) -> None:
    words = f"""score "{{data}}/{name}" "--score={{data}}/{name}" -o {{out}}"""
    text = f"[[steps]]\nname = 'a'\nrun = '''{words}'''\n"
    (tmp_path / name).write_text("1\n")
    found = read(tmp_path, text)
    assert found.files(found.steps["a"]) == {f"{{data}}/{name}": [tmp_path / name]}


@pytest.mark.parametrize(
    "shell",
    [
        "cat {data}/p.en; echo",
        "for l in en de; do cat {data}/p.$l; done",
        "cat {data}/${which}.en|sort>{out}",
        "# don't\\ncat {data}/p.en",
        "cat '{data}/p.en'",
    ],
)
def test_a_file_in_the_words_of_a_shell_counts(shell: str, tmp_path: Path) -> None:
    text = f'[[steps]]\nname = "a"\nshell = "{shell}"\n'
    (tmp_path / "p.en").write_text("1\n")
    before = read(tmp_path, text).digests()
    (tmp_path / "p.en").write_text("2\n")
    assert read(tmp_path, text).digests() != before


def test_a_step_that_no_other_runs_beside_is_alone(tmp_path: Path) -> None:
    text = "".join(
        f'[[steps]]\nname = "{name}"\nshell = "cat {needs}"\n'
        for name, needs in [("a", ""), ("b", "{a}"), ("c", "{a}"), ("d", "{b} {c}")]
    )
    found = read(tmp_path, text)
    assert [name for name, step in found.steps.items() if found.alone(step)] == ["a", "d"]
