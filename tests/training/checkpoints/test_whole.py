"""Checkpoints: everything comes back bit for bit, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models.folder.test_weights import disk_full_after
from torch import nn

from dragoman.base.errors import ModelError, TrainingError
from dragoman.models.folder.weights import read_weights, weights_of, write_weights
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.training.checkpoints import whole as checkpoint
from dragoman.training.checkpoints.progress import Candidate, Progress


def model(seed: int = 0, **changes: Any) -> Transformer:
    shape: dict[str, Any] = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(seed)
    return build_model(TransformerConfig(**({"source_vocab": 9, "target_vocab": 9} | shape | changes)))


def optimizer_of(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(net.parameters(), lr=0.01, betas=(0.9, 0.98), weight_decay=0.1, fused=True)


def update(net: Transformer, optimizer: torch.optim.Optimizer, seed: int) -> None:
    torch.manual_seed(seed)
    net(
        torch.randint(3, 9, (4, 5)), torch.tensor([5, 4, 3, 5]), torch.randint(3, 9, (4, 6))
    ).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def trained(updates: int = 3, **changes: Any) -> tuple[Transformer, torch.optim.Optimizer]:
    net = model(**changes)
    optimizer = optimizer_of(net)
    for seed in range(updates):
        update(net, optimizer, seed)
    return net, optimizer


def state_of(net: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = {name: weight.clone() for name, weight in weights_of(net).items()}
    for name, parameter in net.named_parameters():
        state |= {f"{name}/{key}": value.clone() for key, value in optimizer.state[parameter].items()}
    return state


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and torch.equal(one[name], other[name]) for name in one
    )


PROGRESS = Progress(
    step=7,
    epoch=2,
    cursor=3,
    tokens=12_345,
    seconds=0.1 + 0.2,
    corpus="äb12",
    history=[Candidate(step=5, loss=1 / 3, bleu=None, score=-1 / 3)],
    skipped=1,
)


@pytest.mark.parametrize("tie", ["all", "decoder", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everything_comes_back_bit_for_bit(tie: str, dtype: torch.dtype, tmp_path: Path) -> None:
    net = model(tie=tie).to(dtype)
    optimizer = optimizer_of(net)
    for seed in range(3):
        update(net, optimizer, seed)
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    other = model(seed=9, tie=tie).to(dtype)
    other_optimizer = optimizer_of(other)

    progress = checkpoint.restore(tmp_path / "latest", other, [other_optimizer])

    assert progress == PROGRESS
    assert equal(state_of(other, other_optimizer), state_of(net, optimizer))
    assert {key.rpartition("/")[2] for key in state_of(net, optimizer) if "/" in key} == {
        "step", "exp_avg", "exp_avg_sq",
    }  # fmt: skip
    for seed in (10, 11):  # and it goes on as if nothing had been
        update(net, optimizer, seed)
        update(other, other_optimizer, seed)
    assert equal(state_of(other, other_optimizer), state_of(net, optimizer))


def test_an_optimizer_that_has_not_stepped_comes_back_so(tmp_path: Path) -> None:
    net = model()
    checkpoint.save(tmp_path / "latest", net, [optimizer_of(net)], Progress())
    other = model(seed=9)
    optimizer = optimizer_of(other)

    assert checkpoint.restore(tmp_path / "latest", other, [optimizer]) == Progress()

    assert not optimizer.state
    assert equal(dict(weights_of(other)), dict(weights_of(net)))


def test_there_may_be_none(tmp_path: Path) -> None:
    net = model()

    assert checkpoint.restore(tmp_path / "latest", net, [optimizer_of(net)]) is None


def test_a_new_one_takes_the_place_of_the_old(tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], Progress(step=3))
    update(net, optimizer, 20)
    (tmp_path / "latest.part").mkdir()  # left over by a crash
    (tmp_path / "latest.part" / "junk").write_text("x")

    checkpoint.save(tmp_path / "latest", net, [optimizer], Progress(step=4))

    other = model(seed=9)
    progress = checkpoint.restore(tmp_path / "latest", other, [optimizer_of(other)])
    assert progress == Progress(step=4)
    assert equal(dict(weights_of(other)), dict(weights_of(net)))
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


@pytest.mark.parametrize("renames", [0, 1])
def test_a_crash_while_saving_leaves_one_that_is_whole(
    renames: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At worst the power goes between the two renames."""
    net, optimizer = trained()
    folder = tmp_path / "latest"
    checkpoint.save(folder, net, [optimizer], Progress(step=3))
    done, rename = [], os.replace

    def crash(source: Any, target: Any) -> None:
        if Path(target).parent == tmp_path:
            if len(done) == renames:
                raise KeyboardInterrupt
            done.append(target)
        rename(source, target)

    monkeypatch.setattr(os, "replace", crash)
    update(net, optimizer, 20)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(folder, net, [optimizer], Progress(step=4))
    monkeypatch.undo()

    other = model(seed=9)
    assert checkpoint.restore(folder, other, [optimizer_of(other)]) == Progress(step=3)
    checkpoint.save(folder, net, [optimizer], Progress(step=4))  # and the next save finds its way
    assert checkpoint.restore(folder, other, [optimizer_of(other)]) == Progress(step=4)
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]


