"""The docs: they name what exists, and their site builds without errors and without other hosts."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import dragoman
from dragoman.cli import COMMANDS
from tests.test_imports import PACKAGE

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_commands_exist() -> None:
    named = {
        (document.name, name)
        for document in DOCUMENTS
        for name in re.findall(
            r"(?:`|^\$ |-m )dragoman ([a-z][a-z-]*)", document.read_text("utf-8"), re.MULTILINE
        )
    }

    assert len(named) > 20
    assert {(page, name) for page, name in named if name not in COMMANDS} == set()


def test_the_page_of_commands_has_all_of_them_and_every_variable() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))

    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == [
        name for name, one in COMMANDS.items() if one.help
    ]
    assert set(re.findall(r"`(DRAGOMAN_[A-Z_]+)`", page)) == set(re.findall(r"DRAGOMAN_[A-Z_]+", sources))


def test_the_rooms_are_the_true_ones() -> None:
    section = ARCHITECTURE.partition("## Rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", section, re.MULTILINE)
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

    assert {name for name, _ in rows} == folders
    for name, content in rows:
        inside = {path.parent.name for path in (PACKAGE / name).rglob("*")} | {"evaluate"}
        assert set(re.findall(r"`([a-z]+)`", content)) <= inside, name


def test_the_table_of_things_is_short() -> None:
    section = ARCHITECTURE.partition("## Where to find things")[2].partition("\n## ")[0]

    assert len(re.findall(r"^\| ", section, re.MULTILINE)) - 2 <= 20


def test_the_files_of_the_architecture_exist() -> None:
    paths = set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py|\.c|/))`", ARCHITECTURE)) | set(
        re.findall(r"# (\w+/\w+\.py)", ARCHITECTURE)
    )

    assert len(paths) > 30
    assert [path for path in sorted(paths) if not any((top / path).exists() for top in (PACKAGE, ROOT))] == []


def signatures(page: str) -> Iterator[tuple[str, str]]:
    """(name, parameters) of each line of the page's ```py blocks."""
    for block in re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            name, _, parameters = line.partition("(")
            yield name, parameters.removesuffix(")")


def test_the_signatures_of_the_python_page_are_the_true_ones() -> None:
    documented = dict(signatures((ROOT / "docs" / "python.md").read_text(encoding="utf-8")))

    assert documented.keys() >= {"Translator.load", "Translator.translate", "Decoding", "evaluate", "train"}
    for name, parameters in documented.items():
        thing = dragoman
        for part in name.split("."):
            thing = getattr(thing, part)
        true = inspect.signature(thing)
        unnamed = {"self", *({"observer", "stop"} if name == "train" else ())}
        shown = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in true.parameters.values()
            if parameter.name not in unnamed
        ]
        assert str(inspect.Signature(shown)) == f"({parameters})", name


# The site


class Loaded(HTMLParser):
    """The addresses that a page loads by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "srcset", "poster", "data") or (name == "href" and tag == "link"):
                self.addresses.append(value or "")


def elsewhere(addresses: list[str]) -> list[str]:
    return [address for address in addresses if re.match(r"\s*(?:[a-z]+:)?//", address)]


def loads(path: Path) -> list[str]:
    """The addresses on other hosts that a file of the site loads."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".html":
            return elsewhere(Loaded(text).addresses) + elsewhere(re.findall(r"url\(['\"]?([^)]+)\)", text))
        case ".css":
            return elsewhere(re.findall(r"(?:url\(|@import\s)['\"]?([^'\")]+)", text))
        case ".js":
            call = r"(?:fetch|import|importScripts|open|src\s*=|href\s*=)[\s(]*(?:['\"]GET['\"],\s*)?"
            return elsewhere(re.findall(call + r"['\"]([^'\"]+)", text))
    return []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None:
        if os.environ.get("CI"):
            pytest.fail("no mkdocs: make setup")
        pytest.skip("no mkdocs here: make setup")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.thorough
def test_the_site_has_every_page(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}

    assert len(pages) > 10
    assert {page for page in pages if not (site / page).is_file()} == set()


@pytest.mark.thorough
def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".js")]

    assert len(files) > 10
    assert {path.name: addresses for path in files if (addresses := loads(path))} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://example.org/a.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="//example.org/a.css">'),
        ("a.html", '<picture><source srcset="https://example.org/a.png"></picture>'),
        ("a.html", "<style>body { background: url('https://example.org/a.png') }</style>"),
        ("a.css", '@import "https://example.org/a.css";'),
        ("a.css", "@font-face { src: url(https://example.org/a.woff2) }"),
        ("a.js", 'fetch("https://example.org/a.json")'),
        ("a.js", 'script.src = "https://example.org/a.js"'),
    ],
)
def test_other_hosts_are_found(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    assert len(loads(path)) == 1


def test_links_to_other_hosts_are_free(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text('<a href="https://example.org">there</a><img src="a.png">', encoding="utf-8")

    assert loads(path) == []
