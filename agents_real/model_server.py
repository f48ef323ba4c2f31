"""A model server on loopback, for the APIs that agent CLIs use, that counts what it gave out."""

import itertools
import json
import threading
import time
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from conversation import SESSION
from dialects import MESSAGES, Dialect, Frame, dialect_of, streams
from hands import fitted
from messages import Answer, Cut, Fail, Json, Refuse, Say, Scenario, Silence, Usage


class Seen(NamedTuple):
    """One request for a message and what was answered."""

    request: Json
    answer: Answer
    at: float
    headers: Mapping[str, str]


class ModelServer:
    """Serves one scenario on 127.0.0.1 between `with` and its end; the counts stay readable afterwards."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.seen: list[Seen] = []
        self.unknown: list[str] = []
        self.usage = Usage(0, 0, 0, 0)
        self.told = 0  # events of streams that were given out
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self._http.block_on_close = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: Json, headers: Mapping[str, str]) -> tuple[int, Answer]:
        """The scenario's next answer and its number; the lock makes `how many before` exact."""
        with self._lock:
            answer = fitted(self.scenario(request, len(self.seen)), request)
            self.seen.append(Seen(request, answer, time.monotonic(), headers))
            return len(self.seen), answer

    def account(self, usage: Usage) -> None:
        """Count a message that is given out to its end."""
        with self._lock:
            self.usage = self.usage.plus(usage)

    def note_unknown(self, line: str) -> None:
        with self._lock:
            self.unknown.append(line)


def _handler_for(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        model = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are kept as values, not printed."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        dialect = dialect_of(path)
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            refusal = Refuse(400, "invalid_request_error", "the body is not JSON")
            self._send(400, (dialect or MESSAGES).refusal(refusal))
            return
        if path == "/v1/messages/count_tokens":
            self._send(200, {"input_tokens": max(1, len(body) // 4)})
        elif dialect is not None:
            self._message(dialect, dialect.read(path, request))
        else:
            self._not_known()

    def do_GET(self) -> None:
        self._not_known()

    def do_HEAD(self) -> None:
        # the CLI warms its connection with HEAD / before the first message
        if self.path != "/":
            self.model.note_unknown(f"HEAD {self.path}")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def _not_known(self) -> None:
        self.model.note_unknown(f"{self.command} {self.path}")
        self._send(404, MESSAGES.refusal(Refuse(404, "not_found_error", f"no such path: {self.path}")))

    def _message(self, dialect: Dialect, request: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        if SESSION in headers:
            request[SESSION] = headers[SESSION]
        number, answer = self.model.answer(request, headers)
        try:
            match answer:
                case Silence():
                    self.model.closing.wait()
                    self.close_connection = True
                case Refuse():
                    self._send(answer.status, dialect.refusal(answer), answer.headers)
                case Cut():
                    self._stream(dialect.frames(request, number, Say(answer.text)), dialect, Say(), cut=True)
                case Fail() if not streams(self.path, request):
                    self._send(200, dialect.refusal(Refuse(200, answer.kind, answer.message)))
                case Fail():
                    self._stream(_failing(dialect, request, number, answer), dialect, Say())
                case Say() if streams(self.path, request):
                    self._stream(dialect.frames(request, number, answer), dialect, answer)
                case Say():
                    self.model.account(dialect.given(answer.usage))
                    self._send(200, dialect.whole(request, number, answer), answer.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, status: int, value: Json, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, frames: Iterable[Frame], dialect: Dialect, answer: Say, *, cut: bool = False) -> None:
        self.send_response(200)
        for name, text in answer.headers.items():
            self.send_header(name, text)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data, mark in frames:
            if answer.pace and self.model.closing.wait(answer.pace):
                raise ConnectionResetError("the server ends in the middle of a slow stream")
            if cut and mark == "said":
                # a chunk announced and given half: what a proxy that dies leaves behind
                self.wfile.write(f"{len(data):x}\r\n".encode() + data[: len(data) // 2])
                self.wfile.flush()
                self.close_connection = True
                return
            if mark == "last":
                # before the last bytes, for whoever has read them may ask for the count at once
                self.model.account(dialect.given(answer.usage))
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
            self.model.told += 1
        self.wfile.write(b"0\r\n\r\n")


def _failing(dialect: Dialect, request: Json, number: int, answer: Fail) -> list[Frame]:
    begun = itertools.takewhile(lambda frame: not frame.mark, dialect.frames(request, number, Say(answer.text)))
    return [*begun, dialect.failure(request, number, answer)]
