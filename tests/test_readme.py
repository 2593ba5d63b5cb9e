"""The commands and the Python of README and docs work, in order, in an empty folder with data of its own.

Every block of commands (```console, each command a line that begins with `$ `; a trailing backslash
continues it) and of Python (```python) carries a comment on the line above, which readers do not see:

    <!-- test: run -->                  run it; each command must exit with 0
    <!-- test: skip: takes an hour -->  do not run it, and why
    <!-- test: run; train: training.max_updates=20 -->
                                        run it, and add these words to each `dragoman train` or `distil`

Models that are trained are made small, too.

The folder holds train, valid and test, each as .en and .de, and train.tsv: a few sentences of the embedded
corpus, and memory.tmx, a few more of them. It holds documents: de.po, talk.srt, catalogue.csv, and a
folder site of Markdown and HTML. It also holds models of other programs: the folders opus-mt-en-de,
opus-mt-en-mul and firefox-ende, and the archive opus-2020-02-26.zip. A page that uses `runs/en-de` without
training it finds a model there. A file that a page tells to write is written. A later block finds the files
of an earlier one. Commands of dragoman and Python run in the process of the test, and bash runs blocks with
`&`, `$`, `||` and the like.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from tests.library import copy_of
from tests.program import run_dragoman

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SMALL, OF_OTHER_SIZE = "model.d_model=32", re.compile(r"--from |--preset tiny11|model\.d_model=")
SECONDS = 240  # for one command of a shell, on a slow machine


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    body: str
    mark: str | None  # the text between `<!-- test:` and `-->`
    page: str

    def script(self) -> str | None:
        """The program to run: the Python, or the commands for the shell. None if it is skipped.

        Raises ValueError for a block without a proper mark, or without commands.
        """
        mark = re.fullmatch(r"run(?:;\s*train:\s*(?P<words>.+))?|skip:\s*\S.*", self.mark or "")
        if mark is None:
            raise ValueError(f"{self.page}:{self.line}: mark the block, as tests/test_readme.py says")
        if not self.mark or self.mark.startswith("skip"):
            return None
        if self.language == "python":
            return self.body
        joined = re.sub(r"\\\n\s*", "", self.body)
        commands = [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]
        if not commands:
            raise ValueError(f"{self.page}:{self.line}: no line of the block begins with `$ `")
        words = mark["words"] or ""
        return "\n".join(
            f"{command} {words} {'' if OF_OTHER_SIZE.search(command) else SMALL}".rstrip()
            if command.startswith(("dragoman train ", "dragoman distil "))
            else command
            for command in commands
        )


def blocks(text: str, page: str = "README.md") -> list[Block]:
    """The blocks of commands and of Python on a page, in order."""
    listed = []
    pattern = re.compile(
        r"(?:^[ ]*<!-- test: (?P<mark>.*?) -->[ ]*\n)?^```(?P<language>[a-z]*)[ ]*\n(?P<body>.*?)^```[ ]*$",
        re.MULTILINE | re.DOTALL,
    )
    for match in pattern.finditer(text):
        if match["language"] in ("console", "python"):
            line = text.count("\n", 0, match.start("language")) + 1
            listed.append(Block(line, match["language"], match["body"], match["mark"], page))
    return listed


def put_data(folder: Path) -> None:
    """Small stand-ins for the reader's own files."""
    from dragoman.text import toy
    from dragoman.text.corpora.formats import tmx

    pairs = iter(toy.pairs(seed=1, count=320))
    for name, count in [("train", 200), ("valid", 30), ("test", 30)]:
        chosen = list(islice(pairs, count))
        for suffix, side in [("en", 0), ("de", 1)]:
            lines = [pair[side] + "\n" for pair in chosen]
            (folder / f"{name}.{suffix}").write_text("".join(lines), encoding="utf-8")
        if name == "train":
            lines = ["\t".join(pair) + "\n" for pair in chosen]
            (folder / "train.tsv").write_text("".join(lines), encoding="utf-8")
    with (folder / "memory.tmx").open("w", encoding="utf-8") as file:
        memory = [(f"Note: {source}", f"Hinweis: {target}") for source, target in islice(pairs, 60)]
        tmx.write_units(file, ((*pair, {}) for pair in memory), source="en", target="de")


