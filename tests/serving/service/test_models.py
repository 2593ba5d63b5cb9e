from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.serving.engines import Several, Shift, ask, served
from tests.serving.service.test_service import run
from tests.translation.bundles import several_bundle

from dragoman.base.errors import ConfigError, DataError, ModelError
from dragoman.models.folder.bundle import save
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.inspection import Inspector
from dragoman.serving.service.models import ModelSpec, load_all, load_served
from dragoman.serving.service.service import Service
from dragoman.translation.loading import Variant
from dragoman.translation.native.build import unavailable
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
ALL: Any = {"engine": None, "dtype": None}


def test_names_are_those_of_folders_unless_given() -> None:
    specs = [ModelSpec(folder=SAVED / "transformer"), ModelSpec(folder=SAVED / "transformer", name="other")]
    models = load_all(specs, **ALL)

    assert [one.name for one in models] == ["transformer", "other"]
    assert models[0].digest == models[1].digest
    assert models[0].digest.startswith("sha256:")
    assert (models[0].source, models[0].targets) == ("en", ("de",))
    for one in models:
        one.close()


def test_a_model_addresses_readers_of_its_own_languages() -> None:
    model = served("m", Shift(), reads=("formality",))
    assert [one for one in ("de", "DE", "de-AT", "fr", "es") if model.addresses(one)] == ["de", "DE", "de-AT"]


def test_an_adapter_may_have_learnt_to_address_them() -> None:
    model = served("m", Shift())
    model.adapters = ("polite",)
    model._variants["polite", None] = served("n", Shift(), reads=("formality",)).translator
    assert model.addresses("de", "polite")
    assert not model.addresses("de")
    router = Service([model])._router
    for adapter, expected in (("polite", "formal"), (None, None)):
        ask = Ask(source="en", target="de", adapter=adapter, formality="formal")
        assert [how.formality for _, how in router.steps(router.find("en", ask), ask)] == [expected]


def test_two_models_of_one_name_are_refused_before_they_are_loaded() -> None:
    with pytest.raises(ConfigError, match="two models are called 'nowhere'"):
        load_all([ModelSpec(folder="nowhere"), ModelSpec(folder="x", name="nowhere")], **ALL)
    with pytest.raises(ConfigError, match="no model"):
        load_all([], **ALL)
    with pytest.raises(ModelError):
        load_all([ModelSpec(folder=Path("nowhere"))], **ALL)


def test_an_architecture_without_a_native_engine_is_shared_too() -> None:
    model = load_served(ModelSpec(folder=SAVED / "recurrent"))
    assert model.engine == "pytorch"
    bundle = model.translator.bundle  # inspection needs it
    assert (bundle.source_language, bundle.target_language) == ("en", "de")
    (about,) = Inspector([model]).about()["models"]
    assert (about["architecture"], about["heads"]) == ("recurrent", {})
    alone = Translator.load(SAVED / "recurrent").translate(["Tom sleeps."], max_extra_tokens=50)[0].text
    service = Service([model])

    async def story() -> None:
        assert (await ask(service, "Tom sleeps."))[0].text == alone

    run(service, story())


