"""docs/paper.md against the code: the names exist, and cite their sections and equations."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dragoman"
SECTIONS = {"3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.3", "5.4", "6.1"}
EQUATIONS = {"eq. 1", "eq. 2", "eq. 3"}  # those that have a number in the paper
MOST_LINES = 365  # of the file that is the paper


@dataclass(frozen=True)
class Row:
    section: str
    equation: str
    file: str
    name: str


def rows(page: str) -> list[Row]:
    """The rows of the page's table."""
    table = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and re.fullmatch(r"[\d.]+", cells[0]):
            section, equation, _, file, name = cells
            table.append(Row(section, equation, file.strip("`"), name.strip("`")))
    return table


def definitions(source: str) -> dict[str, str]:
    """Name -> source of every function and class; a method's name has its class before it."""
    lines = source.splitlines()

    def walk(body: list[ast.stmt], prefix: str) -> dict[str, str]:
        names = {}
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names[prefix + node.name] = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if isinstance(node, ast.ClassDef):
                names |= walk(node.body, f"{prefix}{node.name}.")
        return names

    return walk(ast.parse(source).body, "")


def cites(source: str, section: str) -> bool:
    """Whether the source says `section 3.1`, or `sections 3.1, 3.4` and the like."""
    others = r"(?:[\d.]*\d(?:, | and | to ))*"
    return re.search(rf"sections? {others}{re.escape(section)}(?!\.?\d)", source) is not None


def faults(table: list[Row], sources: dict[str, str]) -> list[str]:
    """What is wrong with the table, given the source of each file."""
    wrong = []
    for row in table:
        own = definitions(sources.get(row.file, ""))
        if row.name not in own:
            wrong.append(f"{row.file} has no {row.name}")
            continue
        if not cites(own[row.name.split(".")[0]], row.section):
            wrong.append(f"{row.name} does not cite section {row.section}")
        if row.equation:
            citation = f"{row.equation}, section {row.section}"
            if citation not in own[row.name]:
                wrong.append(f"{row.name} does not cite {citation}")
            count = sum(source.count(citation) for source in sources.values())
            if count != 1:
                wrong.append(f"{citation} is cited {count} times")
    return wrong


def package_sources() -> dict[str, str]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8")
        for path in PACKAGE.rglob("*.py")
    }


PAGE = rows((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"))


def test_every_row_names_code_that_cites_its_section_and_equation() -> None:
    assert faults(PAGE, package_sources()) == []


def test_the_page_covers_the_model_its_training_and_its_search() -> None:
    assert {row.section for row in PAGE} >= SECTIONS
    assert [row.equation for row in PAGE if row.equation] == sorted(EQUATIONS)


def test_the_model_is_read_in_one_sitting() -> None:
    source = package_sources()["models/transformer.py"]

    assert len(source.splitlines()) <= MOST_LINES


# The checks themselves can fail

SOURCE = '''
def attend():
    """eq. 1, section 3.2.1"""

class Model:
    """Sections do not count without the word."""

    def embed(self):
        x = 1  # sections 3.4, 3.5
'''


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (Row("3.2.1", "eq. 1", "a.py", "attend"), None),
        (Row("3.5", "", "a.py", "Model.embed"), None),
        (Row("3.2.1", "eq. 1", "b.py", "attend"), "b.py has no attend"),
        (Row("3.2.1", "eq. 1", "a.py", "embed"), "a.py has no embed"),
        (Row("3.2", "", "a.py", "attend"), "attend does not cite section 3.2"),
        (Row("3", "", "a.py", "Model"), "Model does not cite section 3"),
        (Row("3.4", "eq. 1", "a.py", "Model"), "Model does not cite eq. 1, section 3.4"),
    ],
)
def test_a_wrong_row_is_a_fault(row: Row, fault: str | None) -> None:
    wrong = faults([row], {"a.py": SOURCE})

    assert wrong == [] if fault is None else fault in wrong


def test_an_equation_cited_twice_is_a_fault() -> None:
    sources = {"a.py": SOURCE, "b.py": "# eq. 1, section 3.2.1"}

    assert faults([Row("3.2.1", "eq. 1", "a.py", "attend")], sources) == [
        "eq. 1, section 3.2.1 is cited 2 times"
    ]


def test_the_table_is_read() -> None:
    page = "| section | equation | what | file | name |\n| --- |\n| 3.3 | eq. 2 | it | `a/b.py` | `C.d` |\n"

    assert rows(page) == [Row("3.3", "eq. 2", "a/b.py", "C.d")]
