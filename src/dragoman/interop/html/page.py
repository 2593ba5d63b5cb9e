"""A page in one HTML file that translates in the browser, without a network. Needs PyTorch only to quantise.

The file has

    the page of the server        `serving/web`, whose requests `page/local.js` answers
    the engine                    engine.wasm, and engine.js in the script
    the files of each model       in int8, deflated, as base64, each in an element that is no script
    "page"                        JSON: the choices, and where each file is

Sentences are split by the browser (`page/sentences.js`). The page has no files, terms, memories or
adapters, and does not protect placeholders.
"""

from __future__ import annotations

import html
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError
from dragoman.base.files import new_file
from dragoman.base.html.document import PACKAGE, bundled, deflated, document, inert
from dragoman.base.languages import base, language_name
from dragoman.base.machine import require_pytorch
from dragoman.interop.formats import format_of
from dragoman.interop.source import opened
from dragoman.text.abbreviations import titles_and_abbreviations
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import CARD, WEIGHTS, FolderConfig, read_config
from dragoman.translation.folder.digest import check_digest
from dragoman.translation.folder.vocabulary import tokenizer_of_folder
from dragoman.translation.lines import Directions
from dragoman.translation.native.native import unsupported
from dragoman.translation.native.web.wasm import engine_wasm
from dragoman.translation.search.alignment import aligning_of
from dragoman.version import __version__

VIEWS = ("difference", "translation", "attention", "beam", "positions", "terms", "complexity")  # of views.js
_CHARACTERS = 20_000  # of a text
_WEB, _VIEWS, _OWN = "serving/web", "inspection/views/page", "interop/html/page"
_UNSTARTED = re.compile(r'(<p id="unstarted"[^>]*>).*?(</p>)', re.DOTALL)
_LICENCE = re.compile(r"^licen[cs]e: *(\S.*)$", re.MULTILINE)  # in the front matter of a card


@dataclass(frozen=True, kw_only=True)
class PageModel:
    """A model for the page. `files` are those of an int8 folder."""

    name: str
    config: FolderConfig
    tokenizer: Tokenizer
    files: dict[str, bytes]
    card: str

    @cached_property
    def directions(self) -> Directions:
        """Its languages."""
        stated = self.config.source_language, self.config.target_language
        return Directions(self.tokenizer, stated, self.config.directions)

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """The pairs of languages that it translates: each source to each other language of the targets."""
        return [{"sources": sources, "targets": targets} for sources, targets in self.directions.offered]


def export_page(models: Sequence[str | Path], output: Path, *, views: Sequence[str] = VIEWS) -> int:
    """Write the page to the new file `output`, and return its size in bytes.

    `views` name what "Look inside sentence" shows; without any, the page does not offer it. Raises
    ConfigError, before anything is written, if a model cannot run in a page, a view is unknown, `output`
    exists, or engine.wasm is missing.
    """
    if unknown := [one for one in views if one not in VIEWS]:
        raise ConfigError(f"--views {unknown[0]}: unknown view", hint=f"choose {', '.join(VIEWS)}, or none")
    paths = [Path(model).resolve() for model in models]
    if again := [model for i, model in enumerate(models) if paths[i] in paths[:i]]:
        raise ConfigError(f"{again[0]}: given twice", hint="name each model once")
    with new_file(output) as part:
        wasm = engine_wasm().read_bytes()
        names = [path.name for path in paths]
        names = names if len(set(names)) == len(names) else list(map(str, models))
        found = [page_model(model, name) for model, name in zip(models, names, strict=True)]
        return part.write_bytes(_page(found, wasm, views).encode(errors="replace"))  # names may be no text


def page_model(model: str | Path, name: str) -> PageModel:
    """Return a model in int8. Raises ConfigError if the engine in a page cannot run it."""
    with opened(model) as folder, tempfile.TemporaryDirectory(prefix="dragoman-") as temporary:
        if (form := format_of(folder)) is not None:
            require_pytorch(f"{model}: converting the model")
            from dragoman.models.folder.bundle import save

            save(form.read(folder), folder := Path(temporary, "float32"))
        config = read_config(folder)
        tokenizer = tokenizer_of_folder(folder, config)
        reason = unsupported(config.model)
        if tokenizer.config.kind == "words":
            reason = reason or "it has no tokenizer of words"
        if tokenizer.config.punctuation:
            reason = reason or "it does not normalise punctuation"
        if reason:
            raise ConfigError(
                f"{model}: the engine in a page cannot run this model: {reason}",
                hint="Transformers with SentencePiece can; dragoman serve has a page for all models",
            )
        if not config.quantised:
            require_pytorch(f"{model}: quantising the model")
            from dragoman.models.folder.quantisation import quantise_folder

            quantise_folder(folder, folder := Path(temporary, "int8"))
            config = read_config(folder)
        check_digest(folder / WEIGHTS, config.weights)
        names = [
            "config.json",
            "generation.json",
            *(one.name for one in sorted(folder.glob("tokenizer*"))),
            WEIGHTS,
        ]
        files = {name: (folder / name).read_bytes() for name in names}
        card = folder / CARD
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        return PageModel(name=name, config=config, tokenizer=tokenizer, files=files, card=text)