def test_lists_of_terms_are_read_once_and_chosen_by_name(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("house,Haus\n", encoding="utf-8")
    spec = ModelSpec(folder=SAVED / "transformer", terms={"mine": tmp_path / "list.csv"})
    model = load_served(spec)
    shutil.rmtree(tmp_path)
    service = Service([model])

    async def story() -> None:
        assert "Haus" in (await ask(service, "Tom sees the house.", terms="mine"))[0].text
        assert "Haus" not in (await ask(service, "Tom sees the house."))[0].text
        with pytest.raises(ConfigError, match="no list of terms 'yours'") as error:
            await ask(service, "Tom", terms="yours")
        assert error.value.hint == "there are mine"

    run(service, story())


def test_a_list_of_terms_serves_the_pairs_that_it_names(tmp_path: Path) -> None:
    save(several_bundle(), tmp_path / "model")  # no pair of German and French
    lists = {"three": tmp_path / "a.csv", "two": tmp_path / "b.csv"}
    lists["three"].write_text("en,de,fr,note\nhouse,Haus,maison,\ncat,,chat,\n", encoding="utf-8")
    lists["two"].write_text("de-AT,en\nHaus,house\n", encoding="utf-8")
    service = Service([load_served(ModelSpec(folder=tmp_path / "model", terms=lists))])
    shutil.rmtree(tmp_path)

    async def story() -> None:
        for terms, source, text, target, wanted in (
            ("three", "en", "the house", "de", "Haus"),
            ("three", "en", "the house", "fr", "maison"),
            ("three", "en", "the cat", "fr", "chat"),
            ("three", "de", "das Haus", "en", "house"),
            ("two", "de", "das Haus", "en", "house"),
        ):
            (answer,) = await ask(service, text, source=source, target=target, terms=terms, beam=1)
            assert answer.translation
            # The model is untrained: it may not come to the end.
            assert wanted in answer.text or wanted in answer.translation.unused_terms
        assert "Haus" not in (await ask(service, "the house"))[0].text
        with pytest.raises(ConfigError, match="no list of terms 'two'") as error:
            await ask(service, "the house", target="fr", terms="two")
        assert error.value.hint == "there are three"
        pytest.importorskip("py3langid")
        (answer,) = await ask(service, "A dog is sleeping.", source=None, target="fr", terms="three")
        assert answer.source == "en"
        with pytest.raises(ConfigError, match="no list of terms 'two'"):
            await ask(service, "A dog is sleeping.", source=None, target="fr", terms="two")
        english = "The children are playing in the garden behind the house."
        (answer,) = await ask(service, english, source=None, target="en", terms="two")
        assert (answer.text, answer.source) == (english, "en")

    run(service, story())


def test_a_list_has_no_terms_of_a_pair_that_it_does_not_name(tmp_path: Path) -> None:
    save(several_bundle(languages=("de", "en", "fr", "it")), tmp_path / "model")  # of all pairs
    (tmp_path / "a.csv").write_text("en,de\nhouse,Haus\n", encoding="utf-8")
    model = load_served(ModelSpec(folder=tmp_path / "model", terms={"a": tmp_path / "a.csv"}))
    known = {pair for leg in model.legs for pair in product(leg.sources, leg.targets)}
    assert {pair for pair in known if pair[0] != pair[1] and model.terms_of("a", pair)} == {
        ("en", "de"),
        ("de", "en"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("house,Haus\n", "no terms for a pair"),
        ("it,es\ncasa,casa\n", "no terms for a pair"),
        ("en,de\nhouse,\n", "no terms for a pair"),
        ('en,de\n"house,Haus\n', "not valid CSV"),
    ],
)
def test_a_list_without_terms_of_a_pair_is_refused(tmp_path: Path, text: str, message: str) -> None:
    save(several_bundle(), tmp_path / "model")
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        load_served(ModelSpec(folder=tmp_path / "model", terms={"a": tmp_path / "a.csv"}))


def test_adapters_are_chosen_by_name() -> None:
    first, adapted = Shift(1), Variant(engine=Shift(3), load_bundle=lambda: pytest.fail("not needed"))
    models = [
        served(
            "m",
            first,
            adapters={"mine": adapted},
        ),
        served("n", Shift(1), "de", "fr"),
    ]
    service = Service(models)

    async def story() -> None:
        assert (await ask(service, "abc"))[0].text == "bcd"
        assert (await ask(service, "abc", adapter="mine"))[0].text == "def"
        assert (await ask(service, "abc"))[0].text == "bcd"
        assert (await ask(service, "abc", adapter="mine", target="fr"))[0].text == "efg"
        with pytest.raises(ConfigError, match="no adapter 'yours'"):
            await ask(service, "abc", adapter="yours")
        with pytest.raises(ConfigError, match="this pair has none|no adapter") as error:
            await ask(service, "abc", source="de", target="fr", adapter="mine")
        assert error.value.hint == "this pair has none"

    run(service, story())


def test_a_list_of_terms_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        load_served(ModelSpec(folder=SAVED / "transformer", terms={"mine": tmp_path / "none.csv"}))


def test_target_languages_have_their_usual_codes() -> None:
    model = served("m", Shift(), target="mul", tokenizer=Several())

    assert model.targets == ("de", "fr")
    assert [model.tags(("en", one)) for one in model.targets] == [("en", "deu"), ("en", "fr")]


@pytest.mark.thorough
@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_serving_with_the_native_engine_needs_no_torch() -> None:
    code = f"""
import asyncio, sys, time
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.service import ModelSpec, Service

async def story():
    service = Service.open([ModelSpec(folder={str(SAVED / "transformer")!r})], engine="native")
    await service.start()
    for markup in ("text", "html", "xml"):
        ask = Ask(source="auto", target="de", markup=markup)
        await service.translate(["Tom <b>sleeps</b>."], ask, client="", deadline=time.monotonic() + 60)
    await service.drain(1)

asyncio.run(story())
heavy = ("torch", "transformers", "starlette", "safetensors")  # the detector needs numpy
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_closing_twice_is_harmless() -> None:
    service = Service([load_served(ModelSpec(folder=SAVED / "recurrent"))])

    async def story() -> None:
        await service.drain(0)
        await service.drain(0)

    asyncio.run(story())
