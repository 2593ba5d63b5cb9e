"""The house stands: imports point downwards, in no circle; text knows no torch; nothing is unpickled.

The sources are read, not run, so an import inside a function or under TYPE_CHECKING counts like any other.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from dragoman.translation.native.build import unavailable

SRC = Path(__file__).parents[1] / "src"
PACKAGE = SRC / "dragoman"
SAVED = Path(__file__).parent / "saved" / "0.1"
MODEL, TEXT = str(SAVED / "transformer"), str(SAVED / "text" / "test.en")
TSV = str(SAVED.parent.parent / "translation/memory/pairs.tsv")

# A file or folder of the package -> its floor; the longest name that fits counts. A room may import what
# stands on a lower floor, and itself.
FLOORS = {
    "version": 0,
    "base": 0,
    "text": 1,
    "models.loops": 1,
    "models": 2,
    "translation.search": 3,
    "translation.lines": 3,
    "translation.memory": 3,
    "translation.terms": 4,
    "translation.folder": 4,
    "models.search": 4,
    "models.folder": 5,
    "translation.native": 6,
    "interop": 6,
    "interop.html": 7,
    "interop.firefox": 8,
    "inspection": 6,
    "training": 6,
    "translation": 7,
    "documents": 8,
    "evaluation": 8,
    "training.runs": 9,
    "bulk": 9,
    "data": 9,
    "serving": 9,
    "course": 10,
    "pipeline": 1,
    "pipeline.forecast": 10,
    "cli": 11,
    "__main__": 12,
}
PUBLIC = "dragoman"  # the package itself re-exports the house, so nothing inside may import it
# Rooms that load no torch, whatever is imported from them.
TORCHLESS = (
    *("base", "text", "translation", "documents", "evaluation", "serving", "bulk", "data", "course", "cli"),
)
# To check a recipe, or to tokenise text in many processes, loads none either.
TORCHLESS_FILES = (
    *("models.shapes", "models.operations", "models.adapter"),
    *(
        "training.events",
        "training.metrics",
        "training.options",
        "training.runs.prepare",
        "training.runs.run",
    ),
    *(
        "training.data.tokenised",
        "training.data.tokenising",
        "training.data.workers",
        "training.data.mixture",
    ),
    *("training.distillation.distributions", "training.processes.distributed", "training.runs.tuning.texts"),
)
# The only file that may read a pickle, and only the tensors in it.
READS_TENSORS = "dragoman.interop.huggingface.files"
PICKLES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
PICKLING_CALLS = {"torch.load", "torch.save", "torch.jit.load", "torch.hub.load", "torch.package"}
SLOW_TO_IMPORT = ["torch", "transformers", "numpy", "sacrebleu", "sentencepiece"]
# What a translation with the native engine does without. The tokenizer needs sentencepiece.
HEAVY = [
    *("torch", "transformers", "numpy", "sacrebleu", "safetensors", "huggingface_hub", "filelock"),
    *("rich", "pydantic", "multiprocessing", "urllib.request", "ray", "pyarrow"),
]
# What one plain line does without, besides these: each module costs milliseconds at every start.
UNUSED = [
    *("asyncio", "concurrent.futures", "email", "html", "importlib.metadata", "secrets"),
    *("sqlite3", "statistics", "tomllib", "xml", "yaml", "sentencex", "rapidfuzz", "markdown_it"),
    *("dragoman.text.sentences", "dragoman.text.abbreviations", "dragoman.text.checks.faults"),
    *("dragoman.text.lexicon", "dragoman.translation.memory", "dragoman.translation.terms"),
    *("dragoman.translation.folder.adapter", "dragoman.translation.folder.risk"),
    *("dragoman.translation.folder.shortlist", "dragoman.translation.protected"),
    *("dragoman.translation.search.evidence", "dragoman.translation.search.risk"),
    *("dragoman.documents.formats", "dragoman.documents.translate", "dragoman.cli.train", "dragoman.serving"),
]
MOST_MODULES = 100  # of ours
COMMANDS = [
    "demo",
    "train",
    "translate",
    "bulk",
    "back-translate",
    "evaluate",
    "risk",
    "serve",
    "score",
    "inspect",
    "positions",
    "distil",
    "ladder",
    "studio",
    "config",
    "doctor",
    "model",
    *(
        f"model {command}"
        for command in ("info", "verify", "average", "diff", "shortlist", "merge", "calibrate")
    ),
    "memory",
    *(f"memory {command}" for command in ("add", "search", "import", "export", "info")),
]

Imports = dict[str, set[str]]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def sources() -> dict[str, str]:
    return {module_name(path): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def imported(source: str) -> Iterator[str]:
    """Every name a source imports, in full: `from a import b` is `a.b`, whether b is a module or not."""
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.ImportFrom():
                raise AssertionError(f"line {node.lineno}: a relative import: spell it out")
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


def inner_imports(modules: dict[str, str]) -> Imports:
    """Module -> the modules of ours it imports."""
    graph: Imports = {}
    for module, source in modules.items():
        ours = {name for name in imported(source) if name.split(".")[0] == "dragoman"}
        graph[module] = {name if name in modules else name.rpartition(".")[0] for name in ours} - {module}
    return graph


def room(module: str) -> str:
    names = module.split(".")[1:]
    while names and ".".join(names) not in FLOORS:
        names.pop()
    return ".".join(names) or PUBLIC


def upward(graph: Imports) -> list[str]:
    found = []
    for module, targets in graph.items():
        here = room(module)
        for target in sorted(targets):
            there = room(target)
            if here in (there, PUBLIC):
                continue
            if there == PUBLIC or FLOORS[there] >= FLOORS[here]:
                found.append(f"{module} imports {target}")
    return found


def circle(graph: Imports) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def pickling(source: str) -> list[str]:
    found = [name for name in imported(source) if name.split(".")[0] in PICKLES or name in PICKLING_CALLS]
    spelled = {
        alias.asname or alias.name: alias.name
        for node in nodes(source)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and any(name.endswith(f".{node.attr}") for name in PICKLING_CALLS):
            head, _, rest = ast.unparse(node).partition(".")
            name = f"{spelled.get(head, head)}.{rest}"
            found += [name] if name in PICKLING_CALLS else []
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append(f"allow_pickle, line {node.lineno}")
    return found


# The house


def test_every_room_has_a_floor() -> None:
    homeless = [module for module in sources() if room(module) == PUBLIC != module]

    assert homeless == [], "give the new room its floor in FLOORS"


def test_rooms_have_at_most_a_dozen_files_side_by_side() -> None:
    crowded = {
        str(folder.relative_to(PACKAGE)): len(files)
        for folder in {path.parent for path in PACKAGE.rglob("*.py")}
        if len(files := [path for path in folder.glob("*.py") if path.stem != "__init__"]) > 13
    }

    assert crowded == {}, "make a folder for a subject, or merge small files into the one that uses them"


def test_imports_point_downwards() -> None:
    assert upward(inner_imports(sources())) == []


def test_imports_make_no_circle() -> None:
    assert circle(inner_imports(sources())) == []


def test_nothing_is_pickled() -> None:
    modules = sources()
    assert (
        modules[READS_TENSORS].count("torch.load(") == modules[READS_TENSORS].count("weights_only=True") == 1
    )
    pickled = {module: found for module, source in modules.items() if (found := pickling(source))}

    assert pickled == {READS_TENSORS: ["torch.load"]}


# Start-up: what is loaded, seen from outside


def loaded_by(code: str, slow: Sequence[str] = SLOW_TO_IMPORT) -> list[str]:
    """The slow libraries a fresh interpreter holds after running `code`."""
    report = f"\nimport sys; print([name for name in {slow!r} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    answer = ast.literal_eval(result.stdout.splitlines()[-1])
    assert isinstance(answer, list)
    return answer


def test_importing_the_package_loads_nothing_slow() -> None:
    assert loaded_by("import dragoman") == []


def torchless(module: str) -> bool:
    name = module.removeprefix("dragoman.")
    return any(f"{name}.".startswith(f"{place}.") for place in (*TORCHLESS, *TORCHLESS_FILES))


@pytest.mark.thorough
def test_plain_data_and_text_load_no_torch() -> None:
    modules = [name for name in sources() if torchless(name)]

    assert len(modules) >= len(TORCHLESS)
    assert "torch" not in loaded_by(f"import {', '.join(modules)}")


@pytest.mark.thorough
def test_checking_a_recipe_loads_nothing_slow() -> None:
    code = """
