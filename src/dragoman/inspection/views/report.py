"""The report: one HTML file with the traces and the files of `page/`. It needs no network.

Its content security policy allows the script and style of the file only, and loads nothing else.

A server sends the modules of `page/` as they are. A file opened from disk cannot import its neighbours,
because browsers give it no origin. The report therefore has all modules in one script: a module follows
its imports, and `import` and `export` are left out. One hash in the content security policy then
allows this script alone. Modules as data: or blob: URLs would need a policy that allows any script of that
kind.

So the modules share one scope in the report. They import by name from `./`, without renaming, and no two
define the same name.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dragoman.inspection.positions import laboratory
from dragoman.inspection.record import Positions, Record, to_table

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) )", re.MULTILINE)


def report(
    traces: Sequence[Record],
    positions: Positions | None = None,
    *,
    base: float = 10000.0,
    title: str = "",
    difference: dict[str, Any] | None = None,
) -> str:
    """Return a page about one trace or two side by side; without a trace, about `positions` with `base`.

    `difference` comes from a `Contrast`, whose two traces these are.
    """
    title = title or " | ".join(dict.fromkeys(trace.source.text for trace in traces)) or "Positions"
    lab: dict[str, Any] | None = None
    if not traces:
        positions = positions or laboratory(base=base)
        length, width = positions.tables[0].values.shape
        lab = {**to_table(positions, compact=True), "width": width, "length": length, "base": base}
    data = data_of(traces, difference) | {"positions": lab}
    style, script = page_files()["style.css"], script_of("app")
    policy = f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
    policy += "base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title><style>{style}</style></head>\n"
        '<body><noscript>This page needs JavaScript.</noscript><main id="app"></main>\n'
        f'<script type="application/json" id="data">{_inert(data)}</script>\n'
        f'<script type="module">{script}</script></body></html>\n'
    )


def data_of(traces: Sequence[Record], difference: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the data of the views, as plain values for JSON."""
    tables = [trace.to_table(compact=True) for trace in traces]
    return {"traces": tables, "difference": difference, "positions": None}


def _inert(data: Any) -> str:
    """Return JSON in which an HTML parser sees no markup."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page_files() -> dict[str, str]:
    """Return the content of each file in `page/` by its name, and the module that all pages share."""
    package = files("dragoman")
    found = [file for file in (package / "inspection/views/page").iterdir() if file.is_file()]
    shared = package / "serving/web/dom.js"
    return {file.name: file.read_text(encoding="utf-8") for file in [*found, shared]}


@cache
def script_of(entry: str) -> str:
    """Return the script of the module `entry` and all its imports."""
    sources, order = page_files(), list[str]()

    def add(name: str) -> None:
        for _, imported in _IMPORT.findall(sources[f"{name}.js"]):
            if imported not in order:
                add(imported)
        order.append(name)

    add(entry)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", sources[f"{name}.js"])) for name in order)
