"""The engine as WebAssembly, in Node and in Chromium, against the native engine of this machine."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.translation.bundles import PAIRS, learnt_bundle
from tests.translation.folder.models import without_digest
from tests.translation.native.page import Change, trace

from dragoman.base.errors import ConfigError
from dragoman.models.folder.bundle import save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER
from dragoman.translation.folder.shortlist import make_shortlist
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.web.wasm import MODULE, engine_wasm
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import AttentionOf, Beam
from dragoman.translation.search.rules import MinimumLength, NoRepeatedNgram, Prefix, Rule
from dragoman.translation.translator import Translator

pytestmark = pytest.mark.thorough

LINES = [
    *(source for source, _ in PAIRS),
    "The baker sells the cat.",
    "Two cats wait on the stove, and a boat sleeps.",
    "",
    "Ünknown wörds 猫 🙂",
]
MOST_COMPRESSED = 300_000  # bytes, of engine.wasm


@pytest.fixture(scope="module")
def wasm() -> Path:
    try:
        return engine_wasm()
    except ConfigError as error:
        pytest.skip(f"{error} (pip install ziglang)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web") / "model"
    save(learnt_bundle(), folder)
    return folder


@pytest.fixture(scope="module")
def int8_folder(folder: Path) -> Path:
    quantise_folder(folder, output := folder.with_name("int8"))
    return output


@pytest.fixture(scope="module")
def fixed_folder(int8_folder: Path) -> Path:
    """The int8 model with multipliers of the inputs of all products."""
    shutil.copytree(int8_folder, output := int8_folder.with_name("fixed"))
    weights = load_file(output / "model.safetensors")
    names = [name for name, weight in weights.items() if weight.dtype == torch.int8]
    weights |= {name + INPUT_MULTIPLIER: torch.tensor([40.0 + len(name)]) for name in names}
    save_file(weights, output / "model.safetensors")
    without_digest(output)
    return output


def drive(
    wasm: Path,
    folder: Path,
    calls: Sequence[Sequence[Any]],
    *,
    without: bool = False,
    counted: bool = False,
    **options: Any,
) -> list[Any]:
    """Load the model in Node and return what that gave, and the result of each call.

    `counted` adds how often each function of the library was called.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node on the path (Debian: apt-get install nodejs)")
    task = {
        "module": MODULE.as_uri(), "wasm": str(wasm), "folder": str(folder), "calls": calls,
        "options": options, "without": without, "counted": counted,
    }  # fmt: skip
    driver = Path(__file__).with_name("drive.mjs")
    run = subprocess.run(
        [node, str(driver)], input=json.dumps(task), capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    results: list[Any] = json.loads(run.stdout)
    return results


def native(
    folder: Path, how: Beam, *, rules: tuple[Rule, ...] = (), attention: str | None = None
) -> list[list[Hypothesis]]:
    sources = Tokenizer.load(folder).encode_source(LINES)
    of = None if attention is None else AttentionOf.of(attention)
    requests = [
        Request(source=one, how=how, max_tokens=len(one) + 50, rules=rules if one else (), attention=of)
        for one in map(tuple, sources)
    ]
    found = dict(NativeEngine.load(folder, threads=1).search(requests))
    return [found[number] for number in range(len(LINES))]


def texts_of(folder: Path) -> list[str]:
    """The best translations of the sentences of `PAIRS`."""
    tokenizer = Tokenizer.load(folder)
    return [tokenizer.decode(one[0].tokens) for one in native(folder, Beam())[: len(PAIRS)]]


CASES: dict[str, tuple[dict[str, Any], Beam, tuple[Rule, ...], str | None]] = {
    "greedy": ({"beam": 1}, Beam(size=1), (), None),
    "n best": ({"beam": 5, "nBest": 3}, Beam(size=5, n_best=3), (), None),
    "penalty": (
        {"lengthPenalty": 1.2, "normalization": "power", "stop": "patient"},
        Beam(length_penalty=1.2, normalization="power", stop="patient"),
        (),
        None,
    ),
    "attention of a layer": ({"attention": "1"}, Beam(), (), "1"),
    "attention of a head": ({"attention": "1.2"}, Beam(), (), "1.2"),
    "rules": (
        {"minimumLength": 12, "noRepeatNgram": 2},
        Beam(),
        (MinimumLength(12), NoRepeatedNgram(2)),
        None,
    ),
    "banned": ({"banned": [20, 30], "renormalize": True}, Beam(banned=(20, 30), renormalize=True), (), None),
}


def test_a_shortlist_allows_the_same_tokens(wasm: Path, folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(folder, tmp_path / "model"))
    make_shortlist(model, open_pairs(PAIRS), frequent=5, candidates=3)
    expected = [
        one.text for one in Translator.load(model).translate(LINES, beam=2, split=False, shortlist=True)
    ]
    calls = [["translate", LINES, {"beam": 2, "shortlist": True}]]
    _, listed = drive(wasm, model, calls)
    assert [each[0]["text"] for each in listed] == expected
    assert "no shortlist" in drive(wasm, folder, calls)[1]["error"][1]
    (model / "shortlist.safetensors").write_bytes(b"damaged")
    assert "shortlist.safetensors" in drive(wasm, model, calls)[0]["error"][1]


@pytest.mark.parametrize(
    ("name", "type_"), [("folder", "float32"), ("int8_folder", "int8"), ("fixed_folder", "int8")]
)
def test_node_translates_as_the_native_engine(
    wasm: Path, name: str, type_: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_INSTRUCTIONS", "portable")  # the same order of sums
    model: Path = request.getfixturevalue(name)
    calls = [["translate", LINES, options] for options, *_ in CASES.values()]
    about, *answers = drive(wasm, model, calls)
    assert (about["dtype"], about["languages"]) == (type_, ["en", "de"])
    shares = [one["share"] for one in about["progress"]]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    tokenizer = Tokenizer.load(model)
    for (_, how, rules, attention), answer in zip(CASES.values(), answers, strict=True):
        expected = native(model, how, rules=rules, attention=attention)
        for theirs, ours in zip(answer, expected, strict=True):
            assert [tuple(one["ids"]) for one in theirs] == [one.tokens for one in ours]
            for one, other in zip(theirs, ours, strict=True):
                assert one["text"] == tokenizer.decode(other.tokens)
                assert one["truncated"] == other.truncated
                assert one["score"] == pytest.approx(other.score, abs=2e-6)
                np.testing.assert_allclose(one["tokenLogp"], other.token_logp, atol=2e-6)
                if attention:
                    np.testing.assert_allclose(one["attention"], other.attention, atol=1e-6)


def test_prefixes_and_ids(wasm: Path, folder: Path) -> None:
    tokenizer = Tokenizer.load(folder)
    prefixes = ["Eine Katze", "Zwei", "", "Der", *[""] * (len(LINES) - 4)]
    ids = tokenizer.encode_source(LINES[:2])
    forced = tokenizer.encode_target(["Eine Katze"])[0]
    _, texts, same, found, encoded, decoded, pieces = drive(
        wasm,
        folder,
        [
            ["translate", LINES, {"prefix": prefixes}],
            ["translate", LINES[:1], {"prefix": "Eine Katze"}],
            ["search", ids, {"prefixIds": [forced, []]}],
            ["encode", LINES[0]],
            ["decode", forced],
            ["pieces", forced],
        ],
    )
    for prefix, answer in zip(prefixes, texts, strict=True):
        assert answer[0]["text"].startswith(prefix)
    expected = native(folder, Beam(), rules=(Prefix(tuple(forced)),))[0]
    assert tuple(texts[0][0]["ids"]) == expected[0].tokens
    assert same[0][0]["ids"] == texts[0][0]["ids"] == found[0][0]["ids"]
    assert encoded == ids[0]
    assert decoded == tokenizer.decode(forced)
    assert pieces == tokenizer.target_pieces(forced)


def test_stops_and_goes_on(wasm: Path, folder: Path) -> None:
    many = LINES[:4] * 100
    _, stopped, early, whole = drive(
        wasm,
        folder,
        [["translate", many, {"abort": 2}], ["translate", many, {"abort": 0}], ["translate", LINES[:4], {}]],
    )
    assert stopped["error"][0] == early["error"][0] == "AbortError"
    assert [one[0]["text"] for one in whole] == texts_of(folder)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["translate", LINES[:1], {"beam": 0}], "beam = 0: it must be a whole number from 1 to 1000"),
        (
            ["translate", LINES[:1], {"beam": 2, "nBest": 3}],
            "nBest = 3: it must be a whole number from 1 to 2",
        ),
        (["translate", LINES[:1], {"attention": "2"}], "attention = 2: write LAYER or LAYER.HEAD"),
        (["translate", LINES[:1], {"stop": "soon"}], "stop is one of full, patient, shrinking, exact"),
        (["translate", LINES[:3], {"prefix": ["a", "b"]}], "2 prefixes for 3 texts"),
        (["translate", "A cat", {}], "translate takes a list"),
        (["translate", LINES[:1], {"nbest": 2}], "nbest is not an option: use beam, nBest"),
        (["translate", LINES[:1], {"to": "fr"}], "to = fr: this model does not translate to it"),
        (["translate", LINES[:1], {"lengthPenalty": "x"}], "lengthPenalty = x: it must be a number"),
        (["translate", LINES[:1], {"batchTokens": 1.5}], "batchTokens = 1.5: it must be a whole number"),
        (["search", [[5, 100_000]], {}], "source: 100000 is no id below"),
        (["pieces", [100_000]], "id 100000 is not in the vocabulary"),
        (["trace", [5], [6], [{"what": "nothing"}]], "nothing in encoder is no intervention"),
    ],
)
def test_refuses_with_a_reason(wasm: Path, folder: Path, call: list[Any], message: str) -> None:
    _, refused, after = drive(wasm, folder, [call, ["translate", LINES[:1], {}]])
    assert refused["error"][0] == "EngineError"
    assert message in refused["error"][1]
    assert after[0][0]["text"] == PAIRS[0][1]