def _page(models: Sequence[PageModel], wasm: bytes, views: Sequence[str]) -> str:
    data, facts = {"engine": deflated(wasm)}, []
    for number, model in enumerate(models):
        ids = {name: f"file-{number}-{place}" for place, name in enumerate(model.files)}
        data |= {ids[name]: deflated(content) for name, content in model.files.items()}
        facts.append({"files": ids, **facts_of(model)})
    page = {
        "offer": _offer(models, how="#how&" if views else False),
        "files": facts,
        "views": list(views),
        "version": __version__,
    }
    inspecting = [f"{_OWN}/inspecting.js", f"{_VIEWS}/how.js"] if views else []
    styles = [_text(f"{_WEB}/style.css"), _text(f"{_OWN}/page.css")]
    styles += [_text(f"{_VIEWS}/style.css") + _text(f"{_VIEWS}/how.css")] if views else []
    return document(
        title=f"Translate {', '.join(dict.fromkeys(map(_pair, models)))}",
        body=_body(models, inspecting=bool(views)),
        script=bundled(
            f"{_OWN}/start.js", f"{_WEB}/main.js", *inspecting, instead={f"{_WEB}/api.js": f"{_OWN}/local.js"}
        ),
        styles=styles,
        data={"page": inert(page), **data},
        engine=True,
    )


def _offer(models: Sequence[PageModel], *, how: str | bool) -> dict[str, Any]:
    """The answer to GET /v1/page (`serving/page/routes.py`)."""
    targets: dict[str, dict[str, None]] = {}
    for sources, own in chain.from_iterable(one.directions.offered for one in models):
        for source in sources:
            targets.setdefault(source, {}).update(dict.fromkeys(one for one in own if one != source))
    codes = dict.fromkeys([*targets, *chain.from_iterable(targets.values())])
    names = [
        {"code": one, "name": language_name(one), "targets": list(targets.get(one, ()))} for one in codes
    ]
    return {
        "languages": names,
        "models": [{"name": one.name, "pairs": one.pairs, "adapters": [], "terms": []} for one in models],
        "memories": [],
        "how": how,
        "detects": False,
        "limits": {"characters": _CHARACTERS, "file_bytes": 0},
    }


def facts_of(model: PageModel) -> dict[str, Any]:
    """What `page/local.js` has to know of a model beside its files."""
    aligning = aligning_of(model.config.model, model.config.alignment)
    placeholders, directions = model.tokenizer.placeholders, model.directions
    sources = [code for codes, _ in directions.offered for code in codes]
    return {
        "config": json.loads(model.files["config.json"]),
        "tags": {"source": directions.tags, "to": directions.tags if directions.targets else {}},
        "attention": str(aligning.attention) if aligning else "1",
        "reading": bool(aligning and aligning.reading),
        "banned": [*model.config.generation.banned, *(placeholders[1] if placeholders else ())],
        "unknown": model.tokenizer.unk_id,
        "endless": {code: titles_and_abbreviations(base(code)) for code in sources},
    }


def _body(models: Sequence[PageModel], *, inspecting: bool) -> str:
    page = _text(f"{_WEB}/index.html").partition("<body>")[2].partition("</body>")[0]
    page = _UNSTARTED.sub(r"\1This page has not started: copy or download the file again.\2", page)
    app = '<main id="app" hidden></main>' if inspecting else ""
    about = f"<details><summary>About this page</summary>{''.join(map(_about, models))}</details>"
    return f'{page}{app}<footer id="about" class="about">{about}</footer>'


def _about(model: PageModel) -> str:
    licence = _LICENCE.search(model.card)
    rows = {
        "model": model.name,
        "languages": _pair(model),
        "licence": licence[1].strip() if licence else "not named by its card",
        "weights": f"{len(model.files[WEIGHTS]) / 1e3:,.0f} KB in int8",
    }
    terms = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in rows.items())
    card = f'<pre tabindex="0">{html.escape(model.card)}</pre>'
    more = f"<details><summary>Model card</summary>{card}</details>" if model.card else ""
    return f"<section><dl>{terms}</dl>{more}</section>"


def _pair(model: PageModel) -> str:
    pairs = ((map(language_name, one["sources"]), map(language_name, one["targets"])) for one in model.pairs)
    return "; ".join(f"{', '.join(sources)} to {', '.join(targets)}" for sources, targets in pairs)


def _text(path: str) -> str:
    return (PACKAGE / path).read_text(encoding="utf-8")
