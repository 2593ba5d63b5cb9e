"""Argos Translate: packages that its library, its desktop program and LibreTranslate install.

A package, NAME.argosmodel, is a zip archive with one folder:

    metadata.json          the languages, by their ISO 639 codes
    model/                 the model of CTranslate2
    sentencepiece.model    the tokenizer of both languages
    README.md
    minisbd/NAME.onnx      a splitter into sentences, if one is passed

Argos Translate splits text into sentences first. Without a splitter in the package it downloads MiniSBD's
model of the source language when it first translates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.base.files import replacing
from dragoman.base.languages import base, canonical, language_name
from dragoman.interop import ctranslate2
from dragoman.interop.pieces import sentencepiece_model
from dragoman.interop.verify import Agreement
from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.models.folder.bundle import Bundle

# Options that Argos Translate passes to CTranslate2 (argostranslate/translate.py).
_BEAM, _LENGTH_PENALTY, _MIN_TOKENS, _MAX_TOKENS = 4, 0.2, 1, 256

_PACKAGE_VERSION = "1.0"
_ARGOS_VERSION = "1.9"  # the oldest that reads such a package
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every file, so that equal models give equal packages
_MODE = 0o644
_MADE = f"A model of dragoman, exported by version {__version__}."

_UNKNOWN = "und"  # the code of an unknown language in ISO 639-3

_CODES = {"pt-BR": "pb", "zh-Hant": "zt"}  # Argos Translate's; the others have their ISO 639-1 code
_NAMES = {"nb": "Norwegian"}


def language(code: str) -> tuple[str, str]:
    """Return Argos Translate's code and the English name of a language: "deu" is ("de", "German").

    A language that is not in our list keeps its code, also as its name.
    """
    usual = canonical(code)
    if usual in _CODES:
        return _CODES[usual], language_name(usual)
    return base(code), _NAMES.get(base(code)) or language_name(base(code))


def unsupported(bundle: Bundle) -> list[str]:
    """Return the parts of the model that an Argos package cannot hold, in plain words."""
    reasons = ctranslate2.unsupported(bundle)
    tokenizer = bundle.tokenizer
    models = [vocabulary.to_files().get(".spm") for vocabulary in tokenizer.vocabularies]
    if None in models:
        reasons.append("a tokenizer of words: Argos Translate cuts text with SentencePiece")
    elif models[0] != models[1]:
        reasons.append("two SentencePiece models: a package has one for both languages")
    if tokenizer.config.punctuation is not None:
        reasons.append("normalised punctuation: Argos Translate passes the text as it is")
    if tokenizer.languages:
        reasons.append("a choice of target languages: a package translates between two languages")
    codes = [language(code)[0] for code in (bundle.source_language, bundle.target_language)]
    if _UNKNOWN in codes:
        reasons.append("unknown languages: a package needs the codes of both")
    elif codes[0] == codes[1]:
        reasons.append(f"a translation from {codes[0]} to {codes[0]}: Argos Translate copies such text")
    return reasons


def notes(bundle: Bundle) -> list[str]:
    """Return the changes in Argos Translate, one sentence or two each."""
    name = language(bundle.source_language)[1]
    return [
        f"Argos Translate always searches with a beam of {_BEAM} and divides scores by "
        f"length^{_LENGTH_PENALTY}. It computes in int8 unless ARGOS_COMPUTE_TYPE=default is set.",
        f"Argos Translate downloads its splitter into sentences of {name} at first use.",
    ]


def write(
    bundle: Bundle, path: Path, *, quantization: str | None = None, splitter: Path | None = None
) -> None:
    """Write the package, whole or not at all.

    `quantization` is as in `ctranslate2.write`. `splitter` is a model of MiniSBD in ONNX that splits text
    into sentences; with it the package needs no network. Raises ConfigError, before anything is written,
    with everything that a package cannot hold.
    """
    if reasons := unsupported(bundle):
        what = f"an Argos package cannot hold this model: {'; '.join(reasons)}"
        raise ConfigError(what, hint="choose another format")
    if splitter is not None and not splitter.is_file():
        raise ConfigError(f"{splitter}: no such file", hint="pass a model of MiniSBD, for example en.onnx")
    source, target = (language(code) for code in (bundle.source_language, bundle.target_language))
    metadata = {
        "package_version": _PACKAGE_VERSION,
        "argos_version": _ARGOS_VERSION,
        "from_code": source[0],
        "from_name": source[1],
        "to_code": target[0],
        "to_name": target[1],
        "type": "translate",
    }
    contents: dict[str, bytes | Path] = {
        "metadata.json": (json.dumps(metadata, indent=2) + "\n").encode(),
        "README.md": f"# {source[1]} to {target[1]}\n\n{_MADE}\n".encode(),
        # `unsupported` has refused words, which have no such model.
        "sentencepiece.model": cast(bytes, sentencepiece_model(bundle.tokenizer, "source")),
    }
    with TemporaryDirectory() as temporary:
        ctranslate2.write(bundle, Path(temporary), quantization=quantization)
        model = sorted(file for file in Path(temporary).iterdir() if file.suffix in (".bin", ".json"))
        contents |= {f"model/{file.name}": file for file in model}
        if splitter is not None:
            contents[f"minisbd/{splitter.stem}.onnx"] = splitter
        _pack(path, f"translate-{source[0]}_{target[0]}-{_PACKAGE_VERSION.replace('.', '_')}", contents)


class ArgosTranslate:
    """Argos Translate with the package installed, in a process and folders of its own.

    It translates text and gives no scores. Without a splitter in the package, lines are not split into
    sentences, because that needs a download. `compute_type` is CTranslate2's; Argos Translate's own choice,
    "auto", is int8 on most processors, whatever the weights are.
    """

    def __init__(self, package: Path, *, compute_type: str = "auto") -> None:
        self.name = f"Argos Translate {version('argostranslate')}"
        self._package, self._compute_type = package.resolve(), compute_type

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Return the translation of each line, by beam search as the desktop program does it.

        Raises DragomanError if Argos Translate cannot install or use the package.
        """
        with TemporaryDirectory() as home:
            # Argos Translate reads these when it is imported, and creates the folders.
            places = dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), home)
            packages, answers = Path(home) / "packages", Path(home) / "answers.json"
            packages.mkdir()
            places |= {"ARGOS_PACKAGES_DIR": str(packages), "ARGOS_COMPUTE_TYPE": self._compute_type}
            places |= {"ARGOS_INTRA_THREADS": "1"}
            kept = {key: value for key, value in os.environ.items() if not key.startswith("ARGOS_")}
            run = subprocess.run(
                [sys.executable, "-P", "-W", "ignore", "-c", _TRANSLATE, str(self._package), str(answers)],
                input=json.dumps(list(lines)),
                env=kept | places,
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                last = run.stderr.strip().rpartition("\n")[2]
                raise DragomanError(f"{self._package}: {self.name} cannot use it: {last}")
            texts: list[str] = json.loads(answers.read_text(encoding="utf-8"))
            return texts


def verify(bundle: Bundle, package: Path, lines: Sequence[str]) -> Agreement:
    """Compare the package that `write` made of the bundle. Raises DragomanError if they disagree.

    Argos Translate gives no tokens and no scores. So the model of the package is compared in CTranslate2,
    see `ctranslate2.verify`, and then Argos Translate's texts with CTranslate2's.
    """
    program = ArgosTranslate(package)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        _unpack(package, folder)
        comparison = ctranslate2.verify(bundle, folder, lines)
        peer = ctranslate2.Program(folder, compute_type="auto")
        # One at a time, as Argos Translate does it: with int8 the other lines of a batch change the rounding.
        targets = [
            peer.search(
                peer.encode([line]), [_MAX_TOKENS], beam=_BEAM, length_penalty=_LENGTH_PENALTY,
                min_tokens=_MIN_TOKENS,
            )[0]
            for line in lines
        ]  # fmt: skip
        wanted = [text.replace("_", " ").removeprefix(" ") for text in peer.decode(targets)]
    answers = zip(lines, targets, wanted, program.translate(lines), strict=True)
    for line, target, text, answer in answers:
        # Argos Translate replaces an unknown token by a word of the source.
        if text != answer and bundle.tokenizer.unk_id not in target:
            raise DragomanError(
                f"{program.name} disagrees on the translation of {line!r}: CTranslate2 has {text!r}, "
                f"it has {answer!r}",
                hint="please report this model; --no-verify skips the comparison",
            )
    return replace(comparison, program=f"{program.name} with {comparison.program}")


# Runs in the other process. It uses Argos Translate's public functions but for the splitter.
_TRANSLATE = """
import json, sys
from pathlib import Path
from argostranslate import package, translate

class WholeLine:  # without the spaces around it, as the real splitters do it
    def split_sentences(self, text):
        return [text.strip()]

package.install_from_path(Path(sys.argv[1]))
(installed,) = package.get_installed_packages([Path(package.settings.package_data_dir)])
translation = translate.get_translation_from_codes(installed.from_code, installed.to_code)
if installed.packaged_sbd_path is None:
    translation.underlying.sentencizer = WholeLine()
lines = json.load(sys.stdin)
texts = [translation.translate(line) if line.strip() else "" for line in lines]
Path(sys.argv[2]).write_text(json.dumps(texts), encoding="utf-8")
"""


def _unpack(package: Path, folder: Path) -> None:
    """Put the model of a package into `folder`, with its tokenizer."""
    folder.mkdir()
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if "/model/" in name or name.endswith("/sentencepiece.model"):
                (folder / name.rpartition("/")[2]).write_bytes(archive.read(name))


def _pack(path: Path, folder: str, contents: dict[str, bytes | Path]) -> None:
    """Write the archive with one folder of these files, whole or not at all."""
    with replacing(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}", date_time=_EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE << 16
            archive.writestr(entry, content if isinstance(content, bytes) else content.read_bytes())