def test_lists_of_another_length_are_refused_by_several_workers_too(wasm: Path, folder: Path) -> None:
    calls = [
        ["translate", LINES[:4], {"prefix": ["A", "B"]}],
        ["search", [[5], [6]], {"prefixIds": [[5]]}],
        ["record", [5], {"foo": 1}],
        ["translate", LINES[:2], {"prefix": ["Ein"]}],
    ]
    _, texts, ids, name, one = drive(wasm, folder, calls, threads=2)
    assert texts["error"] == ["EngineError", "2 prefixes for 4 texts"]
    assert ids["error"] == ["EngineError", "1 prefixIds for 2 texts"]
    assert "foo is not an option" in name["error"][1]
    assert all(found[0]["text"].startswith("Ein") for found in one)


def test_places_count_a_byte_order_mark_and_each_character(wasm: Path, folder: Path) -> None:
    lines = ["\ufeffThe baker sells.", "Two 猫 and 🙂 wait.", ""]
    _, *found = drive(wasm, folder, [["cut", line] for line in lines])
    spans = [Tokenizer.load(folder).source_spans(line) for line in lines]
    assert [one["ends"] for one in found] == [[end for _, end in each] for each in spans]


def _cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def _replace(name: str, old: str, new: str) -> Any:
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_text(path.read_text().replace(old, new))

    return damage