from dragoman.training.runs import recipe, reference
recipe.resolve(overrides=["model.heads=4"])
reference.to_toml(reference.sections(recipe.Recipe()))
"""
    assert loaded_by(code) == []


def test_help_loads_nothing_slow() -> None:
    code = f"""
import sys
from dragoman.cli import main
for words in [[], *(command.split() for command in {COMMANDS})]:
    sys.argv = ["dragoman", *words, "--help"]
    try:
        main()
    except SystemExit as done:
        assert not done.code, (words, done.code)
"""
    assert loaded_by(code) == []


@pytest.mark.thorough
@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
@pytest.mark.parametrize(
    "options",
    [[], ["--jsonl", "--beam", "3"], ["--jsonl", "--risk"], ["-o", "out.de"], ["--memory", TSV, "--jsonl"]],
)
def test_the_native_engine_translates_without_heavy_libraries(options: list[str], tmp_path: Path) -> None:
    code = f"""
import os, sys
from dragoman.cli import main
os.chdir({str(tmp_path)!r})
sys.argv = ["dragoman", "translate", {MODEL!r}, {TEXT!r}, *{options}]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
"""
    assert loaded_by(code, HEAVY) == []


@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_one_plain_line_imports_only_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "line").write_text("Tom sleeps.\n", encoding="utf-8")
    code = f"""
import sys
from dragoman.cli import main
sys.argv = ["dragoman", "translate", {MODEL!r}, {str(tmp_path / "line")!r}, "--format", "lines"]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
ours = [name for name in sys.modules if name.split(".")[0] == "dragoman"]
assert len(ours) <= {MOST_MODULES}, (len(ours), ours)
"""
    assert loaded_by(code, [*HEAVY, *UNUSED]) == []


@pytest.mark.thorough
@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_a_native_translator_loads_no_heavy_libraries() -> None:
    code = f"""
