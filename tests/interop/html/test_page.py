"""The page in a file: what is in it, what is refused, and what a person sees in a browser offline."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.program import Ended
from tests.translation.bundles import PAIRS, learnt_bundle, several_bundle

from dragoman.base.errors import ConfigError
from dragoman.base.html.document import PACKAGE
from dragoman.interop.html import page as module
from dragoman.interop.html.page import VIEWS, export_page
from dragoman.models.folder.bundle import save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.translation.native.web.wasm import engine_wasm
from dragoman.translation.translator import Translator

if os.environ.get("CI"):
    import playwright.sync_api as playwright
else:
    playwright = pytest.importorskip("playwright.sync_api")

SAVED = Path(__file__).parents[2] / "saved"
TEXT, TRANSLATION = ("{} {}\n\n  {}".format(*(pair[side] for pair in PAIRS[:3])) for side in (0, 1))
Show = Callable[..., Any]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """English to German in int8, and back in float32."""
    folder = tmp_path_factory.mktemp("models")
    save(learnt_bundle(), folder / "float32")
    quantise_folder(folder / "float32", folder / "en-de")
    card = (folder / "en-de" / "README.md").read_text()
    (folder / "en-de" / "README.md").write_text(f"---\nlicense: cc-by-4.0\n---\n{card}\n</pre><b>\n")
    save(learnt_bundle(reverse=True), folder / "de-en")
    return folder / "en-de", folder / "de-en"


@pytest.fixture(scope="module")
def wasm() -> Path:
    try:
        return engine_wasm()
    except ConfigError as error:
        pytest.skip(f"{error} (pip install ziglang)")


@pytest.fixture(scope="module")
def file(models: tuple[Path, Path], wasm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("page") / "page.html"
    assert export_page(models, output) == output.stat().st_size
    return output


@pytest.fixture
def show(browser: Any) -> Iterator[Show]:
    """Opens a file without a network. No test may cause a request or a complaint of the browser."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def opened(file: Path, *, link: str = "", before: str = "", **options: Any) -> Any:
        context = browser.new_context(offline=True, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        if before:
            page.add_init_script(before)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda m: m.type in ("error", "warning") and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri() + link)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []


def shows(page: Any, text: str) -> None:
    playwright.expect(page.locator("#target-text")).to_have_value(text, timeout=60_000)


# The file


def test_the_file_has_the_models_and_little_else(models: tuple[Path, Path], file: Path) -> None:
    text = file.read_text("utf-8")
    parts = dict(re.findall(r'<script type="text/plain" id="([\w-]+)">(.*?)</script>', text, re.DOTALL))
    page = json.loads(parts["page"])

    def unpacked(place: str) -> bytes:
        return zlib.decompress(base64.b64decode(parts[place]))

    for name, place in page["files"][0]["files"].items():
        assert unpacked(place) == (models[0] / name).read_bytes()
    assert json.loads(unpacked(page["files"][1]["files"]["config.json"]))["quantised"] == "int8"
    assert unpacked("engine") == engine_wasm().read_bytes()
    size = sum(len(unpacked(place)) for one in page["files"] for place in one["files"].values())
    assert file.stat().st_size <= 1.4 * size + 1_000_000
    assert page["offer"]["models"][0] == {
        "name": "en-de", "pairs": [{"sources": ["en"], "targets": ["de"]}], "adapters": [], "terms": [],
    }  # fmt: skip
    assert [(one["code"], one["targets"]) for one in page["offer"]["languages"]] == [
        ("en", ["de"]),
        ("de", ["en"]),
    ]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe-inline" not in policy[1]
    assert "'unsafe-eval'" not in policy[1]
    assert not re.search(r'\b(?:src|href)="|@import|url\(', text)
    assert "cc-by-4.0" in text
    assert "&lt;/pre&gt;&lt;b&gt;" in text