@pytest.mark.parametrize(
    ("multiplier", "message"),
    [
        (torch.ones(1).double(), "input_multiplier is damaged"),
        (torch.ones(1, 1), "input_multiplier is damaged"),
        (torch.ones(5), "input_multiplier does not fit its matrix"),
        (torch.ones(0), "input_multiplier does not fit its matrix"),
        (torch.tensor([torch.nan]), "input_multiplier is not positive and finite"),
        (torch.zeros(1), "input_multiplier is not positive and finite"),
    ],
)
def test_wrong_multipliers_are_an_error(
    wasm: Path, fixed_folder: Path, tmp_path: Path, multiplier: torch.Tensor, message: str
) -> None:
    shutil.copytree(fixed_folder, copy := tmp_path / "model")
    weights = load_file(copy / "model.safetensors")
    weights["encoder.0.attention.output.weight" + INPUT_MULTIPLIER] = multiplier
    save_file(weights, copy / "model.safetensors")

    (refused,) = drive(wasm, copy, [])

    assert refused["error"][0] == "EngineError"
    assert message in " ".join(refused["error"])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut, "is damaged"),
        (
            _replace("config.json", '"transformer"', '"recurrent"'),
            "the engine in the page has no recurrent models",
        ),
        (
            _replace("config.json", '"d_ff": 64', '"d_ff": 65'),
            "weight encoder.0.feed_forward.inner.weight is 64 x 32",
        ),
        (
            _replace("config.json", '"d_ff": 64', '"d_ff": 64, "gates": 2'),
            "the engine in the page does not know model.gates = 2",
        ),
        (_replace("config.json", '"norm": "post"', '"norm": "new"'), "does not know model.norm = new"),
        (
            _replace("config.json", '"start_id": 1', '"start_id": -1'),
            "model.start_id = -1: it must be a whole number from 0",
        ),
        (lambda folder: (folder / "generation.json").write_text("null"), "generation.json is damaged"),
        (lambda folder: (folder / "tokenizer.spm").write_bytes(b"\x00\x01"), "EngineError"),
        (lambda folder: (folder / "tokenizer.spm").unlink(), "the model has no file tokenizer.spm"),
    ],
)
def test_refuses_a_model_with_a_reason(
    wasm: Path, folder: Path, tmp_path: Path, damage: Any, message: str
) -> None:
    shutil.copytree(folder, broken := tmp_path / "broken")
    damage(broken)
    (refused,) = drive(wasm, broken, [])
    assert refused["error"][0] == "EngineError"
    assert message in " ".join(refused["error"])


