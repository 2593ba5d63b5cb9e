"""config.json and generation.json: older releases read what they can use, and newer options are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.translation.folder.models import edit, saved

from dragoman.base.errors import ModelError
from dragoman.base.options import entries
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig, TransformerConfig
from dragoman.translation.folder import config as module
from dragoman.translation.folder.config import (
    FolderConfig,
    check_digests,
    read_config,
    write_config,
    write_digests,
)
from dragoman.translation.search.options import AttentionOf, Beam

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
DIGEST = "sha256:" + 64 * "0"
OLD = {
    "transformer": TransformerConfig(source_vocab=9, target_vocab=9),
    "window": TransformerConfig(source_vocab=9, target_vocab=9, window=4),
    "recurrent": RecurrentConfig(source_vocab=9, target_vocab=9),
    "convolutional": ConvolutionalConfig(source_vocab=9, target_vocab=9),
}


def table(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return content


def written(folder: Path, **changes: Any) -> FolderConfig:
    config = FolderConfig(model=OLD["transformer"], source_language="en", target_language="de")
    config = replace(config, **changes)
    write_config(config, folder)
    return config


@pytest.mark.parametrize("name", OLD)
def test_a_default_model_has_the_options_of_release_0_1(name: str, tmp_path: Path) -> None:
    """That release refuses an option it does not know; the folder in tests/saved is what it wrote."""
    written(tmp_path, model=OLD[name])

    ours, theirs = table(tmp_path, "config.json"), table(SAVED / name, "config.json")
    assert ours["model"].keys() == theirs["model"].keys()
    assert ours.keys() == theirs.keys()
    assert table(tmp_path, "generation.json").keys() == table(SAVED / name, "generation.json").keys()


NEWER_MODEL = {
    "norm": "pre",
    "norm_epsilon": 1e-6,
    "final_norm": False,
    "embedding_norm": True,
    "embedding_scale": False,
    "norm_kind": "rms",
    "kv_heads": 1,
}
NEWER_SEARCH = {"stop": "patient", "banned": (3, 5), "renormalize": True}


def test_newer_options_are_written_if_they_matter(tmp_path: Path) -> None:
    model = TransformerConfig(source_vocab=9, target_vocab=9, **NEWER_MODEL)  # type: ignore[arg-type]
    config = written(tmp_path, model=model, generation=Beam(**NEWER_SEARCH))  # type: ignore[arg-type]

    assert table(tmp_path, "config.json")["model"].items() >= NEWER_MODEL.items()
    assert table(tmp_path, "generation.json").keys() >= NEWER_SEARCH.keys()
    assert read_config(tmp_path) == config


def test_every_newer_option_is_tried_here() -> None:
    """An option that is added later needs its place in NEWER_MODEL or NEWER_SEARCH."""
    for cls, section, newer in (
        (TransformerConfig, "transformer", NEWER_MODEL),
        (RecurrentConfig, "recurrent", {}),
        (ConvolutionalConfig, "convolutional", {}),
        (Beam, "generation", NEWER_SEARCH),
    ):
        assert entries(cls).keys() - module._FIRST[section] - newer.keys() - {"architecture"} == set()


@pytest.mark.parametrize("digest", [None, DIGEST])
def test_the_digest_comes_back(digest: str | None, tmp_path: Path) -> None:
    config = written(tmp_path, weights=digest)

    assert read_config(tmp_path) == config
    assert ("weights" in table(tmp_path, "config.json")) is (digest is not None)


@pytest.mark.parametrize("digest", ["", "abc", "blake3:00", DIGEST[:-1], 3, [DIGEST], False])
def test_a_digest_of_another_kind_is_refused(digest: object, tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    edit(folder / "config.json", lambda table: table.update(weights=digest))

    with pytest.raises(ModelError, match=r"config\.json: weights = ") as caught:
        read_config(folder)

    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("head", [None, AttentionOf(5, 1)])
def test_the_head_that_aligns_comes_back(head: AttentionOf | None, tmp_path: Path) -> None:
    config = written(tmp_path, alignment=head)

    assert read_config(tmp_path) == config
    assert table(tmp_path, "config.json").get("alignment") == (None if head is None else "5.1")


@pytest.mark.parametrize("head", ["", "2", "9.1", "1.9", 3, ["1.1"], False, "one"])
def test_a_head_that_the_decoder_lacks_is_refused(head: object, tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    edit(folder / "config.json", lambda table: table.update(alignment=head))

    with pytest.raises(ModelError, match=r"config\.json: not a usable configuration"):
        read_config(folder)


def test_a_missing_option_is_named_with_its_file(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    edit(folder / "config.json", lambda table: table.pop("source_language") and None)

    with pytest.raises(
        ModelError, match=r"config\.json: not a usable configuration: source_language is missing"
    ):
        read_config(folder)


@pytest.mark.parametrize("names", [(), ("terms",), ("terms", "matches", "of a later release")])
def test_what_a_model_reads_comes_back(names: tuple[str, ...], tmp_path: Path) -> None:
    config = written(tmp_path, guidance=names)

    assert read_config(tmp_path) == config
    assert table(tmp_path, "config.json").get("guidance") == (list(names) or None)


@pytest.mark.parametrize("names", ["terms", [1], {"terms": 1}, None])
def test_what_a_model_reads_is_a_list_of_names(names: object, tmp_path: Path) -> None:
    folder = saved(tmp_path / "model")
    edit(folder / "config.json", lambda table: table.update(guidance=names))

    with pytest.raises(ModelError, match=r"config\.json: not a usable configuration: guidance = "):
        read_config(folder)


def test_a_changed_bit_in_digests_is_found_wherever_it_is(tmp_path: Path) -> None:
    """A changed name would leave its file without a digest."""
    for name in ("config.json", "generation.json", "tokenizer.json", "shortlist.safetensors"):
        (tmp_path / name).write_text(f"{{{name!r}: 1}}")
    write_digests(tmp_path, ["config.json", "generation.json", "tokenizer.json", "shortlist.safetensors"])
    check_digests(tmp_path)
    whole = (tmp_path / "digests.json").read_bytes()
    names = [whole.index(name) for name in (b"config", b"tokenizer", b"shortlist", b"files", b"generation")]
    for place in range(len(whole)):
        if any(first < place < first + 5 for first in names):
            (tmp_path / "digests.json").write_bytes(
                whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
            )
            with pytest.raises(ModelError, match=r"digests\.json"):
                check_digests(tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800", "", "config.json/x"])
def test_a_name_that_no_file_can_have_is_damage(name: str, tmp_path: Path) -> None:
    (tmp_path / "digests.json").write_text(json.dumps({"files": {name: {"bytes": 1}}}))
    if not name:  # the folder itself exists
        check_digests(tmp_path)
        return
    with pytest.raises(ModelError, match="damaged") as error:
        check_digests(tmp_path)
    assert error.value.hint


def test_an_optional_file_may_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "risk.json").write_text("{}")
    write_digests(tmp_path, ["risk.json"])
    (tmp_path / "risk.json").unlink()

    check_digests(tmp_path)
