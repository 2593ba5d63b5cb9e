"""The modules of the pages can be served one by one and script_of to one script."""

from __future__ import annotations

import re

import pytest

from dragoman.inspection.views import report as modules
from dragoman.inspection.views.report import page_files, script_of

MODULES = {name: text for name, text in page_files().items() if name.endswith(".js")}
DEFINED = r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)"


def imports(text: str) -> list[tuple[str, str]]:
    """(name, file) of each import."""
    pairs = re.findall(r'^import \{([^}]*)\} from "\./(\w+\.js)";$', text, re.MULTILINE)
    return [(name, file) for names, file in pairs for name in re.findall(r"[^\s,]+", names)]


def test_no_two_modules_define_the_same_name() -> None:
    names = [name for text in MODULES.values() for name in re.findall(DEFINED, text, re.MULTILINE)]
    assert len(names) > 150
    assert {name for name in names if names.count(name) > 1} == set()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_what_it_uses(module: str) -> None:
    text = MODULES[module]
    lines = re.findall(r"^(?:import|export)\b.*", text, re.MULTILINE)
    body = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL)
    taken = imports(text)

    assert all(re.match(r"import \{|" + DEFINED, line) for line in lines)
    assert len(re.findall(r"^import [^;]*\"\./", text, re.MULTILINE)) == len({file for _, file in taken})
    for name, file in taken:
        assert re.search(rf"^export (?:async )?(?:function|const) {name}\b", MODULES[file], re.MULTILINE)
        assert re.search(rf"\b{name}\b", code), f"{module} does not use {name}"


def test_a_module_follows_those_that_it_imports() -> None:
    script = script_of("app")
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)
    places = {name: script.index(text.splitlines()[0]) for name, text in MODULES.items()
              if text.splitlines()[0] in script}  # fmt: skip
    assert set(MODULES) - set(places) == {"how.js", "changes.js"}
    for name in places:
        assert all(places[file] < places[name] for _, file in imports(MODULES[name]))
    assert script.count(MODULES["data.js"].splitlines()[0]) == 1


def test_what_is_not_joined_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.js": 'import { b } from "./b.js";\n\nb();\n', "b.js": "export const b = () => 1;\n"}
    monkeypatch.setattr(modules, "page_files", lambda: files)
    assert script_of.__wrapped__("a") == "const b = () => 1;\n\n\nb();\n"
