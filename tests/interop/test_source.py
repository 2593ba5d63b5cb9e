"""Folders, archives and names on the hub, opened safely."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.base.errors import ConfigError, DataError, DragomanError, ModelError
from dragoman.interop import source
from dragoman.interop.source import is_hub_name, opened

FILES = {"config.json": b"{}", "model.safetensors": b"weights", "sub/vocab.json": b"[]"}


def zip_of(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def tar_of(path: Path, files: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_folder_is_itself(tmp_path: Path) -> None:
    with opened(str(tmp_path)) as folder:
        assert folder == tmp_path


@pytest.mark.parametrize(
    "pack",
    [
        lambda path, files: zip_of(path / "m.zip", files),
        lambda path, files: tar_of(path / "m.tar.gz", files),
        lambda path, files: tar_of(path / "m.tar", files, "w"),
        lambda path, files: tar_of(path / "m.txz", files, "w:xz"),
    ],
    ids=["zip", "tar.gz", "tar", "xz"],
)
def test_an_archive_is_unpacked_for_the_time_being(
    pack: Callable[[Path, dict[str, bytes]], Path], tmp_path: Path
) -> None:
    with opened(str(pack(tmp_path, FILES))) as folder:
        assert contents(folder) == FILES
        place = folder
    assert not place.exists()


def test_a_single_folder_inside_is_the_model(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "m.zip", {f"opus/en-de/{name}": data for name, data in FILES.items()})
    with opened(str(archive)) as folder:
        assert contents(folder) == FILES


def test_what_the_finder_of_macos_adds_is_not_the_model(tmp_path: Path) -> None:
    """Beside a folder, its zip archives have one of attributes."""
    files = {f"en-de/{name}": data for name, data in FILES.items()} | {"__MACOSX/en-de/._config.json": b""}
    with opened(str(zip_of(tmp_path / "m.zip", files))) as folder:
        assert contents(folder) == FILES


@pytest.mark.parametrize("given", [".", "model.ende.bin"])
def test_a_file_beside_its_zipped_form_is_not_written(given: str, tmp_path: Path) -> None:
    for name in ("model.ende.bin", "vocab.ende.spm"):
        (tmp_path / name).write_bytes(b"unzipped")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"zipped"))
    before = contents(tmp_path)
    with opened(tmp_path / given) as folder:
        assert contents(folder) == dict.fromkeys(("model.ende.bin", "vocab.ende.spm"), b"unzipped")
    assert contents(tmp_path) == before


def test_only_the_hub_has_revisions(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--revision"), opened(tmp_path, revision="v2"):
        pass


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "..\\evil.txt", "C:evil.txt"]
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_leads_out_is_refused(name: str, kind: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    pack = zip_of if kind == "zip" else tar_of
    archive = pack(inside / f"m.{kind}", {"config.json": b"{}", name: b"evil"})
    with pytest.raises(DataError, match="points outside the archive"), opened(str(archive)):
        pass
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [archive.name]


@pytest.mark.parametrize(
    "names",
    [("a", "a/b"), ("a/b", "a"), (".",), ("x" * 300,)],
    ids=["below a file", "a folder", "dot", "long"],
)
def test_a_name_that_no_file_can_have_is_one_error(names: tuple[str, ...], tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "model.zip", dict.fromkeys(names, b""))

    with pytest.raises(DataError, match=r"model\.zip.*unpacked"), opened(str(archive)):
        pass


def test_a_file_without_a_name_is_one_error(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "model.zip", {"@": b"1"})
    archive.write_bytes(archive.read_bytes().replace(b"@", b"\0"))  # a name ends before a zero

    with pytest.raises(DataError, match=r"model\.zip.*unpacked"), opened(str(archive)):
        pass


def test_an_archive_that_asks_for_too_much_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As xz does with a limit on memory, in 21 bytes."""

    def fail(_: object) -> bool:
        raise MemoryError

    monkeypatch.setattr("tarfile.is_tarfile", fail)
    (tmp_path / "model.tar.xz").write_bytes(b"Q" + b"\xff" * 16)
    with pytest.raises(DataError, match="needs too much memory"), opened(str(tmp_path / "model.tar.xz")):
        pass


