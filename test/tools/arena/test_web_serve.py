"""`serve` as a process of its own: what it says, how it ends, what it leaves in the log."""

import resource
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from tools.arena.arena_folders import MadeArena, cast_answers, make_arena
from tools.arena.arena_server import Guest
from tools.arena.serve_process import ServeProcess

from podium.errors import UsageError
from podium.tools.arena.web.app import serve

pytestmark = pytest.mark.slow


@pytest.fixture
def made(tmp_path: Path) -> MadeArena:
    return make_arena(tmp_path / "arena")


def enter(address: str, token: str) -> Guest:
    guest = Guest(address)
    assert guest.client.get(f"/enter/{token}").status_code == 200
    return guest


def half_a_form(guest: Guest) -> bytes:
    """Of a rater, who sends nothing else."""
    ((name, cookie),) = guest.client.cookies.items()
    guest.client.close()
    head = f"POST /vote HTTP/1.1\r\nHost: localhost\r\nCookie: {name}={cookie}\r\nContent-Length: 100\r\n"
    return f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\nanswer".encode()


def connected(address: str, source: str = "127.0.0.1") -> socket.socket:
    port = int(address.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=40, source_address=(source, 0))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_on_request_and_logs_no_token(made: MadeArena, number: signal.Signals) -> None:
    with ServeProcess(made.folder) as server:
        guest, organiser = enter(server.address, made.tokens["Anna"]), enter(server.address, made.organiser)
        assert guest.vote("left").status_code == 303
        assert guest.vote("up").status_code == 400
        assert "Organiser" in organiser.page("/organiser")
        organiser.client.close()
        with connected(server.address) as hanging:  # gone in mid-sentence
            hanging.sendall(half_a_form(guest))
        server.process.send_signal(number)
        output, log = server.process.communicate(timeout=60)
    assert output == ""
    assert log == "Stopped.\n"
    assert server.process.returncode == 0


def test_a_full_disk_is_said_and_no_vote_is_claimed(made: MadeArena) -> None:
    with ServeProcess(made.folder) as server:
        guest = enter(server.address, made.tokens["Anna"])
        page = guest.page()
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        refused = guest.vote("left", page=page)
        assert refused.status_code == 503
        assert "Your last answer was not saved: please try again shortly." in refused.text
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        assert guest.vote("right", page=page).headers["location"] == "/"
        guest.client.close()
        server.process.send_signal(signal.SIGINT)
        log = server.process.communicate(timeout=60)[1]
    assert "A request failed: The arena's database cannot" in log
    assert cast_answers(made.folder) == ["right"]


