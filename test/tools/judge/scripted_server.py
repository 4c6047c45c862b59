"""A chat-completions server on loopback that can be told to misbehave.

Left alone it is an honest judge of little wit: a sentence is a finding, nothing is normal, and a finding is entailed by
a premise with the same words.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Action = Callable[["Call"], None]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.;])\s+|\n+", text) if part.strip()]


@dataclass
class Call:
    """One request while it is answered."""

    body: dict[str, Any]
    key: str
    handler: "BaseHTTPRequestHandler"
    at: float = field(default_factory=time.monotonic)

    @property
    def task(self) -> str:
        return self.body["response_format"]["json_schema"]["name"]

    @property
    def question(self) -> str:
        """The last message that is not a reminder: the report, the phrases or the pair, as the engine sends it."""
        messages = [m["content"] for m in self.body["messages"] if "did not follow the JSON schema" not in m["content"]]
        return messages[-1]

    def honest(self) -> dict[str, Any]:
        if self.task == "parsed_report":
            return {"sentence_list": [{"orig": each, "new": [each]} for each in sentences(self.question)]}
        if self.task == "kept_phrases":
            return {"phrases": [each for each in json.loads(self.question) if "normal" not in each]}
        pair = json.loads(self.question)
        evidence = [each for each in pair["reference"] if sorted(words(each)) == sorted(words(pair["hypothesis"]))]
        status = "entailment" if evidence else "not_entailment"
        return {"phrase": pair["hypothesis"], "evidence": evidence, "status": status}

    def answer(self, content: Any) -> None:
        """A completion whose message is `content`, as JSON unless it is text already."""
        text = content if isinstance(content, str) or content is None else json.dumps(content)
        self.send(
            200,
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 0,
                "model": self.body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            },
        )

    def send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(data)))
        self.handler.end_headers()
        self.handler.wfile.write(data)


@dataclass
class Rule:
    """What is done instead of answering, `times` times, for the calls it fits."""

    fits: Callable[[Call], bool]
    action: Action
    times: float = float("inf")


class ScriptedServer:
    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.calls: list[Call] = []
        self.answered: list[str] = []
        self.released = threading.Event()  # set: whatever hangs ends
        self._lock = threading.Lock()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                script.handle(Call(body=body, key=self.headers.get("Authorization", ""), handler=self))

            def log_message(self, *_: object) -> None:
                """Silence."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that went away is part of the play."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, fits: Callable[[Call], bool], action: Action, *, times: float = float("inf")) -> None:
        self.rules.append(Rule(fits, action, times))

    def handle(self, call: Call) -> None:
        with self._lock:
            self.calls.append(call)
            rule = next((rule for rule in self.rules if rule.times > 0 and rule.fits(call)), None)
            if rule:
                rule.times -= 1
        if rule:
            rule.action(call)
            return
        call.answer(call.honest())
        with self._lock:
            self.answered.append(json.dumps([call.task, call.question]))

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    # Ways to misbehave

    def go_away(self, call: Call) -> None:
        """The server ends: this connection and the next ones fail, and new ones are refused."""
        call.handler.close_connection = True
        with self._lock:
            self._server.socket.close()

    def hang(self, call: Call) -> None:
        """No answer for as long as the server lives."""
        self.released.wait(60)
        call.handler.close_connection = True

    @staticmethod
    def drop(call: Call) -> None:
        """The connection ends in the middle."""
        call.handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
        call.handler.close_connection = True

    def drip(self, call: Call) -> None:
        """A byte now and then: each comes in time, the answer never."""
        call.handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n")
        while not self.released.wait(0.1):
            call.handler.wfile.write(b" ")

    def slow_head(self, call: Call) -> None:
        """The same before the head has ended."""
        call.handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not self.released.wait(0.1):
            call.handler.wfile.write(b"x")

    @staticmethod
    def body(content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Action:
        return lambda call: call.send(status, content, headers)

    @staticmethod
    def status(
        status: int, *, headers: dict[str, str] | None = None, message: str = "no", code: str | None = None
    ) -> Action:
        soon = {"retry-after-ms": "10", **(headers or {})}
        return lambda call: call.send(status, {"error": {"message": message, "param": None, "code": code}}, soon)

    @staticmethod
    def saying(content: Any) -> Action:
        return lambda call: call.answer(content)