from dragoman import Translator
translator = Translator.load({MODEL!r})
assert len(translator.translate(["Tom sleeps.", ""], beam=2, n_best=2)) == 2
assert len(translator.score(["Tom sleeps."], ["Tom schläft."])) == 1
assert len(translator.risk(["Tom sleeps."], ["Tom schläft."])) == 1
"""
    assert loaded_by(code, HEAVY) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ["translate", "nowhere"],
        ["translate", "nowhere", "--beam", "0"],
        ["translate", "nowhere", "--temperature", "2"],
        ["evaluate", "nowhere", "a.en", "a.de"],
        ["evaluate", "nowhere", "a.en", "a.de", "--beam", "0"],
        ["inspect", "nowhere", "A dog."],
        ["score", "nowhere", "nowhere"],
        ["ladder", "nowhere.toml", "-o", "out"],
        ["distil", "nowhere", "a.en", "a.de", "-o", "out"],
        ["translate", MODEL, "nowhere.txt"],
        ["evaluate", MODEL, "nowhere.en", "nowhere.de"],
        ["model", "info", "nowhere"],
        ["model", "verify", "nowhere"],
        ["model", "diff", MODEL, "nowhere"],
        ["model", "average", MODEL, "nowhere", "-o", "out"],
        ["model", "shortlist", "nowhere", "a.en", "a.de"],
        ["model", "shortlist", MODEL, "nowhere.en", "nowhere.de"],
        ["model", "calibrate", "nowhere", "a.en", "a.de"],
        ["model", "calibrate", MODEL, "nowhere.en", "nowhere.de"],
        ["model", "calibrate", MODEL, "a.en", "a.de", "--pairs", "0"],
        ["evaluate", MODEL, TEXT, TEXT, "--risk"],
        ["risk", "nowhere", "a.en", "a.de"],
        ["back-translate", "nowhere", TEXT],
        ["back-translate", MODEL, "nowhere.txt"],
        ["back-translate", MODEL, TEXT, "-o", "out.en-de.tsv"],
        [MODEL, TEXT, TEXT, "--reverse", "nowhere", "--keep", "1", "-o", "out.tsv"],
        [MODEL, "nowhere.en", "nowhere.de", "--by", "round-trip", "--scores", "out"],
        ["model", "average", MODEL, MODEL, "-o", MODEL],
    ],
    ids=lambda words: " ".join(Path(word).name for word in words),
)
def test_a_wrong_command_line_is_refused_without_torch(words: list[str]) -> None:
    code = f"""
import sys
from dragoman.cli import main
sys.argv = ["dragoman", *{words}]
try:
    main()
except SystemExit as done:
    assert done.code in (2, 3, 4), done.code
"""
    assert "torch" not in loaded_by(code)


# The checks themselves can fail


def test_an_upward_import_is_found_wherever_it_hides() -> None:
    hiding_places = [
        "from dragoman.cli import main",
        "import dragoman.cli",
        "from dragoman import cli",
        "from dragoman import Translator",
        "def f():\n    import dragoman.cli as c",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dragoman.cli import main",
        "import importlib\nimportlib.import_module('dragoman.cli')",
    ]
    for source in hiding_places:
        graph = inner_imports({"dragoman": "", "dragoman.cli": "", "dragoman.text.corpora.corpus": source})
        assert len(upward(graph)) == 1, source
    with pytest.raises(AssertionError, match="relative"):
        inner_imports({"dragoman.text.corpora.corpus": "from ..cli import main"})


def test_downward_imports_are_free() -> None:
    source = "from dragoman.base import errors\nfrom dragoman.base.errors import DataError\nimport json"
    graph = inner_imports(
        {"dragoman": "", "dragoman.base.errors": "", "dragoman.text.corpora.corpus": source}
    )

    assert graph["dragoman.text.corpora.corpus"] == {"dragoman.base.errors"}
    assert upward(graph) == []


def test_siblings_are_kept_apart() -> None:
    graph = inner_imports({"dragoman.training.t": "", "dragoman.inspection.i": "import dragoman.training.t"})

    assert upward(graph) == ["dragoman.inspection.i imports dragoman.training.t"]


def test_a_circle_is_found() -> None:
    graph = inner_imports(
        {
            "dragoman.text.a": "from dragoman.text import b",
            "dragoman.text.b": "def f():\n    import dragoman.text.a",
        }
    )

    assert set(circle(graph)) == {"dragoman.text.a", "dragoman.text.b"}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "def f():\n    from pickle import loads",
        "import torch\ntorch.load('x')",
        "import torch as t\nt.save(1, 'x')",
        "from torch import load",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
    ],
)
def test_pickling_is_found(source: str) -> None:
    assert len(pickling(source)) == 1


def test_loading_without_pickle_is_free() -> None:
    source = (
        "import json, torch\nfrom safetensors.torch import load_file\njson.load(open('x'))\ntorch.ones(1)"
    )

    assert pickling(source) == []