def self_signed(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    command += " -addext subjectAltName=IP:127.0.0.1 -keyout"
    subprocess.run([*command.split(), key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


def test_with_a_certificate_it_speaks_https(made: MadeArena, tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    with ServeProcess(made.folder, "--certificate", certificate, "--key", key) as server:
        assert server.address.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        response = httpx.get(f"{server.address}/enter/{made.tokens['Anna']}", verify=trusted)
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


def descriptors(process: subprocess.Popen[str]) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def wait_until_dropped(process: subprocess.Popen[str], *, most: int) -> None:
    """10 seconds are allowed to a client, some more to a busy machine."""
    deadline = time.monotonic() + 40
    while descriptors(process) > most:
        assert time.monotonic() < deadline, descriptors(process)
        time.sleep(0.2)


SLOW = {
    "silent": b"",
    "half a header": b"POST /vote HTTP/1.1\r\nHost: localhost\r\n",
    "half a body": b"POST /vote HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
    "no HTTP": b"no HTTP\r\n\r\n",
    "an answer that is not read": b"GET /static/arena.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10,
}


def test_slow_clients_neither_stop_the_arena_nor_fill_its_log(made: MadeArena) -> None:
    """1,100 half-sent posts kept everybody out at a limit of 1,024 open files, and the log grew by 389 MB. 800 answers
    that nobody read did the same."""
    with ServeProcess(made.folder) as server, ExitStack() as opened:
        guest = enter(server.address, made.tokens["Anna"])
        opened.callback(guest.client.close)
        before = descriptors(server.process)
        for sent in SLOW.values():
            for _ in range(100):
                each = opened.enter_context(socket.socket())
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                each.connect(("127.0.0.1", int(server.address.rpartition(":")[2])))
                with suppress(ConnectionError):
                    each.sendall(sent)
        assert guest.vote("left").status_code == 303  # meanwhile
        wait_until_dropped(server.process, most=before + 50)
        assert guest.vote("left").status_code == 303
        assert len(server.stop()) < 10_000


# A static file as large as NiiVue, which is not in every installation.
WITH_A_LARGE_FILE = """
import sys
from podium.cli import main
from podium.tools.arena.web import site
site._static()["large.js"] = bytes(3_000_000)
sys.exit(main())
"""


def test_large_answers_that_nobody_reads_take_little_memory_and_keep_nobody_out(made: MadeArena) -> None:
    """800 of them took 430 MB."""
    request = b"GET /static/large.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ServeProcess(made.folder, program=WITH_A_LARGE_FILE) as server, ExitStack() as opened:
        whole = httpx.get(f"{server.address}/static/large.js", headers={"Accept-Encoding": "identity"})
        assert (whole.content, whole.headers["content-length"]) == (bytes(3_000_000), "3000000")
        guest, before = enter(server.address, made.tokens["Anna"]), memory(server.process)
        opened.callback(guest.client.close)
        most = before
        for number in range(800):
            each = opened.enter_context(socket.socket())
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.bind((f"127.0.0.{2 + number // 150}", 0))
            each.connect(("127.0.0.1", int(server.address.rpartition(":")[2])))
            each.sendall(request)
            if number % 50 == 0:
                most = max(most, memory(server.process))
        assert guest.vote("left").status_code == 303
        assert max(most, memory(server.process)) < before + 150_000_000


def memory(process: subprocess.Popen[str]) -> int:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def test_half_a_form_of_a_rater_is_given_up(made: MadeArena) -> None:
    with ServeProcess(made.folder) as server, connected(server.address) as slow:
        guest = enter(server.address, made.tokens["Anna"])
        slow.sendall(half_a_form(guest))
        assert slow.recv(12) == b"HTTP/1.1 400"


def test_requests_in_progress_are_limited_per_address_and_in_all(made: MadeArena) -> None:
    with ServeProcess(made.folder) as server, ExitStack() as opened:
        held = half_a_form(enter(server.address, made.tokens["Anna"]))

        def hold(source: str) -> None:
            for _ in range(200):
                opened.enter_context(connected(server.address, source)).sendall(held)

        def served(source: str) -> bool:
            with httpx.Client(transport=httpx.HTTPTransport(local_address=source)) as client:
                response = client.get(f"{server.address}/static/arena.css")
            assert response.status_code == 200 or response.headers["connection"] == "close"
            return {200: True, 503: False}[response.status_code]

        hold("127.0.0.1")
        assert (served("127.0.0.1"), served("127.0.0.2")) == (False, True)
        for source in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            hold(source)
        assert not served("127.0.0.5")
        opened.close()
        wait_until_dropped(server.process, most=100)
        assert served("127.0.0.1")


def test_slow_tls_handshakes_keep_nobody_out(made: MadeArena, tmp_path: Path) -> None:
    """Without a limit, a connection that sends no handshake is kept for a minute."""
    certificate, key = self_signed(tmp_path)
    trusted = ssl.create_default_context(cafile=certificate)
    with ServeProcess(made.folder, "--certificate", certificate, "--key", key) as server, ExitStack() as opened:
        before = descriptors(server.process)
        for _ in range(400):
            opened.enter_context(connected(server.address))
        assert httpx.get(f"{server.address}/enter/{made.tokens['Anna']}", verify=trusted).status_code == 200
        wait_until_dropped(server.process, most=before + 50)
        assert len(server.stop()) < 10_000
