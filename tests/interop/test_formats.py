"""The table of formats: whose model a folder holds, and what the code of each format can do."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.interop.firefox_models import firefox

from dragoman.base.errors import ModelError
from dragoman.interop.formats import FORMATS, ExportFormat, format_of, read_model

FIXTURES = Path(__file__).parent / "fixtures"
SAVED = Path(__file__).parents[1] / "saved" / "0.2" / "transformer"
READ: tuple[ExportFormat, ...] = ("huggingface", "marian", "firefox")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_all_that_an_export_needs(name: ExportFormat) -> None:
    pytest.importorskip("sentencepiece")
    form = FORMATS[name]

    wanted = {"write", "notes", "verify"} | ({"read"} if name in READ else set())
    assert {one for one in wanted if not callable(getattr(form.code, one, None))} == set()
    assert hasattr(form.code, "read") == (name in READ)


@pytest.mark.parametrize("name", FORMATS)
def test_the_extra_of_a_format_installs_its_program(name: ExportFormat) -> None:
    form = FORMATS[name]
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]

    needed = project["optional-dependencies"][form.extra]
    assert [line for line in needed if line.startswith(form.package)]


@pytest.mark.parametrize(("folder", "name"), [("hf-opus", "huggingface"), ("marian-ssru", "marian")])
def test_whose_model_a_folder_holds(folder: str, name: ExportFormat) -> None:
    assert format_of(FIXTURES / folder) is FORMATS[name]


def test_a_model_of_ours_beside_other_arrays_is_ours(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"format_version": 1}')
    (tmp_path / "alignments.npz").touch()
    assert format_of(tmp_path) is None


@pytest.mark.parametrize(
    ("model", "name"), [("model.ende.intgemm.alphas.bin", "firefox"), ("model.npz", "marian")]
)
def test_of_two_models_the_configuration_names_the_one_that_counts(
    model: str, name: ExportFormat, tmp_path: Path
) -> None:
    firefox(tmp_path)
    (tmp_path / "model.npz").touch()
    (tmp_path / "config.yml").write_text(f"models: [{model}]\n")
    assert format_of(tmp_path) is FORMATS[name]


def test_a_model_of_any_kind_is_read(tmp_path: Path) -> None:
    assert format_of(SAVED) is None
    assert read_model(SAVED).config.model.architecture == "transformer"
    assert read_model(FIXTURES / "hf-opus").config.model.architecture == "transformer"
    with pytest.raises(ModelError):
        read_model(tmp_path)


def test_the_table_needs_no_libraries() -> None:
    code = "import sys, dragoman.interop.formats; sys.exit(bool({'torch', 'numpy'} & sys.modules.keys()))"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