def test_a_quantised_model_needs_no_pytorch(
    models: tuple[Path, Path], wasm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(what: str) -> None:
        raise ConfigError(what)

    monkeypatch.setattr(module, "require_pytorch", refuse)
    export_page([models[0]], tmp_path / "page.html", views=())
    assert '"how":false' in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(ConfigError, match="de-en: quantising the model"):
        export_page([models[1]], tmp_path / "other.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_views_are_those_of_the_page() -> None:
    source = (PACKAGE / "inspection/views/page/views.js").read_text("utf-8")
    assert tuple(re.findall(r'\{ name: "(\w+)"', source)) == VIEWS


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("0.1/recurrent", "the engine in a page cannot run this model: it has no recurrent models"),
        ("0.1/convolutional", "the engine in a page cannot run this model: it has no convolutional models"),
        ("0.1/window", "the engine in a page cannot run this model: it has no tokenizer of words"),
        ("0.2/adapter", "merge it first"),
        ("nowhere", "no such model folder"),
    ],
)
def test_what_a_page_cannot_run_is_refused(
    model: str, reason: str, wasm: Path, tmp_path: Path, dragoman_: Callable[..., Ended]
) -> None:
    ended = dragoman_("export", SAVED / model, "--to", "html", "-o", tmp_path / "page.html")
    assert ended[0] != 0
    assert reason in ended[2]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--to", "html", "-o", "page"], "page: not an .html file"),
        (["--to", "html", "-o", "p.html", "--views", "beam,atention"], "--views atention: unknown view"),
        (["--to", "html", "-o", "p.html", "--quantization", "int8"], "--quantization with --to html"),
        (["--to", "html", "-o", "p.html", "--verify-on", "x"], "--verify-on with --to html"),
        (["--to", "onnx", "-o", "folder", "--views", "beam"], "--views with --to onnx"),
        ([SAVED / "0.2/int8", "--to", "onnx", "-o", "folder"], "several models with --to onnx"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[Any],
    reason: str,
    tmp_path: Path,
    dragoman_: Callable[..., Ended],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = dragoman_("export", SAVED / "0.2/int8", *options)
    assert ended[0] == 2
    assert reason in ended[2]
    assert list(tmp_path.iterdir()) == []


def test_no_name_language_or_card_breaks_the_page(
    models: tuple[Path, Path], wasm: Path, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff<!--<script>\xe2\x80\xa8")
    shutil.copytree(models[0], folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"source_language": " ", "target_language": "\ud800</script>"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "README.md").unlink()
    (folder / "README.md").mkdir()
    export_page([folder], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert len(re.findall("<script", text)) == len(re.findall("</script", text))
    assert '"sources":["und"],"targets":["?\\u003c/script\\u003e"]' in text


def test_a_model_given_twice_is_refused(models: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="en-de: given twice"):
        export_page([models[0], models[0].parent / "." / "en-de"], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_kept(models: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        export_page(models, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"


def test_without_ziglang_it_says_what_to_install(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.translation.native.web import wasm as engine

    monkeypatch.setattr(engine, "PACKAGED", "missing.wasm")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pip install ziglang"):
        export_page(models, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


# The page


def test_it_translates_offline(show: Show, file: Path, models: tuple[Path, Path]) -> None:
    listen = "addEventListener('unpacking', ({ detail }) => (window.shares ??= []).push(detail.share), true)"
    page = show(file, before=listen)
    playwright.expect(page.locator("#source-text")).to_be_focused()
    page.keyboard.type("The cat sleeps on the warm stove.")
    shows(page, PAIRS[0][1])
    shares = page.evaluate("() => window.shares")
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert page.locator("#unpacking").is_hidden()
    page.locator("#source-text").fill(TEXT)
    shows(page, TRANSLATION)
    assert page.locator("#files-choose").is_hidden()
    assert page.locator("#key-change").is_hidden()
    assert page.locator("#source-text").get_attribute("placeholder") == "Type or paste text"
    assert page.locator("#source-language option").all_inner_texts() == ["English", "German"]

    translator = Translator.load(models[0])
    (others,) = translator.translate([PAIRS[2][0]], beam=8, n_best=6)
    alternatives = page.locator("#alternatives li:not([hidden])")
    texts = list(dict.fromkeys(one.text for one in others.alternatives if one.text != others.text))
    playwright.expect(alternatives).to_have_text(texts)

    words = page.locator("#target .under .word")
    box = words.nth(1).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expected = translator.next_words(PAIRS[0][0], "Die ")
    options = page.locator("#menu [role=option] bdi")
    playwright.expect(options).to_have_text([one.text for one in expected])
    options.nth(1).click()
    (begun,) = translator.translate([PAIRS[0][0]], prefix=[expected[1].prefix])
    shows(page, TRANSLATION.replace(PAIRS[0][1], begun.text))
    assert page.locator("#target .under .word.chosen").inner_text().startswith(expected[1].text)
    page.locator("#undo").click()
    shows(page, TRANSLATION)


def test_the_languages_are_swapped(show: Show, file: Path) -> None:
    page = show(file, link="#source=en&target=de&text=Two+boats+wait+in+the+harbour.")
    shows(page, PAIRS[2][1])
    page.locator("#swap").click()
    shows(page, PAIRS[2][0])
    assert page.locator("#target-text").get_attribute("lang") == "en"


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            "WebAssembly.validate = () => false; delete Intl.Segmenter",
            "This browser lacks WebAssembly with SIMD and Intl.Segmenter: use a version from 2024",
        ),
        ("delete window.DecompressionStream", "This browser lacks DecompressionStream: use a version"),
        (
            "WebAssembly.compile = () => Promise.reject(new RangeError('Array buffer allocation failed'))",
            "There is too little memory for this model.",
        ),
    ],
)
def test_what_the_browser_lacks_is_said(show: Show, file: Path, before: str, message: str) -> None:
    page = show(file, before=before)
    page.locator("#source-text").fill("The cat")
    playwright.expect(page.locator("#status")).to_contain_text(message)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (
            "window.Worker = class { constructor() { throw new Error('no blobs') } }",
            "this browser starts no worker (no blobs)",
        ),
        (
            "window.Worker = class { constructor() { setTimeout(() => this.onerror({})) } postMessage() {} "
            "terminate() {} }",
            "the worker failed: it did not start",
        ),
    ],
)
def test_without_a_worker_it_says_so(show: Show, file: Path, before: str, message: str) -> None:
    page = show(file, before=before)
    page.locator("#source-text").fill("The cat")
    playwright.expect(page.locator("#status")).to_contain_text(message)


@pytest.mark.parametrize("storage", ["localStorage", "sessionStorage"])
def test_it_works_where_nothing_may_be_kept(show: Show, file: Path, storage: str) -> None:
    denied = f"Object.defineProperty(window, '{storage}', {{ get() {{ throw new DOMException('denied') }} }})"
    page = show(file, before=denied, color_scheme="light")
    page.locator("#source-text").fill(PAIRS[1][0])
    shows(page, PAIRS[1][1])
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Light"
    page.locator("#source-language").select_option("de")
    playwright.expect(page.locator("#target-language")).to_have_value("en")
    assert page.locator("#unstarted").count() == 0


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-40], lambda text: "%" + text[1:], None], ids=["cut", "changed", "missing"]
)
@pytest.mark.parametrize("block", ["engine", "file-0-0"])
def test_a_damaged_file_says_so(
    show: Show, file: Path, tmp_path: Path, block: str, damage: Callable[[str], str] | None
) -> None:
    text = file.read_text("utf-8")
    whole = re.search(rf'<script type="text/plain" id="{block}">(.*?)</script>\n', text)
    assert whole
    new = "" if damage is None else whole[0].replace(whole[1], damage(whole[1]))
    (tmp_path / "page.html").write_text(text.replace(whole[0], new), "utf-8")
    page = show(tmp_path / "page.html")
    page.locator("#source-text").fill("The cat")
    playwright.expect(page.locator("#status")).to_have_text(
        "This file is damaged: copy or download it again."
    )


