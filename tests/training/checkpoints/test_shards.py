"""Checkpoints of several processes: rows of each, read by any number, and never a damaged one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from tests.training.small_runs import model, same, tokenizer
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from dragoman.base.errors import ModelError
from dragoman.models.folder.weights import read_weights, weights_of
from dragoman.models.transformer import Transformer
from dragoman.training.checkpoints import whole as checkpoint
from dragoman.training.checkpoints.paths import is_sharded
from dragoman.training.checkpoints.progress import Progress
from dragoman.training.checkpoints.shards import Snapshot, restore_rows
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.sharded import local_part
from dragoman.training.step.optimizer import optimizers

CUT = tokenizer()
Optimizers = list[torch.optim.Optimizer]


def learner(seed: int, name: str = "muon") -> tuple[Transformer, Optimizers]:
    """A model after an update."""
    net = model(CUT, seed=seed)
    made = optimizers(net, TrainingConfig(optimizer="muon" if name == "muon" else "adam"))
    for parameter in net.parameters():
        parameter.grad = torch.randn_like(parameter)
    for optimizer in made:
        optimizer.param_groups[0]["lr"] = 0.01
        optimizer.step()
    return net, made


def state(net: Transformer, made: Optimizers) -> dict[str, Tensor]:
    moments = {
        f"{name}/{kind}": value
        for name, parameter in net.named_parameters()
        for optimizer in made
        for kind, value in optimizer.state[parameter].items()
        if parameter in optimizer.state
    }
    return {name: weight.clone() for name, weight in (weights_of(net) | moments).items()}


def written(folder: Path, net: Transformer, made: Optimizers, size: int) -> None:
    """A checkpoint as `size` processes write it, of rows as FSDP deals them out."""
    folder.mkdir()
    whole = Snapshot.of(net, made, 0, 1)
    for rank in range(size):
        tensors, rows = {}, {}
        for key, value in whole.tensors.items():
            each = -(-len(value) // size) if value.shape else 1
            first, last = rank * each, min((rank + 1) * each, len(value) if value.shape else 1)
            if value.shape and first < last:
                tensors[key], rows[key] = value[first:last].clone(), (first, last)
            elif not value.shape and not rank:
                tensors[key] = value
        Snapshot(tensors, rows, rank, size).write(folder)
    (folder / "progress.json").write_text(Progress(step=3).to_json())


@pytest.mark.parametrize("name", ["adam", "muon"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_rows_of_all_are_the_whole(name: str, size: int, tmp_path: Path) -> None:
    net, made = learner(1, name)
    written(tmp_path / "latest", net, made, size)
    other, others = learner(2, name)

    progress = restore_rows(tmp_path / "latest", other, others)

    assert progress is not None
    assert progress.step == 3
    assert is_sharded(tmp_path / "latest")
    assert same(state(other, others), state(net, made))


def test_a_checkpoint_of_one_process_is_read_too(tmp_path: Path) -> None:
    net, made = learner(1)
    checkpoint.save(tmp_path / "latest", net, made, Progress(step=4))
    other, others = learner(2)

    progress = restore_rows(tmp_path / "latest", other, others)

    assert progress is not None
    assert progress.step == 4
    assert not is_sharded(tmp_path / "latest")
    assert same(state(other, others), state(net, made))


def test_without_a_checkpoint_there_is_nothing_to_restore(tmp_path: Path) -> None:
    assert restore_rows(tmp_path / "latest", *learner(1)) is None


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x40
    path.write_bytes(data)


def other_rows(path: Path) -> None:
    table = json.loads(path.with_suffix(".json").read_text())
    table["rows"] = {key: (first + 1, last + 1) for key, (first, last) in table["rows"].items()}
    path.with_suffix(".json").write_text(json.dumps(table))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "its digest is not": flip,
    "some files shard-\\* are missing": lambda path: path.unlink(),
    "damaged": lambda path: path.with_suffix(".json").write_text('{"rows": 3}'),
    "json: damaged": lambda path: path.with_suffix(".json").unlink(),
    "does not fit the model": other_rows,
    "cannot be read as weights": lambda path: path.write_bytes(b"no weights"),
}


@pytest.mark.parametrize("message", DAMAGE)
def test_a_damaged_checkpoint_is_refused_and_changes_nothing(message: str, tmp_path: Path) -> None:
    net, made = learner(1)
    written(tmp_path / "latest", net, made, 2)
    DAMAGE[message](tmp_path / "latest" / "shard-00001-of-00002.safetensors")
    other, others = learner(2)
    before = {name: weight.clone() for name, weight in weights_of(other).items()}

    with pytest.raises(ModelError, match=message) as caught:
        restore_rows(tmp_path / "latest", other, others)

    assert caught.value.hint
    assert same(
        {key: state(other, others)[key] for key in weights_of(other)},
        {k: before[k] for k in weights_of(other)},
    )


def test_another_model_is_refused(tmp_path: Path) -> None:
    net, made = learner(1)
    written(tmp_path / "latest", net, made, 2)
    other = model(CUT, encoder_layers=2)

    with pytest.raises(ModelError, match=r"encoder\.1\..* does not fit the model"):
        restore_rows(tmp_path / "latest", other, [])


def test_a_snapshot_does_not_change_with_the_weights(tmp_path: Path) -> None:
    net, made = learner(1)
    before = state(net, made)
    snapshot = Snapshot.of(net, made, 0, 1)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    snapshot.write(tmp_path)

    stored = read_weights(tmp_path / "shard-00000-of-00001.safetensors")
    assert all(torch.equal(stored[f"model/{name}"], before[name]) for name in weights_of(net))


@pytest.mark.parametrize("file", ["model", "optimizer"])
def test_a_damaged_checkpoint_of_one_process_is_refused(tmp_path: Path, file: str) -> None:
    net, made = learner(1, "adam")
    checkpoint.save(tmp_path / "latest", net, made, Progress(step=3))
    path = tmp_path / "latest" / f"{file}.safetensors"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)

    with pytest.raises(ModelError, match=f"{file}.safetensors: damaged"):
        restore_rows(tmp_path / "latest", *learner(2, "adam"))


def test_moments_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    net, made = learner(1, "adam")
    name, parameter = next(iter(net.named_parameters()))
    for optimizer in made:
        for value in optimizer.state.get(parameter, {}).values():
            value.fill_(torch.nan)
    written(tmp_path / "latest", net, made, 2)

    with pytest.raises(ModelError, match=f"NaN or infinite in {name}"):
        restore_rows(tmp_path / "latest", *learner(2, "adam"))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_may_have_no_rows_of_a_parameter(rank: int, tmp_path: Path) -> None:
    """Of one row, the second of two processes has none. It has the count of updates nevertheless."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=2)
    try:
        mesh = init_device_mesh("cpu", (2,))
        nets = [Row(mesh, rank, value) for value in (1.0, 2.0)]
        made = [torch.optim.Adam(net.parameters(), lr=0.1) for net in nets]
        nets[0].weight.grad = torch.zeros_like(nets[0].weight)
        made[0].step()
        whole = {"model/weight": torch.tensor([[5.0, 6.0]])}
        whole |= {
            f"optimizer/weight/{kind}": torch.tensor([[7.0, 8.0]]) for kind in ("exp_avg", "exp_avg_sq")
        }
        for other in range(2):
            tensors = whole | {"optimizer/weight/step": torch.tensor(3.0)} if not other else {}
            Snapshot(tensors, dict.fromkeys(whole, (0, 1)) if not other else {}, other, 2).write(tmp_path)
        (tmp_path / "progress.json").write_text(Progress(step=3).to_json())

        progress = restore_rows(tmp_path, nets[1], [made[1]])

        assert progress is not None
        own = made[1].state[nets[1].weight]
        assert float(own["step"]) == 3
        assert own["exp_avg"].shape == (1, 2)
        assert local_part(own["exp_avg"]).tolist() == [[7.0, 8.0]][rank:]
        assert local_part(nets[1].weight.detach()).tolist() == [[5.0, 6.0]][rank:]
    finally:
        dist.destroy_process_group()


class Row(nn.Module):
    """A matrix of one row, divided between two processes."""

    def __init__(self, mesh: DeviceMesh, rank: int, value: float) -> None:
        super().__init__()
        rows = torch.full((1 - rank, 2), value)
        shared = DTensor.from_local(rows, mesh, [Shard(0)], run_check=False, shape=(1, 2), stride=(2, 1))
        self.weight = nn.Parameter(shared)
