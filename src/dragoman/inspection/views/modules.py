"""The files of the pages, and their JavaScript modules as one script.

A server sends the modules of `page/` as they are. A file opened from disk cannot import its neighbours,
because browsers give it no origin. The report therefore has all modules in one script: a module follows
its imports, and `import` and `export` are left out. One hash in the content security policy then
allows this script alone. Modules as data: or blob: URLs would need a policy that allows any script of that
kind.

So the modules share one scope in the report. They import by name from `./`, without renaming, and no two
define the same name.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class) )", re.MULTILINE)


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