def put_documents(folder: Path) -> None:
    """Small stand-ins for documents of a reader's own."""
    (folder / "site").mkdir()
    (folder / "de.po").write_text(
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
        '#: main.c:1\n#, c-format\nmsgid "The dog eats %s."\nmsgstr ""\n\n'
        'msgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
        'msgid "The cat sleeps."\nmsgstr "Die Katze schläft."\n'
    )
    (folder / "site" / "index.md").write_text("# The dog\n\nThe dog sees [a cat](https://cats.example).\n")
    (folder / "site" / "cat.html").write_text("<p>The <b>old</b> cat sleeps.</p>\n")
    (folder / "catalogue.csv").write_text('id,title,text\n1,The dog,"The dog sees\nthe cat."\n')
    (folder / "talk.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nThe dog sees\nthe cat.\n")


def put_models(folder: Path) -> None:
    """Small stand-ins for models that a reader downloads."""
    fixtures = ROOT / "tests" / "interop" / "fixtures"
    shutil.copytree(fixtures / "hf-opus", folder / "opus-mt-en-de")
    shutil.copytree(fixtures / "hf-multilingual", folder / "opus-mt-en-mul")
    shutil.make_archive(str(folder / "opus-2020-02-26"), "zip", fixtures / "marian-opus")
    from tests.interop.firefox_models import LARGE, firefox

    firefox(folder / "firefox-ende", LARGE)


PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
QUICK = ("README.md", "docs/quickstart.md", "docs/how-to/documents.md", "docs/how-to/memory.md")
WITH_COMMANDS = [name for name, text in PAGES.items() if "<!-- test: run" in text]


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_trainings_are_short(name: str) -> None:
    """Without a limit, the first model of a page would train for an hour. Tuning ends after some passes."""
    for block in blocks(PAGES[name], name):
        lines = (block.script() or "").replace("\\\n", " ").splitlines()
        for line in lines:
            if re.search(r"dragoman (train|distil) .*-o ", line) and "--from " not in line:
                assert "training.max_updates=" in line or "training.max_minutes=" in line, (
                    f"{name}:{block.line}"
                )


def test_the_pages_for_users_have_commands_to_run() -> None:
    how_to = {name for name in PAGES if name.startswith("docs/how-to/")}
    how_to.remove("docs/how-to/browser.md")  # its program runs in a page

    assert {"README.md", "docs/quickstart.md", "docs/python.md", *how_to} <= set(WITH_COMMANDS)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_run_or_says_why_not(name: str) -> None:
    for block in blocks(PAGES[name], name):
        block.script()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a few updates, for pages that use one without training it."""
    return copy_of(train_model, tmp_path_factory.mktemp("model") / "en-de")


def train_model(folder: Path) -> None:
    from dragoman import train

    with tempfile.TemporaryDirectory() as data:
        put_data(Path(data))
        text = [Path(data, f"train.{language}") for language in ("en", "de")]
        train(text, output=folder, preset="tiny", overrides=["training.max_updates=2", "training.warmup=1"])


@pytest.mark.parametrize(
    "name",
    [*QUICK, *(pytest.param(n, marks=pytest.mark.thorough) for n in WITH_COMMANDS if n not in QUICK)],
)
def test_the_commands_work(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = [(block, block.script()) for block in blocks(PAGES[name], name)]
    put_data(tmp_path)
    put_documents(tmp_path)
    if "opus-" in PAGES[name] or "firefox-ende" in PAGES[name]:
        put_models(tmp_path)
    for file, content in re.findall(r"^Write `([\w.-]+)`:\n\n```toml\n(.*?)^```$", PAGES[name], re.M | re.S):
        (tmp_path / file).write_text(content, encoding="utf-8")
    if "$ python benchmarks/" in PAGES[name]:
        (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")  # as in a checkout of the source
    if not re.search(r"-o runs/en-de(?![-\w])", PAGES[name]):
        shutil.copytree(request.getfixturevalue("model"), tmp_path / "runs" / "en-de")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONUTF8", "1")

    for block, script in scripts:
        if script is not None:
            script = with_free_port(script)
            problem = run_python(script) if block.language == "python" else run_commands(script)
            assert problem is None, f"{name}:{block.line}\n{script}\n{problem}"


def with_free_port(script: str) -> str:
    """The commands with another port than that of the page, which some program may have."""
    for port in re.findall(r"--port (\d+)", script):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            script = re.sub(rf"\b{port}\b", str(free.getsockname()[1]), script)
    return script


def run_python(script: str) -> str | None:
    """Run a program in this process. Returns what went wrong."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("default")
        try:
            exec(compile(script, "the program", "exec"), {"__name__": "__main__"})
        except BaseException:
            return traceback.format_exc()
    return None