def test_a_cut_file_says_so(show: Show, file: Path, tmp_path: Path) -> None:
    text = file.read_text("utf-8")
    (tmp_path / "page.html").write_text(text[: len(text) // 2], "utf-8")
    page = show(tmp_path / "page.html")
    playwright.expect(page.locator("#unstarted")).to_be_visible()
    playwright.expect(page.locator("#unstarted")).to_contain_text("copy or download the file again")


def test_the_chosen_model_is_inspected(show: Show, models: tuple[Path, Path], tmp_path: Path) -> None:
    other = shutil.copytree(models[0], tmp_path / "other")
    export_page([models[0], other], tmp_path / "page.html", views=("translation",))
    page = show(tmp_path / "page.html")
    page.locator("#option-model").select_option("other")
    page.locator("#source-text").fill(PAIRS[1][0])
    shows(page, PAIRS[1][1])
    page.locator("#how").click()
    playwright.expect(page.locator("#app")).to_contain_text("other, transformer", timeout=60_000)
    menu = page.locator("#app select").nth(1)
    names = ["German: en-de", "German: other"]
    assert menu.locator("option").all_inner_texts() == names
    menu.select_option("0")
    playwright.expect(page.locator("#app")).to_contain_text("en-de, transformer")
    page.go_back()
    shows(page, PAIRS[1][1])


@pytest.mark.thorough
def test_a_model_of_several_languages_translates_its_pairs(
    show: Show, wasm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_INSTRUCTIONS", "portable")  # it rounds as the page does
    save(several_bundle(target_mark="target"), tmp_path / "float32")
    quantise_folder(tmp_path / "float32", tmp_path / "int8")
    export_page([tmp_path / "int8"], tmp_path / "page.html", views=("translation",))
    page = show(tmp_path / "page.html", link="#source=en&target=fr&text=bread")
    translator = Translator.load(tmp_path / "int8", engine="native")
    texts = {to: translator.translate(["bread"], source="en", to=to)[0].text for to in ("de", "fr")}
    shows(page, texts["fr"])
    assert page.locator("#target-language option").all_inner_texts() == ["German", "French"]
    page.locator("#target-language").select_option("de")
    shows(page, texts["de"])
    page.locator("#how").click()
    playwright.expect(page.locator("#view-translation")).to_contain_text(">>en<<", timeout=60_000)
    page.locator("#app select").nth(1).select_option(label="French")
    playwright.expect(page.locator("#app .status")).to_have_text("Change the run to see what that does.")
    assert "target=fr" in page.evaluate("location.hash")


def test_it_looks_inside_a_sentence(show: Show, file: Path) -> None:
    page = show(file, color_scheme="light")
    page.locator("#source-text").fill(TEXT)
    shows(page, TRANSLATION)
    page.locator("#theme").click()
    link = page.locator("#how")
    playwright.expect(link).to_have_text("Look inside sentence 3")
    link.click()
    settled = page.locator("#app .status")
    playwright.expect(settled).to_have_text("Change the run to see what that does.", timeout=60_000)
    assert page.locator("#source-text").is_hidden()
    assert page.locator("#about").is_hidden()
    assert page.get_by_role("button", name="Light").count() == 1
    assert page.locator("#app textarea").input_value() == PAIRS[2][0]
    assert page.locator("[role=tab]").all_inner_texts() == [
        "Translation", "Attention", "Beam", "Positions", "Logit parts", "Complexity",
    ]  # fmt: skip
    playwright.expect(page.locator("#view-translation")).to_contain_text(PAIRS[2][1])
    page.locator(".workbench summary").click()
    page.locator("[data-off='cross.1.1']").click()
    playwright.expect(page.locator("#tab-difference")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="Translate").click()
    shows(page, TRANSLATION)
    assert page.locator("#app").is_hidden()
    page.locator("#source-text").fill("A baker sells fresh bread.")
    shows(page, PAIRS[1][1])
    link.click()
    playwright.expect(page.locator("#app textarea")).to_have_value(PAIRS[1][0])
    page.go_back()
    shows(page, PAIRS[1][1])


def test_the_views_are_chosen(show: Show, models: tuple[Path, Path], tmp_path: Path) -> None:
    export_page(models[:1], tmp_path / "two.html", views=("attention", "beam"))
    page = show(tmp_path / "two.html", link="#how&source=en&target=de&text=A+baker+sells+fresh+bread.")
    playwright.expect(page.locator("[role=tab]")).to_have_text(["Attention", "Beam"], timeout=60_000)
    export_page(models[:1], tmp_path / "none.html", views=())
    page = show(tmp_path / "none.html")
    page.locator("#source-text").fill(PAIRS[1][0])
    shows(page, PAIRS[1][1])
    assert page.locator("#how").is_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_serious(show: Show, file: Path, scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = show(file, color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    page.locator("#source-text").fill(TEXT)
    shows(page, TRANSLATION)
    page.locator("#about summary").first.click()
    page.get_by_text("Model card").first.click()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    found = axe.run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
