"""A model folder from a stranger: whatever its files say, it ends in an error, soon, and in little memory."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

SAVED = Path(__file__).parents[2] / "saved/0.1/transformer"
HUGE = (0, -1, 2**31, 2**63, 10**30, 1e308, "9" * 5000, None, [], {}, True, "")
MEMORY = 1_500_000_000  # bytes of data of a process that imports no PyTorch

# Loads each folder and translates with it. A killed or crashed process prints no more.
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
from pathlib import Path
from dragoman.base.errors import DragomanError
from dragoman.translation.translator import Translator

def audit(event, words):
    running = ("os.system", "os.exec", "subprocess.Popen", "pickle.find_class", "socket.connect")
    if armed and event in running:
        print("EXECUTED", event, words, flush=True)

armed = False
sys.addaudithook(audit)
Translator.load(Path(sys.argv[1]), engine="native").translate(["A dog."], max_extra_tokens=2)
armed = True
for name in sys.argv[2:]:
    try:
        Translator.load(Path(name), engine="native").translate(["A dog."], max_extra_tokens=2)
        print(Path(name).name, "loaded", flush=True)
    except DragomanError as error:
        print(Path(name).name, "refused", str(error)[:200].replace("\\n", " "), flush=True)
    except MemoryError:
        print(Path(name).name, "MEMORY", flush=True)
    except BaseException as error:
        print(Path(name).name, "UNEXPECTED", type(error).__name__, str(error)[:200], flush=True)
"""


def folders(tmp_path: Path, contents: list[dict[str, bytes]]) -> list[Path]:
    made = []
    for number, files in enumerate(contents):
        folder = shutil.copytree(SAVED, tmp_path / f"{number}")
        for name, data in files.items():
            (folder / name).write_bytes(data)
        made.append(folder)
    return made


def check(tmp_path: Path, contents: list[dict[str, bytes]], *, may_load: bool) -> None:
    names = [str(path) for path in folders(tmp_path, contents)]
    program = PROGRAM.replace("MEMORY", str(MEMORY), 2)
    done = subprocess.run(
        [sys.executable, "-c", program, str(SAVED), *names], capture_output=True, text=True, timeout=900
    )
    lines = done.stdout.splitlines()

    assert len(lines) == len(names), f"{lines[-1:]} was the last: {done.stderr[-2000:]}"
    wrong = ("EXECUTED", "MEMORY", "UNEXPECTED") + (() if may_load else (" loaded",))
    assert [line for line in lines if any(word in line for word in wrong)] == []


def table(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SAVED / name).read_text(encoding="utf-8"))
    return loaded


def replaced(of: Any, random: Random) -> Any:
    """The value with one of its parts replaced by something huge or of another kind."""
    if isinstance(of, dict) and of and random.random() < 0.9:
        key = random.choice(sorted(of))
        return of | {key: replaced(of[key], random)}
    if isinstance(of, list) and of and random.random() < 0.9:
        place = random.randrange(len(of))
        return [*of[:place], replaced(of[place], random), *of[place + 1 :]]
    return random.choice(HUGE)


@pytest.mark.parametrize("name", ["config.json", "generation.json", "tokenizer.json"])
@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_any_values_in_the_small_files(tmp_path: Path, name: str, count: int) -> None:
    random = Random(f"{name} 1")
    contents = [{name: json.dumps(replaced(table(name), random)).encode()} for _ in range(count)]
    contents += [{name: data} for data in (b"[" * 200_000, b'{"a":' * 200_000, b"1" * 100_000, b"\xff\xfe\0")]

    check(tmp_path, contents, may_load=True)


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_any_header_of_the_weights(tmp_path: Path, count: int) -> None:
    """Huge shapes, overlapping and negative places, deep JSON, a long header. The digest is left out."""
    header, numbers = header_of((SAVED / "model.safetensors").read_bytes())
    config = json.dumps({k: v for k, v in table("config.json").items() if k != "weights"}).encode()
    random = Random(1)

    def weights(text: bytes, *, length: int | None = None) -> dict[str, bytes]:
        data = struct.pack("<Q", len(text) if length is None else length) + text + numbers
        return {"model.safetensors": data, "config.json": config}

    names = sorted(name for name in header if name != "__metadata__")
    one, other = header[names[0]], header[names[1]]
    contents = [
        weights(b"[" * 200_000),
        weights(b'{"a":' * 200_000),
        weights(b" " * 8_000_000 + json.dumps(header).encode()),
        weights(b"{}", length=100_000_000),
        weights(b"{}", length=2**63),
        weights(json.dumps({name: header[name] for name in names[1:]}).encode()),
        weights(json.dumps(header | {names[0]: one | {"data_offsets": [-8, -4]}}).encode()),
        weights(json.dumps(header | {names[0]: one | {"shape": [2**40, 2**40]}}).encode()),
        weights(json.dumps(header | {names[0]: one | {"dtype": "I32"}}).encode()),
        weights(json.dumps(header | {"more": other}).encode()),
    ]
    while len(contents) < count:
        text = json.dumps(replaced(header, random)).encode()
        if header_of(struct.pack("<Q", len(text)) + text)[0] != header:
            contents.append(weights(text))

    check(tmp_path, contents, may_load=False)


@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_any_bytes_in_any_file(tmp_path: Path, count: int) -> None:
    random, contents = Random(2), []
    names = [path.name for path in sorted(SAVED.iterdir()) if path.is_file()]
    for _ in range(count):
        name = random.choice(names)
        data = bytearray((SAVED / name).read_bytes())
        for _ in range(random.randrange(1, 20)):
            data[random.randrange(len(data))] = random.randrange(256)
        contents.append({name: bytes(data[: random.randrange(1, 2 * len(data))])})

    check(tmp_path, contents, may_load=True)