def test_answers_that_are_an_error_are_freed(wasm: Path, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, copy := tmp_path / "model")
    weights = load_file(copy / "model.safetensors")
    weights["target_embedding.weight"].fill_(torch.nan)
    save_file(weights, copy / "model.safetensors")
    without_digest(copy)

    _, refused, counts = drive(wasm, copy, [["translate", LINES[:1], {}]], counted=True)

    assert "no probabilities" in refused["error"][1]
    assert counts["dragoman_free"] == counts["dragoman_collect"] > 0


def test_reads_lines_as_python(wasm: Path, folder: Path) -> None:
    lines = [
        "\u200b",
        "\ufeff ",
        "\x1c",
        "\ufeffA baker\ufeff",
        "\x1cA baker\x1f",
        "<s> ▁A",
        "A\0baker",
        "🙂 🇩🇪",
    ]
    translator = Translator.load(folder)
    _, answers = drive(wasm, folder, [["translate", lines, {}]])
    ours = translator.translate(lines, protect=False, split=False)
    assert [one[0]["text"] for one in answers] == [one.text for one in ours]


@pytest.mark.parametrize(("lowercase", "sides"), [("true", "both"), ('"source"', "source")])
def test_lower_case(wasm: Path, folder: Path, tmp_path: Path, lowercase: str, sides: str) -> None:
    shutil.copytree(folder, lower := tmp_path / "lower")
    _replace("tokenizer.json", '"lowercase": false', f'"lowercase": {lowercase}')(lower)
    tokenizer = Tokenizer.load(lower)
    _, source, target = drive(wasm, lower, [["encode", "A CAT ΟΔΟΣ"], ["encode", "A CAT ΟΔΟΣ", "target"]])
    assert source == tokenizer.encode_source(["A CAT ΟΔΟΣ"])[0]
    assert target == tokenizer.encode_target(["A CAT ΟΔΟΣ"])[0]
    assert (source == target) == (sides == "both")


def test_refuses_options_of_loading(wasm: Path, folder: Path) -> None:
    (threads,), (other,) = drive(wasm, folder, [], threads=0), drive(folder / "config.json", folder, [])
    assert threads["error"] == ["EngineError", "threads = 0: it must be a whole number from 1 to 1000"]
    assert other["error"][0] == "EngineError"
    assert "engine.wasm cannot be compiled" in other["error"][1]


def test_refuses_calls_after_close(wasm: Path, folder: Path) -> None:
    _, _, refused = drive(wasm, folder, [["close"], ["translate", LINES, {}]])
    assert refused["error"] == ["AbortError", "the translator is closed"]


