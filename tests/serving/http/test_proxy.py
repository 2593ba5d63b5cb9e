"""Behind nginx, with the configuration of the docs: at the root of a name, and below a path of another.

Skipped where nginx is not installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from urllib.parse import urljoin

import httpx
import pytest
from tests.serving.standin import Running, running, wait_for
from tests.serving.studio.server import serving
from tests.test_deployment import EXAMPLES, ROOT, free_port

from dragoman.serving.http.settings import names_of, proxies_of

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
NAMES = "translate.example.com", "www.example.com"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(names=names_of(NAMES), proxies=proxies_of(["127.0.0.1"])) as one:
        yield one


@pytest.fixture(scope="module")
def proxy(server: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The port of an nginx before the server and a studio."""
    if NGINX is None:
        pytest.skip("no nginx here")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    run = folder / "run"
    run.mkdir()
    (run / "metrics.jsonl").write_text("")
    with serving(run, names=NAMES) as studio:
        ours = (EXAMPLES / "nginx.conf").read_text()
        ours = ours.replace("listen 80;", f"listen 127.0.0.1:{port};").replace(
            "127.0.0.1:5000", f"127.0.0.1:{server.port}"
        )
        ours = ours.replace("http://127.0.0.1:8090", studio)
        temporary = "".join(
            f"{kind}_temp_path {folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        path = folder / "nginx.conf"
        path.write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1;\n"
            f"events {{}}\nhttp {{ access_log off; {temporary}\n{ours}\n}}\n"
        )
        command = [NGINX, "-e", str(folder / "errors"), "-p", str(folder), "-c", str(path)]
        tested = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stderr
        nginx = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: (folder / "pid").exists())
            yield str(port)
        finally:
            nginx.terminate()
            nginx.wait(30)


@pytest.fixture
def client(proxy: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{proxy}", trust_env=False, timeout=20) as one:
        yield one


def asked(proxy: str, name: str) -> dict[str, str]:
    """The headers with which a browser fetches modules."""
    return {"Host": f"{name}:{proxy}", "Origin": f"http://{name}:{proxy}", "Sec-Fetch-Site": "same-origin"}


def linked(text: str) -> set[str]:
    """The addresses that a page or a module loads."""
    found = re.findall(r'(?:src|href)="([^"#:]+)"', text) + re.findall(r'from\s+"(\.[^"]+)"', text)
    return {one for one in found if not one.endswith("/")}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("translate.example.com", "/"),
        ("translate.example.com", "/how"),
        ("www.example.com", "/translator/"),
        ("www.example.com", "/translator/how"),
        ("www.example.com", "/training/"),
    ],
)
def test_a_page_and_all_that_it_loads_arrive(client: httpx.Client, proxy: str, name: str, path: str) -> None:
    page = client.get(path, headers={"Host": f"{name}:{proxy}"})
    assert page.status_code == 200
    waiting, seen = {urljoin(path, one) for one in linked(page.text)}, {path}
    assert waiting
    while waiting:
        seen.add(one := waiting.pop())
        answer = client.get(one, headers=asked(proxy, name))
        assert answer.status_code == 200, (one, answer.text)
        if one.endswith(".js"):
            waiting |= {urljoin(one, other) for other in linked(answer.text)} - seen
    assert sum(one.endswith(".js") for one in seen) > 5


@pytest.mark.parametrize(("name", "at"), [("translate.example.com", ""), ("www.example.com", "/translator")])
def test_the_routes_answer(client: httpx.Client, proxy: str, name: str, at: str, server: Running) -> None:
    headers = asked(proxy, name)
    form = {"q": "A dog.", "source": "en", "target": "de"}
    assert client.post(f"{at}/translate", data=form, headers=headers).json() == {"translatedText": "A DOG."}
    deepl = {"text": ["A dog."], "target_lang": "DE", "source_lang": "EN"}
    assert client.post(f"{at}/v2/translate", json=deepl, headers=headers).status_code == 200
    assert client.get(f"{at}/v1/page", headers=headers).status_code == 200
    described = client.get(f"{at}/openapi.json", headers=headers).json()
    assert described["servers"] == [{"url": at or "/"}]
    files = {"file": ("a.html", b"<p>A dog.</p>")}
    sent = client.post(f"{at}/translate_file", data=form, files=files, headers=headers).json()
    url = httpx.URL(sent["translatedFileUrl"])
    assert str(url).startswith(f"http://{name}:{proxy}{at}/download_file/")
    assert client.get(url.path, headers=headers).content == b"<p>A DOG.</p>"


def test_clients_are_told_apart_and_other_sites_refused(
    client: httpx.Client, proxy: str, server: Running
) -> None:
    form = {"q": "A dog.", "source": "en", "target": "de"}
    headers = {"Host": f"translate.example.com:{proxy}", "X-Forwarded-For": "203.0.113.7"}
    client.post("/translate", data=form, headers=headers)
    assert server.standin.asked[-1][2] == "address 203.0.113.7"  # it came through 127.0.0.1, which is trusted
    refused = client.post(
        "/translate",
        data=form,
        headers=asked(proxy, "translate.example.com") | {"Origin": "http://evil.example"},
    )
    assert refused.status_code == 403


def test_the_snippet_of_the_page_is_the_file() -> None:
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text()
    (snippet,) = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    lines = {line.partition("#")[0].strip() for line in (EXAMPLES / "nginx.conf").read_text().splitlines()}

    assert {line.partition("#")[0].strip() for line in snippet.splitlines()} <= lines
    assert "$http_host" in snippet


def test_a_proxy_is_named_wherever_one_is_expected() -> None:
    unit = (EXAMPLES / "dragoman.service").read_text()
    compose = (ROOT / "docs" / "how-to" / "deploy.md").read_text()
    for text in (unit, compose):
        assert "--allow-host" in text
        assert "--trusted-proxy" in text
