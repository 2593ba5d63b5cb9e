"""The files of the page: a fixed list with tags."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.serving.standin import running

from dragoman.serving.http import static
from dragoman.serving.http.static import files_of_page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "web" / "js").mkdir(parents=True)
    (tmp_path / "web" / "index.html").write_text("<h1>Page</h1>")
    (tmp_path / "web" / "js" / "page.js").write_text("let a;")
    (tmp_path / "web" / "build.py").write_text("secret")
    (tmp_path / "secret.html").write_text("secret")
    return tmp_path / "web"


def test_only_files_of_the_page_are_served(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "files_of_page", lambda _: files_of_page(folder))
    with running() as server, server.client() as client:
        index, script = client.get("/"), client.get("/web/js/page.js")
        assert (index.text, index.headers["content-type"]) == ("<h1>Page</h1>", "text/html; charset=utf-8")
        assert (script.text, script.headers["content-type"]) == ("let a;", "text/javascript; charset=utf-8")
        (folder / "js" / "page.js").write_text("changed")
        (folder / "late.html").write_text("late")
        assert client.get("/web/js/page.js").text == "let a;"  # read once
        for path in (
            "/web/build.py",
            "/web/late.html",
            "/web/../secret.html",
            "/web/%2e%2e/secret.html",
            "/web/..%2fsecret.html",
            "/web//etc/passwd",
            "/web/%2fetc%2fpasswd",
            "/web/js",
            "/web/",
        ):
            answer = client.get(path)
            assert (path, answer.status_code) == (path, 404)
            assert "secret" not in answer.text


def test_a_page_is_sent_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "files_of_page", lambda _: files_of_page(folder))
    with running() as server, server.client() as client:
        tag = client.get("/").headers["etag"]
        for known in (tag, f'"other", W/{tag}'):
            again = client.get("/", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200
        head = client.head("/")
        assert (head.status_code, head.content) == (200, b"")


def test_no_page_is_404(tmp_path: Path) -> None:
    assert files_of_page(tmp_path / "none") == {}


def test_the_address_bar_gets_the_page_from_anywhere(client: httpx.Client) -> None:
    """A link of another site to the page is no request of that site."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    assert client.get("/", headers=headers).status_code in (200, 404)
    assert client.get("/", headers={**headers, "Sec-Fetch-Mode": "no-cors"}).status_code == 403
