"""A model with adapters: `Translator.load(adapter=)`, `using`, and the commands that take an adapter."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.translation.search.test_risk import MODEL as RISK_MODEL

from dragoman import Translator
from dragoman.base.errors import ConfigError, ModelError
from dragoman.models.folder import bundle
from dragoman.models.folder.merge import merge_adapter, write_adapter
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.lora import add_lora, lora_shape, lora_weights
from dragoman.translation.folder.config import read_config
from dragoman.translation.folder.risk import write_risk
from dragoman.translation.native.build import unavailable
from dragoman.translation.native.native import NativeEngine

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
LINES = (SAVED / "text" / "test.en").read_text(encoding="utf-8").splitlines()[:8]
native = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
ENGINES = [pytest.param("native", marks=native), "pytorch"]

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(SAVED / "transformer", tmp_path_factory.mktemp("models") / "general"))


@pytest.fixture(scope="module")
def adapters(model: Path) -> dict[str, Path]:
    """Two adapters of the model, which change its translations."""
    folders = {}
    for seed, name in enumerate(("help", "chat"), 1):
        adapted = bundle.load(model).model
        add_lora(adapted, rank=2, alpha=4.0)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in lora_weights(adapted).values():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)
        folders[name] = model.parent / name
        write_adapter(
            lora_weights(adapted), lora_shape(adapted), folders[name], base=model, name=name.title()
        )
    return folders


def texts(translator: Translator) -> list[str]:
    return [one.text for one in translator.translate(LINES, beam=3, max_extra_tokens=8)]


def merged(model: Path, adapter: Path, output: Path) -> Path:
    merge_adapter(model, adapter, output)
    return output


@pytest.mark.parametrize("engine", ENGINES)
def test_a_merged_model_translates_as_the_model_with_its_adapter(
    model: Path, adapters: dict[str, Path], engine: str, tmp_path: Path
) -> None:
    whole = Translator.load(merged(model, adapters["help"], tmp_path / "m"), engine=engine, device="cpu")

    found = Translator.load(model, adapter=adapters["help"], engine=engine, device="cpu")

    assert texts(found) == texts(whole)
    assert found.score(LINES, LINES) == whole.score(LINES, LINES)
    assert texts(found) != texts(Translator.load(model, engine=engine, device="cpu"))


@pytest.mark.parametrize("engine", ENGINES)
def test_adapters_are_chosen_by_name(model: Path, adapters: dict[str, Path], engine: str) -> None:
    base = Translator.load(model, adapter=adapters, engine=engine, device="cpu")
    plain = texts(Translator.load(model, engine=engine, device="cpu"))
    alone = {
        name: texts(Translator.load(model, adapter=path, engine=engine, device="cpu"))
        for name, path in adapters.items()
    }

    assert (base.adapter, base.adapters) == (None, ["help", "chat"])
    assert texts(base) == plain
    assert texts(base.using(adapter="help")) == alone["help"]
    chat = base.using(adapter="help").using(adapter="chat")
    assert (chat.adapter, texts(chat)) == ("chat", alone["chat"])
    assert texts(chat.using(adapter=None)) == texts(base) == plain
    assert len({str(plain), *map(str, alone.values())}) == 3
    assert chat.generation == base.generation
    assert chat.tokenizer is base.tokenizer


def test_the_risk_model_is_for_the_model_without_an_adapter(
    model: Path, adapters: dict[str, Path], tmp_path: Path, text: Path, dragoman_: Command
) -> None:
    calibrated = Path(shutil.copytree(model, tmp_path / "calibrated"))
    write_risk(calibrated, RISK_MODEL, read_config(calibrated), {})
    adapted = Translator.load(calibrated, adapter=adapters["help"], device="cpu")

    (risk,) = (one.risk for one in adapted.translate(LINES[:1], risk=True))
    assert risk is not None
    assert risk.probability is None
    assert adapted.risk(LINES[:1], LINES[:1])[0].probability is None
    base = adapted.using(adapter=None)
    assert [*base.risk_models.values()] == [RISK_MODEL]
    assert base.using(adapter="help").risk_models == {}
    code, _, err = dragoman_(
        "evaluate", calibrated, text, text.with_suffix(".de"), "--risk", "--adapter", adapters["help"]
    )
    assert (code, "not calibrated for a model with an adapter" in err) == (2, True)


@native
def test_several_translators_of_one_model_work_at_once(model: Path, adapters: dict[str, Path]) -> None:
    base = Translator.load(model, adapter=adapters, device="cpu")
    translators = [base, base.using(adapter="help"), base.using(adapter="chat")] * 2
    alone = [texts(one) for one in translators]
    together: dict[int, list[str]] = {}

    def translate(number: int) -> None:
        together[number] = texts(translators[number])

    threads = [threading.Thread(target=translate, args=(number,)) for number in range(len(translators))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [together[number] for number in range(len(translators))] == alone


@pytest.mark.parametrize("engine", ENGINES)
def test_inspection_sees_the_adapter(model: Path, adapters: dict[str, Path], engine: str) -> None:
    base = Translator.load(model, adapter=adapters, engine=engine, device="cpu")
    found = base.using(adapter="chat")

    trace = found.inspect(LINES[0], beam=3)

    assert trace.target.text == found.translate([LINES[0]], beam=3)[0].text
    assert trace.target.text != base.inspect(LINES[0], beam=3).target.text
    assert found.bundle.model is found.bundle.model is base.using(adapter="chat").bundle.model


def test_a_model_in_memory_changes_to_the_type_that_is_asked_for(model: Path) -> None:
    bundle = Translator.load(model, engine="pytorch", device="cpu").bundle
    for name in ("bfloat16", "float32"):
        Translator.of(bundle, dtype=name)  # type: ignore[arg-type]
        assert {str(one.dtype) for one in bundle.model.parameters()} == {f"torch.{name}"}


@native
def test_a_quantised_model_takes_the_adapter_of_its_floats(
    model: Path, adapters: dict[str, Path], tmp_path: Path
) -> None:
    quantise_folder(model, tmp_path / "int8")

    found = Translator.load(tmp_path / "int8", adapter=adapters["help"], device="cpu")

    assert isinstance(found.engine, NativeEngine)
    assert found.engine.dtype == "int8"
    reference = Translator.load(
        merged(tmp_path / "int8", adapters["help"], tmp_path / "m"), dtype="int8", device="cpu"
    )
    assert texts(found) == texts(reference)
    assert texts(found) != texts(found.using(adapter=None))


@native
def test_a_model_in_an_archive_is_adapted(model: Path, adapters: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in model.iterdir():
            archive.write(path, f"model/{path.name}")

    found = Translator.load(tmp_path / "model.zip", adapter=adapters["help"], device="cpu")

    assert texts(found) == texts(Translator.load(model, adapter=adapters["help"], device="cpu"))
    assert found.inspect(LINES[0], beam=2).target.text


def test_wrong_adapters_are_refused(model: Path, adapters: dict[str, Path]) -> None:
    translator = Translator.load(model, adapter=adapters, device="cpu")
    with pytest.raises(ConfigError, match="adapter 'legal' is not loaded") as caught:
        translator.using(adapter="legal")
    assert caught.value.hint == "loaded are help, chat"
    with pytest.raises(ConfigError, match="not loaded") as caught:
        Translator.load(model).using(adapter="help")
    assert caught.value.hint == "load it: Translator.load(MODEL, adapter=FOLDER)"
    with pytest.raises(ModelError, match="not an adapter folder"):
        Translator.load(model, adapter=model)
    with pytest.raises(ModelError, match="not an adapter for"):
        Translator.load(SAVED / "window", adapter=adapters["help"])
    marian = Path(__file__).parents[1] / "interop" / "fixtures" / "marian-ssru"
    with pytest.raises(ConfigError, match="fits only the dragoman model") as caught:
        Translator.load(marian, adapter=adapters["help"])
    assert caught.value.hint == "import the model first: dragoman import"


# The commands


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "test.en"
    for name in (path, path.with_suffix(".de")):
        name.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_translate_with_an_adapter(
    model: Path, adapters: dict[str, Path], text: Path, dragoman_: Command
) -> None:
    code, out, err = dragoman_("translate", model, text, "--adapter", adapters["help"], "--beam", "3")

    found = Translator.load(model, adapter=adapters["help"])
    assert code == 0
    assert "cut short" in err
    assert out.splitlines() == [one.text for one in found.translate(LINES, beam=3)]
    assert out != dragoman_("translate", model, text, "--beam", "3")[1]


def test_translate_a_document_with_an_adapter(
    model: Path,
    adapters: dict[str, Path],
    tmp_path: Path,
    dragoman_: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page, used = tmp_path / "page.md", []
    page.write_text(f"# {LINES[0]}\n", encoding="utf-8")

    def run_documents(translator: Translator, *_: object, **__: object) -> None:
        used.append(texts(translator))

    monkeypatch.setattr(sys.modules["dragoman.cli.translate.translate"], "run_documents", run_documents)
    words = ("translate", model, page, "-o", tmp_path / "out.md")
    assert dragoman_(*words, "--adapter", adapters["help"])[0] == dragoman_(*words)[0] == 0

    assert used == [texts(Translator.load(model, adapter=adapters["help"])), texts(Translator.load(model))]


def test_evaluate_an_adapter_against_its_model(
    model: Path, adapters: dict[str, Path], text: Path, dragoman_: Command
) -> None:
    code, out, err = dragoman_(
        "evaluate", model, text, text.with_suffix(".de"), "--adapter", adapters["help"], "--against", model,
        "--json", "--bootstrap", "10", "--quiet",
    )  # fmt: skip

    table = json.loads(out)
    assert (code, err) == (0, "")
    assert table["adapter"] == str(adapters["help"])
    assert f"{model} + {adapters['help']}" in out
    assert dragoman_("evaluate", model, text, text.with_suffix(".de"), "--against", model)[0] != 0


def test_inspect_with_an_adapter_beside_its_model(
    model: Path, adapters: dict[str, Path], tmp_path: Path, dragoman_: Command
) -> None:
    words, page = ["inspect", model, LINES[0], "--adapter", adapters["help"]], tmp_path / "both.html"
    code, out, _ = dragoman_(*words)
    assert code == dragoman_(*words, "--compare", str(model), "-o", page)[0] == 0
    both = page.read_text(encoding="utf-8")

    translation = Translator.load(model, adapter=adapters["help"]).inspect(LINES[0]).target.text
    assert translation in out
    assert "general + help" in both
    assert translation in both
    assert Translator.load(model).inspect(LINES[0]).target.text in both


def test_merge_info_and_verify(
    model: Path, adapters: dict[str, Path], tmp_path: Path, dragoman_: Command
) -> None:
    output = tmp_path / "new"

    code, out, err = dragoman_("model", "merge", model, adapters["chat"], "-o", output)

    assert (code, out, err) == (0, "", f"wrote {output}\n")
    found = texts(Translator.load(output, device="cpu"))
    assert found == texts(Translator.load(model, adapter=adapters["chat"], device="cpu"))
    assert dragoman_("model", "verify", output)[0] == 0
    assert dragoman_("model", "merge", model, adapters["chat"], "-o", output)[0] == 2
    assert dragoman_("model", "info", adapters["chat"])[1].startswith(f"{adapters['chat']}: Chat, an adapter")
    assert json.loads(dragoman_("model", "info", adapters["chat"], "--json")[1])["parameters"] > 0
    code, out, err = dragoman_("model", "verify", adapters["chat"])
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["ok"] * 5


@pytest.mark.parametrize(
    "words",
    [
        ["translate", "{}", "{text}"],
        ["model", "quantize", "{}", "-o", "{new}"],
        ["model", "average", "{}", "{}", "-o", "{new}"],
        ["model", "diff", "{}", "{}"],
        ["model", "shortlist", "{}", "{text}", "{text}"],
        ["model", "merge", "{}", "{}", "-o", "{new}"],
        ["export", "{}", "--to", "marian", "-o", "{new}"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_needs_a_model_refuses_an_adapter(
    words: list[str], adapters: dict[str, Path], tmp_path: Path, text: Path, dragoman_: Command
) -> None:
    new = tmp_path / "new"
    called = [word.format(adapters["help"], text=text, new=new) for word in words]

    code, out, err = dragoman_(*called)

    assert (code, out) == (4, "")
    assert f"{adapters['help']}/config.json: missing\nhint: this is an adapter: merge it first" in err
    assert not new.exists()


@pytest.mark.thorough
@native
def test_a_translation_with_an_adapter_needs_neither_torch_nor_numpy(
    model: Path, adapters: dict[str, Path], text: Path
) -> None:
    code = (
        "import sys\n"
        "from dragoman.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "assert not {'torch', 'numpy', 'safetensors'} & sys.modules.keys()\n"
    )

    words = [str(model), str(text), "--adapter", str(adapters["help"])]
    done = subprocess.run(
        [sys.executable, "-c", code, "translate", *words], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(LINES)
