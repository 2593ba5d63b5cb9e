"""Firefox's models come in and go out: the numbers of the files, and the programs that run them."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import struct
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.interop import marian_models as models
from tests.interop.firefox_models import INT8, KINDS, LARGE, PAIRS, SOURCES, by_heart, firefox, packed

from dragoman.base.errors import ConfigError, DragomanError, ModelError
from dragoman.cli import run as command
from dragoman.interop import firefox as code
from dragoman.interop.exports import export_model
from dragoman.interop.firefox.calibration import input_multipliers
from dragoman.interop.imports import import_model
from dragoman.interop.marian.binary import Matrix, read_binary, write_binary
from dragoman.interop.marian.reading import read
from dragoman.interop.marian.shortlist import binary_shortlist, read_binary_shortlist
from dragoman.interop.source import opened
from dragoman.models.folder.bundle import Bundle, load, save
from dragoman.text.corpora.corpus import open_pairs
from dragoman.translation.folder.shortlist import make_shortlist
from dragoman.translation.translator import Translator

UNTIED = models.UNTIED | {"tied-embeddings": True}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bundle, Path]:
    """A model of ours that knows some pairs by heart, and its folder, with a shortlist."""
    bundle, folder = by_heart(), tmp_path_factory.mktemp("ours")
    save(bundle, folder)
    pairs = list(open_pairs(PAIRS))
    make_shortlist(folder, pairs, frequent=20, candidates=20)
    return bundle, folder


@pytest.fixture(scope="module")
def exported(ours: tuple[Bundle, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("firefox") / "model"
    export_model(ours[0], "firefox", folder, verified=False, folder=ours[1], calibration=SOURCES)
    return folder


# Binary files


def test_a_binary_file_has_marians_layout(tmp_path: Path) -> None:
    numbers = np.arange(6, dtype=np.int8).reshape(2, 3)
    items = {
        "a_W1": Matrix(numbers, np.float32(5)),
        "Wemb": Matrix(numbers, np.float32(7)),
        "b": np.ones((1, 2), np.float32),
    }
    write_binary(tmp_path / "m.bin", items)
    wanted = packed(
        {
            "a_W1": (INT8, (2, 3), bytes([0, 3, 1, 4, 2, 5]) + struct.pack("<f", 5)),
            "Wemb": (INT8, (2, 3), bytes(range(6)) + struct.pack("<f", 7)),
            "b": (KINDS["f"], (1, 2), struct.pack("<2f", 1, 1)),
        }
    )
    assert (tmp_path / "m.bin").read_bytes() == wanted
    back = read_binary(tmp_path / "m.bin")
    assert isinstance(one := back["a_W1"], Matrix)
    assert (one.numbers == numbers).all()
    assert one.multiplier == 5
    assert isinstance(one := back["Wemb"], Matrix)
    assert (one.weight == numbers * (np.float32(1) / np.float32(7))).all()


def test_every_damage_of_a_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    write_binary(
        path, {"a_W": Matrix(np.ones((8, 8), np.int8), np.float32(2)), "b": np.ones((1, 8), np.float32)}
    )
    whole = path.read_bytes()
    header = 16 + 2 * 32 + len("a_W\0b\0") + 4 * 4 + 8
    for place in range(0, header, 4):
        for value in (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\x01\0\0\x01"):
            path.write_bytes(whole[:place] + value + whole[place + 4 :])
            with contextlib.suppress(ModelError):  # a name or a shape may change into another one
                found = read_binary(path)
                assert all(
                    one.size if isinstance(one, np.ndarray) else one.numbers.size for one in found.values()
                )
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelError, match="m.bin"):
            read_binary(path)


def test_a_shortlist_has_marians_layout_and_checksum(tmp_path: Path) -> None:
    data = binary_shortlist(3, 2, [[5, 4], [], [1]])
    body = struct.pack("<4Q4Q3I", 3, 2, 4, 3, 0, 2, 2, 3, 4, 5, 1)
    seed = 0
    for (number,) in struct.iter_unpack("<Q", body[: len(body) // 8 * 8]):
        seed ^= (number + 0x9E3779B9 + (seed << 6) % 2**64 + (seed >> 2)) % 2**64
    assert data == struct.pack("<QQ", 0xF11A48D5013417F5, seed) + body
    (tmp_path / "lex.bin").write_bytes(data)
    first, rows = read_binary_shortlist(tmp_path / "lex.bin", sources=3, targets=6)
    assert first == 3
    assert [row.tolist() for row in rows] == [[4, 5], [], [1]]
    for place in range(len(data)):
        (tmp_path / "lex.bin").write_bytes(data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :])
        if place < len(body) // 8 * 8 + 16:  # Marian's checksum leaves out a last half
            with pytest.raises(ModelError, match=r"lex\.bin: not a binary shortlist"):
                read_binary_shortlist(tmp_path / "lex.bin", sources=3, targets=6)
    with pytest.raises(ModelError, match="4 source tokens|the vocabulary has 4"):
        (tmp_path / "lex.bin").write_bytes(data)
        read_binary_shortlist(tmp_path / "lex.bin", sources=4, targets=6)


# In


@pytest.mark.parametrize("options", [{}, UNTIED, {"dec-depth": 4}, {"transformer-tied-layers": [1, 1]}])
def test_an_imported_model_keeps_its_numbers(options: dict[str, object], tmp_path: Path) -> None:
    arrays = firefox(tmp_path / "m", options)
    done = import_model(str(tmp_path / "m"), tmp_path / "ours", verified=False)
    assert (done.bundle.source_language, done.bundle.target_language) == ("en", "de")
    assert done.bundle.generation.size == 1
    stored = load_file(tmp_path / "ours" / "model.safetensors")
    inner = arrays["encoder_l2_ffn_W1"]
    multiplier = np.float32(127) / np.abs(inner).max()
    ours = "encoder.1.feed_forward.inner.weight"
    assert torch.equal(stored[ours], torch.from_numpy(np.rint(inner.T * multiplier).astype(np.int8)))
    assert (stored[f"{ours}.scale"] == torch.tensor(1 / multiplier)).all()
    queries = arrays["encoder_l1_self_Wq"]
    assert torch.equal(
        stored["encoder.0.attention.project.weight"][: len(queries)],
        torch.from_numpy(np.rint(queries.T * (np.float32(127) / np.abs(queries).max())).astype(np.int8)),
    )
    assert len(stored["decoder.0.cross_attention.project.weight.input_multiplier"]) == 3
    assert "source_embedding.weight.input_multiplier" not in stored
    translator = Translator.load(tmp_path / "ours")
    assert translator.engine.dtype == "int8"
    assert len(translator.translate(models.LINES)) == len(models.LINES)


def test_without_multipliers_inputs_have_a_range_of_their_own(tmp_path: Path) -> None:
    firefox(tmp_path / "m", alphas=False)
    import_model(str(tmp_path / "m"), tmp_path / "ours", verified=False)
    assert not any("multiplier" in name for name in load_file(tmp_path / "ours" / "model.safetensors"))
    Translator.load(tmp_path / "ours").translate("A man rides a bike.")


def test_a_binary_of_float32_is_the_same_model_as_the_npz(tmp_path: Path) -> None:
    firefox(tmp_path / "bin", int8=False)
    options = models.SSRU | {"dim-emb": 16}
    models.write(tmp_path / "npz", options, vocabularies=[models.vocabulary(size=64)], decoder=None)
    one, other = (dict(read(tmp_path / name).model.named_parameters()) for name in ("bin", "npz"))
    assert all(torch.equal(one[name], other[name]) for name in one.keys() | other.keys())


def test_zipped_files_and_a_single_file_are_found(tmp_path: Path) -> None:
    firefox(tmp_path / "m")
    firefox(tmp_path / "m", {"dec-depth": 1}, pair="enfr")
    for path in (tmp_path / "m").iterdir():
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    given = tmp_path / "m" / "model.enfr.intgemm.alphas.bin.gz"
    done = import_model(str(given), tmp_path / "ours", verified=False)
    assert done.bundle.target_language == "fr"
    assert done.bundle.model.config.decoder_layers == 1
    with pytest.raises(ModelError, match="several models"):
        import_model(str(tmp_path / "m"), tmp_path / "both", verified=False)


def test_an_archive_of_zipped_files_is_read(tmp_path: Path) -> None:
    firefox(tmp_path / "m")
    for path in (tmp_path / "m").iterdir():
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    archive = shutil.make_archive(str(tmp_path / "firefox"), "zip", tmp_path / "m")
    assert import_model(archive, tmp_path / "ours", verified=False).bundle.target_language == "de"


def test_other_zipped_files_beside_a_model_are_left_alone(ours: tuple[Bundle, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ours[1], tmp_path / "model"))
    (folder / "text.en.gz").write_bytes(b"not gzip")
    with opened(folder) as found:
        assert found == folder


@pytest.mark.parametrize("name", ["metadata.json", "registry.json"])
def test_digests_of_the_files_are_checked(name: str, tmp_path: Path) -> None:
    firefox(tmp_path / "m")
    model = tmp_path / "m" / "model.ende.intgemm.alphas.bin"
    for digest in (sha256(model.read_bytes()).hexdigest(), "0" * 64):
        entry = {"ende": {"model": {"name": model.name, "expectedSha256Hash": digest}}}
        about = {"hash": digest, "sourceLanguage": "en", "targetLanguage": "nb"} if "meta" in name else entry
        (tmp_path / "m" / name).write_text(json.dumps(about))
        if digest == "0" * 64:
            with pytest.raises(ModelError, match="SHA-256 0000"):
                read(tmp_path / "m")
        else:
            assert read(tmp_path / "m").target_language == ("nb" if "meta" in name else "de")
    (tmp_path / "m" / name).write_text("{")
    with pytest.raises(ModelError, match=rf"{name}: not valid JSON"):
        read(tmp_path / "m")


def test_the_shortlist_is_imported(exported: Path, tmp_path: Path, ours: tuple[Bundle, Path]) -> None:
    import_model(str(exported), tmp_path / "back", verified=False)
    one, other = (load_file(folder / "shortlist.safetensors") for folder in (ours[1], tmp_path / "back"))
    for token in range(len(one["candidates"])):
        allowed = [set(tensors["candidates"][token].tolist()) - {-1} for tensors in (one, other)]
        assert allowed[0] - {ours[0].model.config.start_id} <= allowed[1] | set(other["frequent"].tolist())
    found = Translator.load(tmp_path / "back").translate(SOURCES, beam=1, shortlist=True)
    assert [each.text for each in found] == [target for _, target in PAIRS]


# Out


def test_an_export_comes_back_bit_for_bit(exported: Path, tmp_path: Path) -> None:
    done = import_model(str(exported), tmp_path / "back", verified=False)
    export_model(done.bundle, "firefox", tmp_path / "again", verified=False, folder=tmp_path / "back")
    for path in exported.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_multipliers_cover_the_inputs(ours: tuple[Bundle, Path]) -> None:
    """Against the inputs of the first products, computed from the embeddings alone."""
    bundle = ours[0]
    model, config = bundle.model, bundle.model.config
    found = input_multipliers(bundle, SOURCES[:1])
    ids = torch.tensor([*bundle.tokenizer.encode_source(SOURCES[:1])[0], config.end_id])
    x = model.source_embedding.weight[ids].detach().double() * config.d_model**0.5
    half = config.d_model // 2
    angles = torch.arange(len(ids))[:, None] / 10000 ** (torch.arange(half, dtype=torch.float64) / (half - 1))
    greatest = (x + torch.cat((angles.sin(), angles.cos()), 1)).abs().max()
    for name in ("encoder_l1_self_Wq", "encoder_l1_self_Wk", "encoder_l1_self_Wv"):
        assert found[name] == pytest.approx(127 / float(greatest), rel=1e-5)
    assert {"Wemb", "decoder_l1_rnn_W", "decoder_l1_rnn_Wf", "decoder_l1_context_Wk"} <= found.keys()


def test_a_model_that_does_not_fit_is_refused_before_writing(
    ours: tuple[Bundle, Path], tmp_path: Path
) -> None:
    from dataclasses import replace

    from dragoman.models.seq2seq import build_model

    config = replace(
        ours[0].model.config, norm="pre", tie="none", d_ff=40, positions="rotary", norm_epsilon=1e-5
    )
    bundle = replace(ours[0], model=build_model(config))
    with pytest.raises(ConfigError) as caught:
        export_model(bundle, "firefox", tmp_path / "out", folder=ours[1], calibration=SOURCES)
    for what in ("norm =", "tie =", "d_ff = 40", "positions =", "norm_epsilon", "training.zero_start"):
        assert what in str(caught.value)
    with pytest.raises(ConfigError, match="--calibrate"):
        export_model(ours[0], "firefox", tmp_path / "out", folder=ours[1])
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_and_a_model_of_marians_are_exported(ours: tuple[Bundle, Path], tmp_path: Path) -> None:
    options = models.SSRU | {"dim-emb": 64, "transformer-dim-ffn": 64}
    models.write(tmp_path / "en-de", options, vocabularies=[models.vocabulary(size=64)])
    run = Path(shutil.copytree(ours[1], tmp_path / "run"))
    (run / "checkpoints").mkdir()
    shutil.copy(run / "model.safetensors", run / "checkpoints" / "step-0000005.safetensors")
    text = [str(tmp_path / name) for name in ("valid.en", "valid.de")]
    for path, lines in zip(text, zip(*PAIRS, strict=True), strict=True):
        Path(path).write_text("".join(f"{line}\n" for line in lines))
    for number, source in enumerate((tmp_path / "en-de", f"{run}@5")):
        out = tmp_path / str(number)
        words = ["export", str(source), "--to", "firefox", "-o", str(out), "--no-verify"]
        assert command([*words, "--calibrate", *text]) == 0
        assert (out / "model.ende.intgemm.alphas.bin").exists()
        assert bool(list(out.glob("lex*"))) == bool(number)


def test_the_cost_of_8_bit_is_measured_and_a_high_one_is_a_warning(
    ours: tuple[Bundle, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = [str(tmp_path / name) for name in ("valid.en", "valid.de")]
    for path, lines in zip(text, zip(*PAIRS, strict=True), strict=True):
        Path(path).write_text("".join(f"{line}\n" for line in lines))
    bundle = load(ours[1])
    with torch.no_grad():  # one large weight leaves the others few of 127 steps
        for name, weight in bundle.model.named_parameters():
            if name.endswith("outer.weight"):
                weight[0, 1] = 400.0
                bundle.model.get_parameter(name.replace("outer", "inner"))[1] = 0.0
                bundle.model.get_parameter(name.replace("outer.weight", "inner.bias"))[1] = -1.0
    (tmp_path / "bad").mkdir()
    save(bundle, tmp_path / "bad")
    for folder, warned in ((ours[1], False), (tmp_path / "bad", True)):
        words = ["export", str(folder), "--to", "firefox", "--no-verify", "--calibrate", *text]
        assert command([*words, "-o", str(tmp_path / f"out-{warned}")]) == 0
        said = capsys.readouterr().err
        assert "BLEU 100.00, and" in said
        assert ("tune the model with training.quantise=int8" in said) == warned


# The programs


def test_fxtranslate_translates_alike(exported: Path) -> None:
    pytest.importorskip("fxtranslate")
    agreement = code.verify(read(exported), exported, SOURCES)
    assert agreement.equal == agreement.lines == len(SOURCES)
    for shortlist in (True, False):
        assert code.Program(exported).translate(SOURCES, shortlist=shortlist)[0] == [
            target for _, target in PAIRS
        ]


def test_other_translations_by_fxtranslate_are_an_error(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fxtranslate")
    monkeypatch.setattr(code.Program, "translate", lambda _, lines: (["other"] * len(lines), "avx2"))
    with pytest.raises(DragomanError, match=r"\(avx2\) disagrees on .* it has 'other'") as caught:
        import_model(str(exported), tmp_path / "ours")
    assert "docs/how-to/firefox.md" in str(caught.value.hint)
    assert not (tmp_path / "ours").exists()


def test_a_damaged_shortlist_is_named_before_fxtranslate_runs(exported: Path, tmp_path: Path) -> None:
    pytest.importorskip("fxtranslate")
    shutil.copytree(exported, tmp_path / "m")
    shortlist = next((tmp_path / "m").glob("lex*"))
    shortlist.write_bytes(shortlist.read_bytes()[:100])
    with pytest.raises(ModelError, match="not a binary shortlist"):
        import_model(str(tmp_path / "m"), tmp_path / "ours")


def test_fxtranslate_runs_separate_vocabularies(tmp_path: Path) -> None:
    pytest.importorskip("fxtranslate")
    firefox(tmp_path / "m", LARGE | UNTIED)
    theirs, _ = code.Program(tmp_path / "m").translate(models.LINES, shortlist=False)
    assert len(theirs) == len(models.LINES)


def test_a_model_that_fxtranslate_refuses_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("fxtranslate")
    firefox(tmp_path / "m", alphas=False)
    with pytest.raises(DragomanError, match=r"fxtranslate .* fails .*QuantMultA"):
        import_model(str(tmp_path / "m"), tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.thorough
def test_bergamot_translates_alike(exported: Path, bergamot: Path) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "interop" / "bergamot.mjs"
    import subprocess

    lists = [next(exported.glob("lex*")), "/dev/null"]
    for shortlist in lists:
        files = [exported / "model.ende.intgemm.alphas.bin", shortlist, exported / "vocab.ende.spm"]
        lines = "".join(f"{line}\n" for line in SOURCES).encode()
        run = subprocess.run(
            ["node", script, bergamot, *files], input=lines, capture_output=True, timeout=120
        )
        assert json.loads(run.stdout.splitlines()[-1])[0] == [target for _, target in PAIRS], run.stderr


@pytest.fixture(scope="session")
def bergamot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """bergamot's package for Node, from the registry of npm."""
    import subprocess

    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("npm")
    name = "@browsermt/bergamot-translator@0.4.9"
    run = subprocess.run(["npm", "pack", "--silent", name], cwd=folder, capture_output=True, text=True)
    if run.returncode:
        pytest.skip("npm's registry cannot be reached")
    shutil.unpack_archive(folder / run.stdout.strip().splitlines()[-1], folder)
    # Its worker is written for CommonJS, and the package says that it is a module.
    (folder / "package" / "worker" / "package.json").write_text('{"type": "commonjs"}')
    return folder / "package"


def test_other_models_beside_a_named_one_are_left_alone(exported: Path, tmp_path: Path) -> None:
    for path in exported.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    (model,) = exported.glob("model.*.bin")
    for name in ("model.enfr.intgemm.alphas.bin", "model.npz", "other.npz"):
        (tmp_path / name).write_bytes(b"damaged")
    (tmp_path / "metadata.json").write_text('{"hash": "0", "sourceLanguage": "en", "targetLanguage": "fr"}')
    (tmp_path / "decoder.yml").write_text("models: [model.enfr.intgemm.alphas.bin]\n")
    with opened(tmp_path / model.name) as folder:
        assert {path.name for path in folder.iterdir()} >= {model.name}
        assert not {"model.npz", "metadata.json", "decoder.yml"} & {path.name for path in folder.iterdir()}
