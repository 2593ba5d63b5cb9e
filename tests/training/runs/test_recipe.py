"""Recipes: their layers, and where their text is. test_recipes.py tests those of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.config import from_table, read_toml, to_toml
from dragoman.base.errors import ConfigError
from dragoman.models.shapes import RecurrentConfig, TransformerConfig
from dragoman.text.corpora.shards import files_of
from dragoman.training.runs.recipe import (
    DATA_VARIABLE,
    PRESETS,
    DataConfig,
    Recipe,
    find_data,
    preset_for,
    recipe_of_run,
    resolve,
)
from dragoman.training.runs.text.translations import epoch_weights


def test_the_default_is_the_model_of_the_paper():
    assert Recipe().model == TransformerConfig()
    model = resolve(preset="base").model
    assert (model.d_model, model.d_ff, model.heads) == (512, 2048, 8)
    assert (model.encoder_layers, model.decoder_layers, model.norm) == (6, 6, "post")
    big = resolve(preset="big").model
    assert (big.d_model, big.d_ff, big.heads, big.dropout) == (1024, 4096, 16, 0.3)


def test_the_small_presets_have_their_documented_shapes():
    shapes = {
        name: (m.encoder_layers, m.decoder_layers, m.d_model, m.d_ff, m.heads)
        for name in ("tiny", "small")
        for m in [resolve(preset=name).model]
    }
    assert shapes == {"tiny": (4, 4, 128, 256, 4), "small": (3, 3, 256, 1024, 4)}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_recipe_with_its_name(name):
    assert resolve(preset=name).preset == name


def test_later_layers_win(tmp_path):
    file = tmp_path / "r.toml"
    file.write_text('preset = "tiny"\n[model]\nheads = 8\nd_ff = 512\n[training]\nwarmup = 7\n')

    recipe = resolve(recipe=file, overrides=["model.heads=2"])

    assert (recipe.model.d_model, recipe.model.d_ff, recipe.model.heads) == (128, 512, 2)
    assert (recipe.training.warmup, recipe.training.average) == (7, 8)


def test_a_preset_argument_replaces_the_preset_of_the_file(tmp_path):
    file = tmp_path / "r.toml"
    file.write_text('preset = "tiny"\n[model]\nheads = 8\n')

    recipe = resolve(recipe=file, preset="small")

    assert (recipe.preset, recipe.model.d_model, recipe.model.heads) == ("small", 256, 8)


def test_a_preset_gives_another_architecture_the_options_it_has():
    model = resolve(preset="tiny", overrides=["model.architecture=recurrent", "model.layers=1"]).model

    assert model == RecurrentConfig(d_model=128, dropout=0.3, layers=1)
    with pytest.raises(ConfigError, match=r"model\.heads"):
        resolve(preset="tiny", overrides=["model.architecture=recurrent", "model.heads=2"])


def test_a_preset_may_be_an_override():
    assert resolve(overrides=["preset=small"], pairs=10).model.d_model == 256


def test_a_file_without_a_preset_builds_on_the_defaults(tmp_path):
    (tmp_path / "r.toml").write_text("seed = 3\n")

    recipe = resolve(recipe=tmp_path / "r.toml", pairs=10)

    assert (recipe.preset, recipe.seed, recipe.model) == (None, 3, TransformerConfig())


@pytest.mark.parametrize(
    ("pairs", "name"), [(1, "tiny"), (99_999, "tiny"), (100_000, "small"), (10**6, "base"), (10**9, "base")]
)
def test_the_size_of_the_corpus_chooses_the_preset(pairs, name):
    assert preset_for(pairs) == name
    assert resolve(pairs=pairs).preset == name


def test_without_a_number_of_pairs_no_preset_is_chosen():
    assert resolve(pairs=None) == Recipe()
    assert resolve(overrides=["preset=big"], pairs=None).model.d_model == 1024


def test_resolving_leaves_the_presets_unchanged():
    before = repr(PRESETS)

    resolve(preset="tiny", overrides=["model.heads=2", "training.max_updates=1"])

    assert repr(PRESETS) == before


def test_a_recipe_survives_writing_and_reading(tmp_path):
    recipe = resolve(preset="small", overrides=["training.max_minutes=1.5", 'data.train=["a.en", "a.de"]'])
    (tmp_path / "training.toml").write_text(to_toml(recipe))

    assert from_table(Recipe, read_toml(tmp_path / "training.toml")) == recipe
    assert resolve(recipe=tmp_path / "training.toml") == recipe


TAGGED = 'data.corpora=[{name="a", train=["a.tsv"]}, {name="b", train=["b.tsv"], tagged=true}]'


@pytest.mark.parametrize(
    ("arguments", "what", "hint"),
    [
        ({"preset": "tyni"}, "no preset 'tyni'", "tiny, small, tiny11, base, big"),
        ({"overrides": ["modl.heads=2"]}, "unknown option 'modl'", "did you mean model?"),
        ({"overrides": ["heads=2"]}, "unknown option 'heads'", "model.heads"),
        ({"overrides": ["training.warmup=0"]}, "training.warmup = 0", "at least 1"),
        ({"recipe": Path("nowhere.toml")}, "nowhere.toml", "path"),
        (
            {"overrides": ["data.terms=0.3", "tokenizer.kind=words"]},
            "data.terms needs marks",
            "byte_fallback",
        ),
        (
            {"overrides": ["data.matches=1", "tokenizer.byte_fallback=false"]},
            "data.matches needs marks",
            "byte_fallback",
        ),
        (
            {"overrides": [TAGGED, "tokenizer.kind=words"]},
            "data.corpora: b: tagged = true needs marks",
            "byte_fallback",
        ),
        (
            {"overrides": [TAGGED, "tokenizer.byte_fallback=false"]},
            "data.corpora: b: tagged = true needs marks",
            "byte_fallback",
        ),
    ],
)
def test_mistakes_get_an_error_and_a_hint(arguments, what, hint):
    with pytest.raises(ConfigError, match=what) as caught:
        resolve(**arguments)
    assert hint in caught.value.hint


# ---- where the text is ------------------------------------------------------------------------------

DATA = DataConfig(folder="corpus", train=("a.en", "a.de"), origin="https://example.org/corpus")


@pytest.mark.parametrize("folder", ["", "corpus"])
def test_text_is_looked_up_in_the_folder_and_in_the_root(tmp_path, folder, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    (tmp_path / folder).mkdir(exist_ok=True)
    for name in DATA.train:
        (tmp_path / folder / name).touch()

    paths = find_data(DATA, tmp_path, DATA.train)

    assert paths == [tmp_path / folder / name for name in DATA.train]
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert find_data(DATA, None, DATA.train) == paths
    with pytest.raises(ConfigError):  # the argument wins over the environment
        find_data(DATA, tmp_path / "elsewhere", DATA.train)


@pytest.mark.parametrize("name", ["a-*.en", "a-1.en", "deep/a-[12].en"])
def test_a_folder_with_a_bracket_in_its_name_is_no_pattern(tmp_path, name):
    root = tmp_path / "runs [1]"
    (root / "corpus" / "deep").mkdir(parents=True)
    for path in (root / "corpus" / "a-1.en", root / "corpus" / "deep" / "a-1.en"):
        path.touch()

    (found,) = find_data(DATA, root, (name,))

    (file,) = files_of(str(found))
    assert Path(file).name == "a-1.en"
    with pytest.raises(ConfigError):
        find_data(DATA, root, ("b-*.en",))


def test_if_text_is_missing_the_hint_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    for root in (None, tmp_path):
        with pytest.raises(ConfigError) as caught:
            find_data(DATA, root, DATA.train)
        assert "--data" in caught.value.hint
        assert DATA_VARIABLE in caught.value.hint
        assert DATA.origin in caught.value.hint


def test_one_side_alone_is_not_enough(tmp_path):
    (tmp_path / "a.en").touch()
    with pytest.raises(ConfigError, match="a.en and a.de"):
        find_data(DATA, tmp_path, DATA.train)


def test_a_scale_of_adapters_needs_their_rank() -> None:
    with pytest.raises(ConfigError, match="lora_alpha without adapters"):
        resolve(overrides=["tuning.lora_alpha=8"])
    assert resolve(overrides=["tuning.lora_alpha=8", "tuning.lora_rank=4"]).tuning.lora_alpha == 8


def test_separate_vocabularies_cannot_share_an_embedding():
    """Even if they have the same size."""
    apart = ["tokenizer.shared=false", "tokenizer.vocab_size=500"]

    with pytest.raises(ConfigError, match="one vocabulary") as caught:
        resolve(preset="tiny", overrides=apart)

    assert "model.tie" in caught.value.hint
    assert resolve(preset="tiny", overrides=[*apart, "model.tie=decoder"]).model.tie == "decoder"


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_that_torch_does_not_take_is_refused(seed):
    with pytest.raises(ConfigError, match="seed = "):
        resolve(preset="tiny", overrides=[f"seed={seed}"])


def test_word_vectors_are_refused_and_an_empty_section_of_theirs_is_read(tmp_path):
    """Earlier versions wrote the section into every recipe."""
    path = tmp_path / "training.toml"
    path.write_text('seed = 5\n[embeddings]\nsource = ""\ntarget = ""\nfrozen = false\n')

    assert resolve(recipe=path).seed == recipe_of_run(path).seed == 5
    path.write_text('[embeddings]\nsource = "vectors.vec"\n')
    for read in (lambda: resolve(recipe=path), lambda: recipe_of_run(path)):
        with pytest.raises(ConfigError, match=r"embeddings.source: this option is gone") as error:
            read()
        assert "leave it out" in error.value.hint
    with pytest.raises(ConfigError, match="embeddings.frozen"):
        resolve(overrides=["embeddings.frozen=true"])


def test_an_option_that_is_gone_is_read_if_it_was_off(tmp_path):
    path = tmp_path / "training.toml"
    path.write_text("seed = 5\n[tuning]\npenalty = 0.0\nreplay = 0.5\n")

    assert recipe_of_run(path).tuning.replay == 0.5
    with pytest.raises(ConfigError, match=r"tuning.penalty: this option is gone"):
        resolve(overrides=["tuning.penalty=0.5"])


@pytest.mark.parametrize(
    ("other", "hint"),
    [
        ("model.architecture=recurrent", "transformer, ssru"),
        ("tuning.lora_rank=4", "tuning.lora_rank=0"),
        ("training.parallel=sharded", "training.parallel=replicated"),
    ],
)
def test_what_cannot_be_trained_with_rounded_weights(other, hint):
    with pytest.raises(ConfigError, match=r'training\.quantise = "int8"') as caught:
        resolve(preset="tiny", overrides=["training.quantise=int8", other])

    assert hint in caught.value.hint


def staged(*stages: str, names: tuple[str, ...] = ("web", "größe")) -> str:
    corpora = [f'[[data.corpora]]\nname = "{name}"\ntrain = ["{name}.en", "{name}.de"]' for name in names]
    return "\n".join([*corpora, *(f"[[data.stages]]\n{stage}" for stage in stages)])


def test_stages_of_a_curriculum(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(staged('updates = 5\nweights = {"größe" = 0, web = 2}', "updates = 2\nnoise = 0.4"))
    recipe = resolve(recipe=path)

    first, second = recipe.data.stages
    assert (first.updates, first.weights, first.noise) == (5, {"größe": 0.0, "web": 2.0}, None)
    assert epoch_weights(recipe) == {"web": 1.0, "größe": 1.0}
    assert epoch_weights(recipe, first) == {"web": 2.0}
    assert epoch_weights(recipe, second) == epoch_weights(recipe)
    assert recipe.data.annotating.noise == 0.4  # the text is kept for it
    assert recipe.data.annotating_of("train.web", 0.1).noise == 0.1
    path.write_text(to_toml(recipe))
    assert recipe_of_run(path) == recipe


@pytest.mark.parametrize(
    ("stage", "names", "what", "hint"),
    [
        ("updates = 5\nweights = {new = 1}", ("web",), "weights = {new = 1.0} cannot be", "(web), not all"),
        ("updates = 5\nweights = {new = 1}", (), "weights = {new = 1.0} cannot be", "data.corpora (none)"),
        ("updates = 5\nweights = {web = 0}", ("web",), "{web = 0.0} cannot be used", "not all with weight 0"),
        ("updates = 5\nweights = {web = -1}", ("web",), "weights = {web = -1} cannot be", "each at least 0"),
        ('updates = 5\nweights = "web"', ("web",), 'weights = "web" cannot be', "a table {name = a number"),
        ("updates = 0", ("web",), "updates = 0 cannot be used", "at least 1"),
        ("noise = 0.1", ("web",), "updates is missing", "give it a value"),
    ],
)
def test_stages_that_cannot_be(tmp_path, stage, names, what, hint):
    path = tmp_path / "a.toml"
    path.write_text(staged(stage, names=names))
    with pytest.raises(ConfigError) as caught:
        resolve(recipe=path)
    assert what in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["data.noise_kinds=['typo']"], "noise_kinds"),
        (["training.close_unseen=true", "model.output_bias=true"], "data.noise changes the target tokens"),
        (["teacher.words=0.5", "teacher.models=['a']"], "data.noise changes the tokens"),
        (["data.corpora=[{name='a', train=['a.en', 'a.de'], both=true}]"], "noise is for one direction"),
    ],
)
def test_what_noise_does_not_go_with(options, what):
    with pytest.raises(ConfigError) as caught:
        resolve(overrides=["data.noise=0.1", *options])
    assert what in str(caught.value)
    assert caught.value.hint
