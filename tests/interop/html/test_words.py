"""What the modules of the page answer in Node, against the routes of the server and the native engine."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle, several_bundle

from dragoman.base.errors import ConfigError
from dragoman.base.html.document import PACKAGE
from dragoman.interop.formats import read_model
from dragoman.interop.html.page import facts_of, page_model
from dragoman.models.folder.bundle import save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.serving.page.words import sentence_table
from dragoman.text.abbreviations import titles_and_abbreviations
from dragoman.text.segmenter import segment_text
from dragoman.text.toy.corpus import pairs
from dragoman.translation.native.web.wasm import MODULE, engine_wasm
from dragoman.translation.translator import Translator

pytestmark = pytest.mark.thorough

FIXTURES = Path(__file__).parents[1] / "fixtures"
LINES = [
    *(source for source, _ in PAIRS),
    *(pair[0] for pair in pairs(seed=3, count=34)),
    "Ünknown wörds 猫 🙂 and a\u00a0cat",
    "HOW MUCH DOES IT COST?",
    "It costs 1,234.50 € (or 12 %), doesn't it?",
    "“Quoted” – and—dashed… “twice”",
    "Große Straßen führen übers Land.",
    "Собака видит птицу.",
    "犬が鳥を見ている。",
    "الكلب يرى طائرا.",
    "👍🏽 e\u0301te\u0301",
    "a",
    "⟦1⟧ dogs",
    "Two boats wait in the harbour, and the baker waits for the cat on the warm stove.",
]
TEXTS = [
    ("en", "One.  Two.\n\n   Dr. Smith came. He saw Mr. Jones.\r\n1. First. 2. Second one.\n"),
    ("en", "“Stop!” he said. (No. Not here.) It was 5 p.m. when J. Smith left.\n\u2028\u200b\n"),
    ("en", "He left… Then she came. What? No! It cost 3.50 dollars. See Fig. 2.\t Done"),
    ("de", "Am 3. Mai kam Dr. Müller. Er sah z. B. Hunde. Es war das Ende des 18. Jahrhunderts. Nein!"),
    ("ja", "犬が鳥を見ている。「行こう。」と言った。\n猫だ！"),
    ("en", ", ".join(["a clause that is not short"] * 60) + ". " + "Word " * 150 + "."),
]


def test_the_page_answers_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(learnt_bundle(updates=25), tmp_path / "float32")  # not quite sure of anything
    quantise_folder(tmp_path / "float32", tmp_path / "int8")
    begun = [(LINES[0], "Die "), (LINES[1], "Ein"), (LINES[2], "Zwei Boote w"), (LINES[3], "")]
    compare(tmp_path / "int8", begun, monkeypatch)


@pytest.mark.parametrize("name", ["hf-multilingual", "hf-opus", "marian-ssru"])
def test_an_imported_model_answers_as_python(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(read_model(FIXTURES / name), tmp_path / "float32")
    quantise_folder(tmp_path / "float32", tmp_path / "int8")
    begun = [(line, "") for line in LINES[:4]]
    compare(tmp_path / "int8", begun, monkeypatch)


@pytest.mark.parametrize("mark", ["source", "target"])
def test_a_model_of_several_languages_answers_as_python(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = several_bundle(target_mark=mark, byte_fallback=False)  # bytes of line breaks are spaces
    save(several, tmp_path / "float32")
    quantise_folder(tmp_path / "float32", tmp_path / "int8")
    begun = [(LINES[0], "Die "), (LINES[2], "Zwei Boote w"), (LINES[3], "")]
    compare(tmp_path / "int8", begun, monkeypatch, {"source": "en", "to": "fr"}, lines=LINES[:8])


def compare(
    folder: Path,
    begun: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tags: dict[str, str] | None = None,
    lines: list[str] = LINES,
) -> None:
    monkeypatch.setenv("DRAGOMAN_INSTRUCTIONS", "portable")  # the same order of sums
    translator = Translator.load(folder, engine="native")
    if tags is None:
        tags = dict(zip(["to"], translator.tokenizer.languages, strict=False))
    answers = in_node(folder, begun, tags, lines)
    one: dict[str, Any] = {"split": False, "protect": False, **tags}

    def table(line: str, prefix: str = "") -> dict[str, Any]:
        (found,) = translator.translate([line], prefix=[prefix], alignment=True, **one)
        plain: dict[str, Any] = json.loads(json.dumps(sentence_table(line, found.text, found)))
        return plain

    for line, answer in zip(lines, answers["tables"], strict=True):
        same(answer, table(line))
    for (line, prefix), answer, next_, others in zip(
        begun, answers["begun"], answers["next"], answers["alternatives"], strict=True
    ):
        if prefix.strip() == prefix:
            same(answer, table(line, prefix))
        expected = [asdict(word) for word in translator.next_words(line, prefix, **tags)]
        assert [word["prefix"] for word in next_] == [word["prefix"] for word in expected]
        probabilities = [word["probability"] for word in expected]
        assert [word["probability"] for word in next_] == pytest.approx(probabilities, abs=1e-5)
        (best,) = translator.translate([line], beam=8, n_best=6, **one)
        assert others["text"] == best.text
        alternatives = dict.fromkeys(other.text for other in best.alternatives if other.text != best.text)
        assert [other["text"] for other in others["alternatives"]] == list(alternatives)


def same(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    for theirs, ours in zip(answer["words"], expected["words"], strict=True):
        assert theirs.pop("confidence") == pytest.approx(ours.pop("confidence"), abs=2e-4)
    assert answer == expected


def in_node(
    folder: Path, begun: list[tuple[str, str]], tags: dict[str, str], lines: list[str]
) -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node on the path (Debian: apt-get install nodejs)")
    try:
        wasm = engine_wasm()
    except ConfigError as error:
        pytest.skip(f"{error} (pip install ziglang)")
    own = PACKAGE / "interop" / "html" / "page"
    task = {
        "engine": MODULE.as_uri(),
        "words": (own / "words.js").as_uri(),
        "sentences": (own / "sentences.js").as_uri(),
        "wasm": str(wasm),
        "folder": str(folder),
        "facts": facts_of(page_model(folder, "model")),
        "tags": tags,
        "lines": lines,
        "begun": begun,
        "texts": TEXTS,
        "endless": {code: titles_and_abbreviations(code) for code, _ in TEXTS},
    }
    driver = Path(__file__).with_name("drive.mjs")
    run = subprocess.run(
        [node, str(driver)], input=json.dumps(task), capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    answers: dict[str, Any] = json.loads(run.stdout)
    for (code, text), one in zip(TEXTS, answers["pieces"], strict=True):
        parts = segment_text(text, code, "de")
        assert [piece["body"] for piece in one["pieces"]] == [piece.body for piece in parts.pieces]
        assert one["gaps"] == list(parts.gaps)
    return answers