def test_a_crash_after_a_crash_still_leaves_one_that_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first left only latest.old; the next save must not throw that away before it has a new one."""
    net, optimizer = trained()
    folder = tmp_path / "latest"
    checkpoint.save(folder, net, [optimizer], Progress(step=3))
    folder.rename(tmp_path / "latest.old")

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write_weights", crash)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(folder, net, [optimizer], Progress(step=4))

    assert checkpoint.restore(folder, net, [optimizer]) == Progress(step=3)


def test_a_full_disk_is_an_error_and_leaves_the_old_one(tmp_path: Path) -> None:
    net, optimizer = trained()
    folder = tmp_path / "latest"
    checkpoint.save(folder, net, [optimizer], Progress(step=3))

    with (
        disk_full_after(2000),
        pytest.raises(TrainingError, match="latest: the checkpoint cannot be written") as caught,
    ):
        checkpoint.save(folder, net, [optimizer], Progress(step=4))

    assert "space" in caught.value.hint
    assert checkpoint.restore(folder, net, [optimizer]) == Progress(step=3)


# Damage


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "progress.json"])
@pytest.mark.parametrize("content", [None, b"", b"[]", b"\x10\0\0"])
def test_a_damaged_file_is_named(name: str, content: bytes | None, tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    path = tmp_path / "latest" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ModelError) as caught:
        checkpoint.restore(tmp_path / "latest", net, [optimizer])

    assert name in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("change", [{"wings": 2}, {"step": "many"}, {"history": None}, {"finished": 1}])
def test_progress_that_is_none_is_an_error(change: dict[str, Any], tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    path = tmp_path / "latest" / "progress.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change))

    with pytest.raises(ModelError, match=r"progress\.json") as caught:
        checkpoint.restore(tmp_path / "latest", net, [optimizer])

    assert caught.value.hint


def test_a_model_of_another_shape_is_an_error(tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    other = model(d_model=4, heads=1)

    with pytest.raises(ModelError, match="shape"):
        checkpoint.restore(tmp_path / "latest", other, [optimizer_of(other)])


@pytest.mark.parametrize("kind", ["missing", "another shape", "unknown"])
def test_optimizer_state_that_does_not_fit_is_an_error(kind: str, tmp_path: Path) -> None:
    """Without a moment the run would go on, but another way."""
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    path = tmp_path / "latest" / "optimizer.safetensors"
    moments = read_weights(path)
    match kind:
        case "missing":
            del moments["logits.weight/exp_avg" if "logits.weight/exp_avg" in moments else sorted(moments)[0]]
        case "another shape":
            moments[sorted(moments)[0]] = torch.zeros(99)
        case "unknown":
            moments["nobody/exp_avg"] = torch.zeros(1)
    write_weights(path, moments)

    with pytest.raises(ModelError, match=r"optimizer\.safetensors") as caught:
        checkpoint.restore(tmp_path / "latest", net, [optimizer])

    assert caught.value.hint


def test_nothing_in_it_is_pickled(tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)

    assert sorted(path.name for path in (tmp_path / "latest").iterdir()) == [
        "model.safetensors", "optimizer.safetensors", "progress.json",
    ]  # fmt: skip
    shutil.rmtree(tmp_path / "latest")


@pytest.mark.parametrize("file", ["model", "optimizer"])
def test_numbers_that_are_not_finite_are_named(file: str, tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], Progress(step=3))
    path = tmp_path / "latest" / f"{file}.safetensors"
    values = read_weights(path)
    name = next(name for name in values if "inner.weight" in name)
    values[name].view(-1)[3] = float("inf")
    write_weights(path, values)
    other = model(1)
    before = {name: weight.clone() for name, weight in weights_of(other).items()}

    with pytest.raises(ModelError, match=f"{file}.safetensors: NaN or infinite in {name}"):
        checkpoint.restore(tmp_path / "latest", other, [optimizer_of(other)])

    assert equal(weights_of(other), before)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "progress.json"])
def test_one_byte_is_enough_to_refuse_a_checkpoint(tmp_path: Path, name: str) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    path = tmp_path / "latest" / name
    intact = path.read_bytes()
    other = model(seed=3)
    before = {name: weight.clone() for name, weight in weights_of(other).items()}
    for place in range(0, len(intact), max(1, len(intact) // 40)):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 1]) + intact[place + 1 :])
        with pytest.raises(ModelError, match=name):
            checkpoint.restore(tmp_path / "latest", other, [optimizer_of(other)])
    assert equal(before, weights_of(other))


def test_the_checkpoint_before_a_damaged_one_is_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Both exist if a crash came while one replaced the other."""
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    shutil.copytree(tmp_path / "latest", tmp_path / "latest.old")
    path = tmp_path / "latest/model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    other = model(seed=3)

    assert checkpoint.restore(tmp_path / "latest", other, [optimizer_of(other)]) == PROGRESS
    assert equal(dict(weights_of(net)), dict(weights_of(other)))
    assert "resuming from the checkpoint before it" in caplog.text


def test_moments_that_are_whole_numbers_are_refused(tmp_path: Path) -> None:
    net, optimizer = trained()
    checkpoint.save(tmp_path / "latest", net, [optimizer], PROGRESS)
    path = tmp_path / "latest/optimizer.safetensors"
    moments = read_weights(path)
    write_weights(path, {name: moment.int() for name, moment in moments.items()})

    with pytest.raises(ModelError, match="does not fit the model"):
        checkpoint.restore(tmp_path / "latest", net, [optimizer])