def test_an_archive_that_names_the_languages(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "opus-mt-en-de.zip", {"config.json": b"{}"})

    with opened(str(archive)) as folder:
        assert folder.name == "opus-mt-en-de"


def tar_with(path: Path, kind: bytes) -> Path:
    with tarfile.open(path, "w") as packed:
        entry = tarfile.TarInfo("vocab.json")
        entry.type, entry.linkname = kind, "/etc/passwd"
        packed.addfile(entry)
    return path


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE], ids=str
)
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    archive = tar_with(tmp_path / "m.tar", kind)
    with pytest.raises(DataError, match="is not a regular file"), opened(str(archive)):
        pass


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("vocab.json")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as packed:
        packed.writestr(entry, "/etc/passwd")
    with pytest.raises(DataError, match="is not a regular file"), opened(str(tmp_path / "m.zip")):
        pass


@pytest.mark.parametrize("cut", [10, 60, -30])
def test_a_truncated_archive(cut: int, tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "m.tar.gz", {"model.safetensors": bytes(range(256)) * 40})
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises((DataError, ModelError), match=r"m\.tar\.gz"), opened(str(archive)):
        pass


def test_a_bomb_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_BYTES", 3 * 2**20)
    with zipfile.ZipFile(tmp_path / "m.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("model.bin", bytes(40 * 2**20))
    with pytest.raises(DataError, match="more than 3,145,728 bytes"), opened(str(tmp_path / "m.zip")):
        pass


def test_too_many_files(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "m.zip", {f"{n}.txt": b"" for n in range(1001)})
    with pytest.raises(DataError, match="more than 1,000 files"), opened(str(archive)):
        pass


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_text("weights")
    with pytest.raises(ModelError, match="not a zip or tar archive"), opened(str(path)):
        pass


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"), opened(str(tmp_path / "a" / "b")):
        pass


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Helsinki-NLP/opus-mt-en-de", True),
        ("./opus-mt/en-de", False),
        ("opus", False),
        ("a/b/c", False),
        ("/a/b", False),
        ("../b", False),
    ],
)
def test_names_on_the_hub(name: str, expected: bool) -> None:
    assert is_hub_name(name) is expected


def test_a_misspelled_path_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    assert not is_hub_name("runs/en-de")
    with pytest.raises(ModelError, match="runs/en-de: no such model folder"), opened("runs/en-de"):
        pass


class Hub:
    """The hub with one model, as huggingface_hub shows it."""

    def __init__(self, files: list[str], folder: Path) -> None:
        self.files, self.folder, self.wanted = files, folder, [""]

    def list_repo_files(self, name: str, revision: str | None = None) -> list[str]:
        return self.files

    def snapshot_download(self, name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        self.wanted = allow_patterns
        return str(self.folder)


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        (
            ["model.safetensors", "pytorch_model.bin", "tf_model.h5", "run.py"],
            {"model.safetensors"},
        ),
        (["pytorch_model.bin", "rust_model.ot", "run.py"], {"pytorch_model.bin"}),
        (["model.safetensors.index.json", "model-00001-of-00002.safetensors"], {"model-*-of-*.safetensors"}),
        (["pytorch_model.bin.index.json"], {"pytorch_model-*-of-*.bin"}),
    ],
)
def test_only_the_files_of_an_import_are_downloaded(
    files: list[str], weights: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    hub = Hub(files, tmp_path)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    with opened("owner/model") as folder:
        assert folder == tmp_path
    assert weights <= {*hub.wanted}
    assert not any(name.endswith(("py", "h5", "ot")) or name == "*" for name in hub.wanted)


def test_without_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")

    class ConnectError(Exception):
        """As an HTTP library raises it."""

    def refuse(name: str, revision: str | None = None) -> list[str]:
        raise ConnectError("no route to host")

    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: SimpleNamespace(list_repo_files=refuse))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DragomanError, match="the hub cannot be reached"), opened("owner/no-such-model"):
        pass