def run_commands(script: str) -> str | None:
    """Run commands, those of dragoman in this process. Returns what went wrong."""
    lines = script.splitlines()
    listed = [pipeline_of(line) for line in lines]
    if any(stages is None and "dragoman" in line for stages, line in zip(listed, lines, strict=True)):
        return run_bash(script)  # also all others, for such as `&` and `$!`
    for line, stages in zip(lines, listed, strict=True):
        if problem := run_bash(line) if stages is None else run_pipeline(*stages):
            return f"{line}\n{problem}"
    return None


def pipeline_of(line: str) -> tuple[list[list[str]], str | None] | None:
    """The words of each command in `a | b >file`, and the file. None for what needs a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    stages: list[list[str]] = [[]]
    words = [*lexer]
    output = words.pop() if words[-2:-1] == [">"] else None
    for word in words[:-1] if output else words:
        if word == "|":
            stages.append([])
        elif set(word) <= set("();<>|&") or "$" in word:
            return None
        else:
            stages[-1].append(word)
    return (stages, output) if any(stage[:1] == ["dragoman"] for stage in stages) else None


def run_pipeline(stages: list[list[str]], output: str | None) -> str | None:
    """Run commands one after the other, each with the output of the one before."""
    content = b""
    for words in stages:
        if words[0] == "dragoman":
            with warnings.catch_warnings():
                code, out, err = run_dragoman(*words[1:], stdin=content)
        else:
            ended = subprocess.run(words, input=content, capture_output=True, timeout=SECONDS, check=False)
            code, out, err = ended.returncode, ended.stdout.decode(), ended.stderr.decode()
        if code:
            return out + err
        content = out.encode()
    if output:
        Path(output).write_bytes(content)
    return None


def run_bash(script: str) -> str | None:
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return ended.stdout + ended.stderr if ended.returncode else None


def test_links_lead_somewhere() -> None:
    """Links to pages and pictures of the repository. Links to the web are not followed."""
    dead = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCUMENTS
        for link in re.findall(
            r"\]\(([^)#\s]+)[^)]*\)|<(?:img|source)[^>]* src(?:set)?=\"([^\"]+)\"",
            document.read_text("utf-8"),
        )
        for target in link
        if target and "://" not in target and not target.startswith("mailto:")
        if not (document.parent / target).exists()
    ]

    assert dead == []


# The reader of the page itself, and the runner

PAGE = """\
Text.

<!-- test: run; train: training.steps=2 -->
```console
$ dragoman train train.en train.de \\
    -o runs/x
50 steps
$ dragoman translate runs/x test.en | head -1
Ein Mann.
```

<!-- test: skip: an hour -->
```console
$ make all
```

```toml
seed = 1
```

<!-- test: run -->
```python
print(1)
```
"""


def test_blocks_are_read_with_their_marks() -> None:
    first, second, third = blocks(PAGE)

    assert (first.line, first.language) == (4, "console")
    assert first.script() == (
        "dragoman train train.en train.de -o runs/x training.steps=2 model.d_model=32\n"
        "dragoman translate runs/x test.en | head -1"
    )
    assert second.script() is None
    assert third.script() == "print(1)\n"


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ ls\n```\n",
        "<!-- test: run -->\n\n```console\n$ ls\n```\n",
        "<!-- test: walk -->\n```console\n$ ls\n```\n",
        "<!-- test: skip: -->\n```console\n$ ls\n```\n",
        "<!-- test: run -->\n```console\nls\n```\n",
    ],
)
def test_a_block_without_a_proper_mark_is_refused(block: str) -> None:
    (unmarked,) = blocks(block)

    with pytest.raises(ValueError, match=r"README\.md:\d"):
        unmarked.script()


def test_a_command_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "no such" in (run_commands("dragoman translate nowhere | head -1") or "")
    assert "No such file" in (run_commands("dragoman --version\ncat nowhere | dragoman --version") or "")
    assert "No such file" in (run_commands("cat nowhere && dragoman --version") or "")
    assert "ZeroDivisionError" in (run_python("1 / 0") or "")
    assert "SystemExit: 3" in (run_python("raise SystemExit(3)") or "")


def test_a_pipeline_is_read_and_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert pipeline_of("a 'x | y' | dragoman b >c") == ([["a", "x | y"], ["dragoman", "b"]], "c")
    for line in ("a | b", "dragoman a &", "dragoman a || b", "dragoman $a", "dragoman a; b", "dragoman <a"):
        assert pipeline_of(line) is None
    assert run_commands("dragoman --version | cat > version") is None
    assert Path("version").read_text().startswith("dragoman ")
