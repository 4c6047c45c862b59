"""Two arenas on one host below path prefixes, behind a real nginx that strips the prefix, and one that leaves it."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from tools.arena.arena_folders import MadeArena, make_arena
from tools.arena.arena_server import NO_TLS, Guest, running
from tools.arena.browsing import skip_because

from podium.tools.arena.settings import ArenaSettings

pytestmark = pytest.mark.system

NGINX = """
daemon off; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{
    listen 127.0.0.1:{port};
    location /one/ {{ proxy_pass {one}/; proxy_set_header Host $host:$server_port; }}
    location /deep/two/ {{ proxy_pass {two}; proxy_set_header Host $host:$server_port; }}
  }}
}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def nginx(folder: Path, port: int, **servers: str) -> Iterator[None]:
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    skip_because(None if program else "nginx is not installed: apt-get install nginx-light")
    folder.mkdir()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, **servers))
    process = subprocess.Popen([program, "-c", folder / "nginx.conf", "-e", "stderr"])
    try:
        while True:
            assert process.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[tuple[str, dict[str, MadeArena]]]:
    port = free_port()
    made, addresses = {}, {}
    with ExitStack() as stack:
        for name, prefix in (("one", "/one"), ("two", "/deep/two")):
            url = f"http://127.0.0.1:{port}{prefix}/"
            settings = ArenaSettings(matchups_per_rater=5, url=url)
            made[prefix] = make_arena(tmp_path / name, settings=settings, volumes=("A1", "A2", "A3", "A4"))
            addresses[name] = stack.enter_context(running(made[prefix])).address
        stack.enter_context(nginx(tmp_path / "nginx", port, **addresses))
        yield f"http://127.0.0.1:{port}", made


def test_a_rater_of_both_votes_in_both_with_one_browser(hosted: tuple[str, dict[str, MadeArena]]) -> None:
    host, made = hosted
    guest = Guest(host)  # one jar of cookies
    for prefix, arena in made.items():
        assert guest.client.get(f"{prefix}/enter/{arena.tokens['Anna']}").status_code == 200
    for done in range(3):
        for prefix in made:
            page = guest.page(f"{prefix}/")
            assert f"<span>{done} of 5</span>" in page
            sent = guest.client.post(f"{prefix}/vote", data={**guest.form(f"{prefix}/vote", page), "answer": "left"})
            assert (sent.status_code, sent.headers["location"]) == (303, f"{prefix}/")
    guest.client.close()


def test_every_address_on_a_page_lies_below_the_prefix(hosted: tuple[str, dict[str, MadeArena]]) -> None:
    host, made = hosted
    for prefix, arena in made.items():
        guest = Guest(host)
        pages = [guest.page(f"{prefix}/enter/{arena.tokens['Anna']}"), guest.page(f"{prefix}/")]
        assert guest.client.get(f"{prefix}/").headers.get("set-cookie") is None
        organiser = Guest(host)
        pages += [organiser.page(f"{prefix}/enter/{arena.organiser}"), organiser.page(f"{prefix}/organiser")]
        addresses = set()
        for page in pages:
            for attribute in ("href", "src", "action"):
                addresses |= {part.split('"')[0] for part in page.split(f' {attribute}="')[1:]}
        local = {address for address in addresses if not address.startswith("#")}
        assert all(address.startswith(f"{prefix}/") for address in local), local
        for address in local:
            if "." in address.rpartition("/")[2] and "organiser" not in address:
                assert guest.client.get(address).status_code == 200, address
        guest.client.close()
        organiser.client.close()


def test_a_cookie_belongs_to_its_arena(hosted: tuple[str, dict[str, MadeArena]]) -> None:
    host, made = hosted
    first = made["/one"]
    response = httpx.get(f"{host}/one/enter/{first.tokens['Anna']}", verify=NO_TLS)
    name, _, attributes = response.headers["set-cookie"].partition("=")
    assert "Path=/one;" in attributes
    other = httpx.get(f"{host}/deep/two/enter/{made['/deep/two'].tokens['Anna']}", verify=NO_TLS)
    assert other.headers["set-cookie"].partition("=")[0] != name