def test_says_that_simd_is_missing(wasm: Path, folder: Path) -> None:
    (refused,) = drive(wasm, folder, [], without=True)
    assert refused["error"] == [
        "EngineError",
        "this browser lacks WebAssembly with SIMD: use a version from 2023 or later",
    ]


def test_traces_as_the_native_engine(wasm: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_INSTRUCTIONS", "portable")
    tokenizer = Tokenizer.load(folder)
    (source,), (target,) = tokenizer.encode_source(LINES[:1]), tokenizer.encode_target([PAIRS[0][1]])
    changes = [{"what": "without", "stack": "cross", "layer": 0, "head": 1}, {"what": "base", "number": 100}]
    engine = NativeEngine.load(folder, threads=1)
    _, plain, changed = drive(wasm, folder, [["trace", source, target], ["trace", source, target, changes]])
    ours = [Change(what="without", stack="cross", layer=0, head=1), Change(what="base", number=100.0)]
    for theirs, expected in [
        (plain, trace(engine, source, target)),
        (changed, trace(engine, source, target, ours)),
    ]:
        assert list(theirs) == list(expected)
        for name, one in theirs.items():
            assert tuple(one["shape"]) == expected[name].shape
            values = [-np.inf if value is None else value for value in one["values"]]  # JSON has no infinity
            np.testing.assert_allclose(values, expected[name].ravel(), atol=1e-5, rtol=1e-5)


def test_is_small(wasm: Path) -> None:
    assert len(gzip.compress(wasm.read_bytes(), 9)) <= MOST_COMPRESSED


PAGE = """<!doctype html><meta charset=utf-8><title>page</title><script type="module">
MODULE
const bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const given = GIVEN, wasm = bytes(given.wasm);
const files = Object.fromEntries(Object.entries(given.files).map(([name, text]) => [name, bytes(text)]));
window.run = async (texts, options, threads) => {
    const translator = await load(files, {wasm, threads});
    const found = await translator.translate(texts, options);
    translator.close();
    return found.map(([one]) => one.text);
};
window.stopAfterOne = async (texts) => {
    const translator = await load(files, {wasm}), controller = new AbortController();
    const each = () => controller.abort();
    const running = translator.translate(texts, {each, signal: controller.signal});
    const outcome = await running.catch((error) => error.name);
    const [[after]] = await translator.translate(texts.slice(0, 1));
    translator.close();
    return [outcome, after.text];
};
</script>"""


def test_a_page_from_a_file_translates_in_workers(
    wasm: Path, folder: Path, browser: Any, tmp_path: Path
) -> None:
    def encoded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    given = {"wasm": encoded(wasm), "files": {path.name: encoded(path) for path in folder.iterdir()}}
    page_file = tmp_path / "page.html"
    page_file.write_text(
        PAGE.replace("MODULE", MODULE.read_text(encoding="utf-8")).replace("GIVEN", json.dumps(given)),
        encoding="utf-8",
    )
    complaints: list[str] = []
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(page_file.as_uri())
    page.wait_for_function("Boolean(window.stopAfterOne)")
    texts = [source for source, _ in PAIRS]
    expected = texts_of(folder)
    for threads in (1, 2):
        script = "([texts, threads]) => run(texts, {beam: 4}, threads)"
        assert page.evaluate(script, [texts, threads]) == expected
    assert page.evaluate("(texts) => stopAfterOne(texts)", texts * 100) == ["AbortError", expected[0]]
    context.close()
    assert complaints == []


def test_an_engine_without_threads_translates_while_it_collects(folder: Path) -> None:
    from dragoman.translation.native.library import open_engine

    threaded, alone = (NativeEngine.load(folder, threads=1) for _ in range(2))
    config, weights = alone.config, alone._weights
    alone._start(lambda: open_engine(config, weights, "float32", 0, "weights"))
    sources = [tuple(one) for one in Tokenizer.load(folder).encode_source(LINES * 20) if one]
    requests = [Request(source=one, how=Beam(), max_tokens=len(one) + 20) for one in sources]
    assert dict(alone.search(requests)) == dict(threaded.search(requests))
    few = [replace(one, how=Beam(size=1)) for one in requests[:3]]
    assert dict(alone.search(few)) == dict(threaded.search(few))
