"""One HTML file from ES modules, a style sheet and data. It needs no network and no other file.

A server sends modules as they are. A file opened from disk cannot import its neighbours, because browsers
give it no origin. It therefore has all modules in one script: each becomes a function that returns what the
module exports, and stands behind those that it imports. One hash in the content security policy then allows
this script alone. Modules as data: or blob: URLs would need a policy that allows any script of that kind.

Modules import from relative paths, with `import {...}` or `import * as`. They export functions, classes and
constants where they define them. A module that is not beside its importer is in `serving/web`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function\*?|const|class) (\w+)", re.MULTILINE)
PACKAGE = Path(str(files("dragoman")))
_SHARED = PACKAGE / "serving" / "web"


def bundled(*entries: str, instead: Mapping[str, str] | None = None) -> str:
    """Return one script of modules and all their imports. Paths are relative to the package.

    `instead` names modules that take the place of others.
    """
    places = {PACKAGE / one: PACKAGE / other for one, other in (instead or {}).items()}
    parts: dict[Path, str] = {}

    def name(path: Path) -> str:
        return "$" + re.sub(r"\W", "_", path.relative_to(PACKAGE).with_suffix("").as_posix())

    def add(path: Path) -> None:
        source = path.read_text(encoding="utf-8")

        def taken(found: re.Match[str]) -> str:
            names, whole, target = found.groups()
            module = (path.parent / target).resolve()
            module = module if module.is_file() else _SHARED / module.name
            module = places.get(module, module)
            if module not in parts:
                add(module)
            return f"const {whole or '{' + names.replace(' as ', ': ') + '}'} = {name(module)};\n"

        body = _IMPORT.sub(taken, source)
        exports = ", ".join(own for _, own in _EXPORT.findall(body))
        body = _EXPORT.sub(r"\1 \2", body)
        parts[path] = f"const {name(path)} = (() => {{\n{body}\nreturn {{{exports}}};\n}})();\n"

    for entry in entries:
        if PACKAGE / entry not in parts:
            add(PACKAGE / entry)
    return "\n".join(parts.values())


def document(
    *,
    title: str,
    body: str,
    script: str,
    styles: Sequence[str],
    data: Mapping[str, str],
    engine: bool = False,
    language: str = "en",
) -> str:
    """Return the file. `body` is HTML; each text of `data` becomes an element with its name as id.

    The content security policy allows this script and these styles, and loads nothing. With `engine`, the
    script may also compile WebAssembly and start workers of its own text.
    """
    scripts = [_digest(script), *(["wasm-unsafe-eval"] if engine else [])]
    policy = {
        "default-src": ["none"],
        "script-src": scripts,
        "style-src": [_digest(style) for style in styles],
        "base-uri": ["none"],
        "form-action": ["none"],
    }
    text = "; ".join(f"{name} " + " ".join(f"'{one}'" for one in values) for name, values in policy.items())
    text += "; worker-src blob:" if engine else ""
    parts = [
        f'<!doctype html>\n<html lang="{html.escape(language)}"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        *(f"<style>{style}</style>" for style in styles),
        f"</head>\n<body>{body}",
        *(f'<script type="text/plain" id="{name}">{text}</script>' for name, text in data.items()),
        f'<script type="module">{script}</script></body></html>\n',
    ]
    return "\n".join(parts).encode("utf-8", "replace").decode()  # names of files may be any bytes


def scripted_page(
    title: str, script: str, data: Mapping[str, str], *, name: str = "app", styles: Sequence[str] = ()
) -> str:
    """Return a `document` that a script builds, in the element `name`. Paths are as in `page_styles`."""
    body = f'<noscript>This page needs JavaScript.</noscript><main id="{name}"></main>'
    return document(title=title, body=body, script=script, styles=page_styles(*styles), data=data)


def page_styles(*own: str) -> list[str]:
    """Return the style that all pages have, and those at these paths, relative to the package."""
    return [(PACKAGE / one).read_text(encoding="utf-8") for one in ("inspection/views/page/style.css", *own)]


def inert(data: Any) -> str:
    """Return JSON in which an HTML parser sees no markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def deflated(data: bytes) -> str:
    """Return bytes as text, for `unpacked` of `translation/native/web/packed.js`."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
