"""`serve` as a process of its own: what it says, how it ends, what it leaves in the log."""

import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from places import ROOT
from tools.arena.arena_folders import MadeArena, make_arena
from tools.arena.arena_server import Guest

from podium.errors import UsageError
from podium.tools.arena.store import OpenArena, read_ballots
from podium.tools.arena.web.app import serve


@contextmanager
def serving(folder: Path, *options: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address it says it listens on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "arena", "serve", folder, "--port", "0", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.match(r"The arena listens on (\w+://127.0.0.1:\d+) \(links point to http://localhost:8000\)\.", line)
        assert found, process.communicate()
        assert process.stdout.readline() == "Press Ctrl-C to stop it; every confirmed vote is on disk.\n"
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def made(tmp_path: Path) -> MadeArena:
    return make_arena(tmp_path / "arena")


def enter(address: str, token: str) -> Guest:
    guest = Guest(address)
    assert guest.client.get(f"/enter/{token}").status_code == 200
    return guest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_on_request_and_logs_no_token(made: MadeArena, number: signal.Signals) -> None:
    with serving(made.folder) as (process, address):
        guest, organiser = enter(address, made.tokens["Anna"]), enter(address, made.organiser)
        assert guest.vote("left").status_code == 303
        assert guest.vote("up").status_code == 400
        assert "Organiser" in organiser.page("/organiser")
        ((name, cookie),) = guest.client.cookies.items()
        guest.client.close()
        organiser.client.close()
        with socket.create_connection(
            ("127.0.0.1", int(address.rpartition(":")[2]))
        ) as hanging:  # gone in mid-sentence
            head = f"POST /vote HTTP/1.1\r\nHost: localhost\r\nCookie: {name}={cookie}\r\nContent-Length: 100\r\n"
            hanging.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\nanswer".encode())
        process.send_signal(number)
        output, log = process.communicate(timeout=60)
    assert output == ""
    assert log == "Stopped.\n"
    assert process.returncode == 0


def test_a_full_disk_is_said_and_no_vote_is_claimed(made: MadeArena) -> None:
    with serving(made.folder) as (process, address):
        guest = enter(address, made.tokens["Anna"])
        page = guest.page()
        unlimited = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        refused = guest.vote("left", page=page)
        assert refused.status_code == 503
        assert "Your last answer was not saved: please try again shortly." in refused.text
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
        assert guest.vote("right", page=page).headers["location"] == "/"
        guest.client.close()
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=60)
    assert "A request failed: The arena's database cannot" in log
    opened = OpenArena(made.folder)
    assert [ballot.answer for ballot in read_ballots(opened.store)] == ["right"]
    opened.close()


def self_signed(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    command += " -addext subjectAltName=IP:127.0.0.1 -keyout"
    subprocess.run([*command.split(), key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def test_with_a_certificate_it_speaks_https(made: MadeArena, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with serving(made.folder, "--certificate", certificate, "--key", key) as (_, address):
        assert address.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        response = httpx.get(f"{address}/enter/{made.tokens['Anna']}", verify=trusted)
    assert response.status_code == 200
    assert "Secure" in response.headers["set-cookie"].split("; ")


def test_what_cannot_be_served_is_said_in_words(made: MadeArena, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            UsageError, match=rf"^The arena cannot listen on 127\.0\.0\.1, port {port}: Address already"
        ):
            serve(made.folder, host="127.0.0.1", port=port)
    with pytest.raises(UsageError, match=r"^host\.invalid is not an address of this machine: "):
        serve(made.folder, host="host.invalid", port=0)
    with pytest.raises(UsageError, match=r"^--certificate and --key must be given together\.$"):
        serve(made.folder, host="127.0.0.1", port=0, key=tmp_path / "key.pem")
    with pytest.raises(UsageError, match=r"^The certificate .*nothing\.pem with the key .* cannot be used: No such"):
        serve(made.folder, host="127.0.0.1", port=0, certificate=tmp_path / "nothing.pem", key=tmp_path / "key.pem")
    with pytest.raises(UsageError, match=r"is not an arena"):
        serve(tmp_path, host="127.0.0.1", port=0)


def test_slow_requests_neither_stop_the_arena_nor_fill_its_log(made: MadeArena) -> None:
    """1,100 half-sent posts kept everybody out at a limit of 1,024 open files, and the log grew by 389 MB."""
    with serving(made.folder) as (process, address), ExitStack() as opened:
        port = int(address.rpartition(":")[2])
        guest = enter(address, made.tokens["Anna"])  # its connection is open already
        slow: list[socket.socket] = []
        for _ in range(400):
            each = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
            with suppress(ConnectionError):
                each.sendall(b"POST /vote HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
            slow.append(each)
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as rude:
                rude.sendall(b"no HTTP\r\n\r\n")
        assert guest.vote("left").status_code == 303  # meanwhile
        guest.client.close()
        started = time.monotonic()
        for each in slow:
            each.settimeout(30)
            with suppress(ConnectionError):
                while each.recv(10_000):
                    pass  # an answer, perhaps; then the connection is closed
            each.close()
        assert time.monotonic() - started < 20
        again = enter(address, made.tokens["Anna"])
        again.client.close()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert len(log) < 10_000


def test_slow_tls_handshakes_keep_nobody_out(made: MadeArena, tmp_path: Path) -> None:
    """A connection without a handshake was kept for a minute, and not counted."""
    certificate, key = self_signed(tmp_path)
    trusted = ssl.create_default_context(cafile=certificate)
    with serving(made.folder, "--certificate", certificate, "--key", key) as (process, address), ExitStack() as opened:
        port = int(address.rpartition(":")[2])
        silent = [opened.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(400)]
        for each in silent:
            each.settimeout(30)
        for each in silent[250:]:
            with suppress(ConnectionError):
                assert each.recv(1) == b""  # too many of one address
        assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 300
        for each in silent:
            with suppress(ConnectionError):
                assert each.recv(1) == b""
        assert httpx.get(f"{address}/enter/{made.tokens['Anna']}", verify=trusted).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert len(log) < 10_000
