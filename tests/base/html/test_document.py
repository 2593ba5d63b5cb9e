"""One HTML file from ES modules, a style sheet and data."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dragoman.base.html import document as module
from dragoman.base.html.document import PACKAGE, bundled, document, inert

MODULES = sorted(path for path in PACKAGE.rglob("*.js"))
DEFINED = r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)"
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    monkeypatch.setattr(module, "_SHARED", tmp_path)
    return tmp_path


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_what_it_uses(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    body = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL)
    lines = re.findall(r"^export\b.*", text, re.MULTILINE)
    assert all(re.match(DEFINED, line) and " let " not in line for line in lines)
    for names, target in IMPORT.findall(text):
        file = (module.parent / target).resolve()
        file = file if file.is_file() else PACKAGE / "serving" / "web" / file.name
        exporter = file.read_text(encoding="utf-8")
        for name, own in re.findall(r"(\w+)(?: as (\w+))?", names):
            assert re.search(
                rf"^export (?:async )?(?:function\*?|const|class) {name}\b", exporter, re.MULTILINE
            )
            assert re.search(rf"\b{own or name}\b", code), f"{module} does not use {name}"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_modules_run_as_one_script(package: Path) -> None:
    (package / "web").mkdir()
    (package / "a.js").write_text(
        'import { one as uno,\n    Two } from "./web/b.js";\nimport * as all from "./web/c.js";\n\n'
        "const own = uno() + new Two().value + all.three;\nconsole.log(own);\n"
    )
    (package / "web" / "b.js").write_text(
        'import { three } from "./c.js";\n\nconst own = three;\n'
        "export function one() {\n    return own - 2;\n}\nexport class Two {\n    value = 2;\n}\n"
    )
    (package / "web" / "c.js").write_text(
        'import { own } from "../web/shared.js";\nexport const three = own;\n'
    )
    (package / "shared.js").write_text('console.log("once");\nexport const own = 3;\n')
    (package / "other.js").write_text("export const own = 30;\n")
    for instead, shown in ({}, "once\n6\n"), ({"shared.js": "other.js"}, "60\n"):
        script = bundled("a.js", "web/c.js", instead=instead)
        assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)
        assert (
            subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout == shown
        )


def test_an_entry_that_is_imported_too_runs_once(package: Path) -> None:
    (package / "a.js").write_text('import { b } from "./b.js";\nb();\n')
    (package / "b.js").write_text("export const b = () => 1;\n")
    assert bundled("b.js", "a.js").count("() => 1") == 1


def test_the_policy_allows_what_is_in_the_file_only() -> None:
    text = document(title="<i>", body="<main></main>", script="1;", styles=["a{}", "b{}"], data={"x": "y"})
    assert "<title>&lt;i&gt;</title>" in text
    assert text.count("'sha256-") == 3
    assert "wasm" not in text
    assert "blob:" not in text
    engine = document(title="", body="", script="1;", styles=[], data={}, engine=True)
    assert "'wasm-unsafe-eval'" in engine
    assert "worker-src blob:" in engine


def test_a_parser_sees_no_markup_in_data() -> None:
    assert inert({"a": "</script><!-- & \u2028"}) == '{"a":"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028"}'
