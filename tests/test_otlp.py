"""Transcripts that do not come on stdout: spans sent to the receiver, and the file that an agent writes."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agenteval_cli.formats import transcript_of
from agenteval_cli.otlp_bodies import MAX_BODY
from agenteval_cli.otlp_receiver import MAX_KEPT, BodyError, OtlpReceiver
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.trace_file import MAX_BYTES, TraceFile
from agenteval_cli.trace_places import trace_place
from agenteval_cli.transcript import ToolCall, Usage
from agenteval_cli.workplaces import remove

AGENT = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("agent")
order = sys.argv[1]
with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_order", "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": '{"order_id": "%s"}' % order}
    try:
        with tracer.start_as_current_span("execute_tool get_order", attributes=call):
            raise TimeoutError("too slow")
    except TimeoutError:
        pass
    with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.response.model": "m",
            "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2,
            "gen_ai.response.finish_reasons": ["stop"]}) as span:
        said = '[{"role": "assistant", "parts": [{"type": "text", "content": "No order %s."}]}]' % order
        span.set_attribute("gen_ai.output.messages", said)
"""


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    made = OtlpReceiver()
    made.start()
    yield made
    made.close()


def run_agent(environment: dict[str, str], order: str, **more: str) -> None:
    scrubbed = {"PATH": os.environ["PATH"], **environment, **more}
    done = subprocess.run(
        [sys.executable, "-c", AGENT, order], env=scrubbed, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def post(
    environment: dict[str, str], body: bytes, kind: str = "application/json", signal: str = "traces", **headers: str
) -> tuple[int, bytes]:
    where = urlsplit(environment["OTEL_EXPORTER_OTLP_ENDPOINT"])
    connection = http.client.HTTPConnection(where.netloc, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", f"{where.path}/v1/{signal}", body, {"Content-Type": kind, **named})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def spans(name: str, **keys: Any) -> bytes:
    item = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": name, **keys}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [item]}]}]}, indent=1).encode()


def names(taken: bytes | None) -> list[str]:
    lines = (json.loads(line) for line in (taken or b"").splitlines())
    return [
        span["name"] for line in lines for scope in line["resourceSpans"][0]["scopeSpans"] for span in scope["spans"]
    ]


# ---- a real agent


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
def test_a_real_agent_sends_its_spans_and_they_are_its_transcript(receiver: OtlpReceiver, compression: str) -> None:
    run_agent(receiver.place_for("a"), "5678", OTEL_EXPORTER_OTLP_COMPRESSION=compression)
    taken = receiver.taken("a")
    assert taken is not None
    found = transcript_of(taken)
    assert (found.output, found.usage, found.model) == ("No order 5678.", Usage(5, 2), "m")
    (call,) = found.tool_calls or ()
    assert call == ToolCall(
        name="get_order",
        id="c1",
        arguments={"order_id": "5678"},
        error={"type": "TimeoutError", "message": "too slow"},
        duration_ms=call.duration_ms,
    )
    assert found.trace_id is not None
    assert len(bytes.fromhex(found.trace_id)) == 16
    assert (found.latency_ms or 0) > 0


def test_attempts_at_the_same_time_never_mix(receiver: OtlpReceiver) -> None:
    def run(order: str) -> Any:
        run_agent(receiver.place_for(order), order)
        return transcript_of(receiver.taken(order) or b"").output

    orders = [str(number) for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, orders)) == [f"No order {order}." for order in orders]


# ---- what is taken


@pytest.mark.parametrize(
    ("pack", "encoding"), [(gzip.compress, "gzip"), (zlib.compress, "deflate"), (bytes, "identity"), (bytes, "")]
)
def test_packed_bodies_are_unpacked(receiver: OtlpReceiver, pack: Callable[[bytes], bytes], encoding: str) -> None:
    place = receiver.place_for("a")
    assert post(place, pack(spans("x")), Content_Encoding=encoding) == (200, b"{}")
    assert names(receiver.taken("a")) == ["x"]


def test_a_body_in_chunks_is_put_together(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    where = urlsplit(place["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
    body = spans("x")
    with socket.create_connection((where.hostname, where.port), timeout=10) as client:
        client.sendall(
            f"POST {where.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        for piece in (body[:7], body[7:]):
            client.sendall(f"{len(piece):x};ignored=1\r\n".encode() + piece + b"\r\n")
        client.sendall(b"0\r\nTrailer: x\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
    assert names(receiver.taken("a")) == ["x"]


def test_requests_in_any_order_are_lines_and_spans_of_other_traces_are_kept(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    post(place, spans("x"))
    post(place, spans("y", traceId="0" * 31 + "1"))
    assert names(receiver.taken("a")) == ["x", "y"]


def test_log_records_are_kept_beside_the_spans_and_metrics_are_dropped(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    said = {
        "key": "message",
        "value": {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "Hi"}}]}},
    }
    record = {"spanId": "eee19b7ec3c1b174", "eventName": "gen_ai.choice", "body": {"kvlistValue": {"values": [said]}}}
    logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    assert post(place, logs, signal="logs") == (200, b"{}")
    assert post(place, b"\x0a\x00", "application/x-protobuf", signal="metrics") == (200, b"")
    assert post(place, spans("chat", attributes=attributes)) == (200, b"{}")
    assert transcript_of(receiver.taken("a") or b"").output == "Hi"


def test_what_comes_while_the_place_is_emptied_is_waited_for(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    late = threading.Timer(0.1, post, (place, spans("late")))
    late.start()
    assert names(receiver.taken("a", grace=10)) == ["late"]
    late.join()


def test_nothing_came_is_none_and_a_place_is_emptied_once(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    assert receiver.taken("a", grace=0.01) is None
    assert receiver.taken("a") is None
    assert receiver.taken("nobody") is None
    assert post(place, spans("x"))[0] == 404


def test_another_turn_of_an_attempt_has_a_place_of_its_own(receiver: OtlpReceiver) -> None:
    first, second = receiver.place_for("a"), receiver.place_for("a")
    assert post(first, spans("old"))[0] == 404
    assert post(second, spans("new"))[0] == 200
    assert names(receiver.taken("a")) == ["new"]


# ---- what is refused


@pytest.mark.parametrize(
    ("body", "kind", "headers", "status", "words"),
    [
        (b"{", "application/json", {}, 400, "an OTLP request is not a JSON object"),
        (b"[1]", "application/json", {}, 400, "an OTLP request is not a JSON object"),
        (b"\xff\xff\xff", "application/x-protobuf", {}, 400, "is not the protobuf that it says"),
        (b"x", "text/plain", {}, 415, "came as 'text/plain', not as JSON or protobuf"),
        (b"{}", "application/json", {"Content_Encoding": "br"}, 415, "packs its spans with 'br'; use gzip"),
        (b"{}", "application/json", {"Content_Encoding": "gzip"}, 400, "is not packed as it says"),
        (
            gzip.compress(b"{}", mtime=0)[:-9],
            "application/json",
            {"Content_Encoding": "gzip"},
            400,
            "is packed and cut",
        ),
        (
            gzip.compress(b" " * (MAX_BODY + 1)),
            "application/json",
            {"Content_Encoding": "gzip"},
            413,
            "has more than 16,777,216",
        ),
        (b"{}", "application/json", {"Content_Length": str(MAX_BODY + 1)}, 413, "has more than 16,777,216 bytes"),
        (b"{}", "application/json", {"Content_Length": "many"}, 411, "came without its length"),
        (
            b"zz\r\n",
            "application/json",
            {"Transfer_Encoding": "chunked"},
            400,
            "chunks of an OTLP request are malformed",
        ),
        (b"fffffff\r\n", "application/json", {"Transfer_Encoding": "chunked"}, 413, "has more than 16,777,216 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_and_the_attempt_told(
    receiver: OtlpReceiver, body: bytes, kind: str, headers: dict[str, str], status: int, words: str
) -> None:
    place = receiver.place_for("a")
    post(place, spans("x"))
    answer, said = post(place, body, kind, **headers)
    assert answer == status
    assert words.encode() in said
    with pytest.raises(BodyError) as told:
        receiver.taken("a")
    assert words in str(told.value)
    assert not told.value.ours


def test_protobuf_without_the_extra_is_told_with_what_to_install(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("opentelemetry.proto.collector.trace.v1", "opentelemetry.proto.collector.logs.v1"):
        monkeypatch.setitem(sys.modules, module, None)
    status, said = post(receiver.place_for("a"), b"", "application/x-protobuf")
    assert status == 415
    assert b"pip install 'agenteval-cli[otlp]'" in said
    with pytest.raises(BodyError, match=r"needs opentelemetry-proto") as told:
        receiver.taken("a")
    assert told.value.ours


def test_more_than_fits_is_taken_but_not_kept(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    large = spans("x" * (MAX_KEPT * 2 // 3))
    assert post(place, large) == (200, b"{}")
    status, said = post(place, large)
    assert (status, list(json.loads(said))) == (200, ["partialSuccess"])
    with pytest.raises(BodyError, match=r"more than 16,777,216 bytes of spans"):
        receiver.taken("a")


@pytest.mark.parametrize(
    "path", ["/", "/v1/traces", "/guess/v1/traces", "//v1/traces", "/%s", "/%s/v1", "/%s/v2/traces"]
)
def test_other_paths_are_nobodys(receiver: OtlpReceiver, path: str) -> None:
    where = urlsplit(receiver.place_for("a")["OTEL_EXPORTER_OTLP_ENDPOINT"])
    connection = http.client.HTTPConnection(where.netloc, timeout=10)
    connection.request("POST", path.replace("%s", where.path.strip("/")), b"{}", {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (404, b"")
    connection.close()


def test_a_client_that_stops_in_the_middle_holds_nobody_up(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    where = urlsplit(place["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
    with socket.create_connection((where.hostname, where.port), timeout=10) as client:
        client.sendall(f"POST {where.path} HTTP/1.1\r\nContent-Length: 100\r\n\r\n{{".encode())
        other = receiver.place_for("b")
        assert post(other, spans("x"))[0] == 200
        assert names(receiver.taken("b")) == ["x"]
        assert receiver.taken("a", grace=0.05) is None


def test_only_the_loopback_is_listened_on_and_nothing_after_the_run(receiver: OtlpReceiver) -> None:
    place = receiver.place_for("a")
    where = urlsplit(place["OTEL_EXPORTER_OTLP_ENDPOINT"])
    assert where.hostname == "127.0.0.1"
    receiver.close()
    with pytest.raises(ConnectionRefusedError):
        post(place, b"{}")
    with pytest.raises(RuntimeError, match="not started"):
        receiver.place_for("b")


# ---- the file


class Rooms:
    """Folders as a run gives them."""

    def new_folder(self) -> str:
        return tempfile.mkdtemp()

    def remove_folder(self, folder: str) -> bool:
        return remove(folder)


def written(write: Callable[[str], object]) -> bytes | str:
    folder = tempfile.mkdtemp()
    try:
        with closing(TraceFile(folder)) as file:
            write(file.path)
            return file.taken()
    except UnreadableAnswerError as refused:
        return str(refused)
    finally:
        assert remove(folder)


def test_what_was_written_to_the_file_is_taken_also_where_it_was_moved_into_place(tmp_path: Path) -> None:
    def move(path: str) -> None:
        (tmp_path / "new").write_bytes(b"{}")
        (tmp_path / "new").replace(path)

    assert written(lambda path: Path(path).write_bytes(b"[1]\n")) == b"[1]\n"
    assert written(move) == b"{}"


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda _: None, "the agent wrote no transcript to the file in $AGENTEVAL_TRACE_FILE"),
        (lambda path: Path(path).write_bytes(b" \n"), "is empty"),
        (lambda path: Path(path).symlink_to("/etc/hostname"), "is no ordinary file"),
        (os.mkfifo, "is no ordinary file"),
        (lambda path: Path(path).mkdir(), "is no ordinary file"),
        (lambda path: Path(path).write_bytes(b" " * (MAX_BYTES + 1)), "is too long"),
    ],
)
def test_what_is_no_transcript_in_an_ordinary_file_is_refused(write: Callable[[str], object], words: str) -> None:
    assert words in str(written(write))


def test_a_socket_in_the_place_of_the_file_is_refused() -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        assert written(listening.bind) == "what the agent left in $AGENTEVAL_TRACE_FILE is no ordinary file"


def test_a_folder_put_in_the_place_of_ours_is_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "transcript").write_text("secret")
    file = TraceFile(tempfile.mkdtemp())
    folder = Path(file.path).parent
    moved = folder.with_name(folder.name + "-moved")
    folder.rename(moved)
    folder.symlink_to(tmp_path)
    with pytest.raises(UnreadableAnswerError, match="wrote no transcript"):
        file.taken()
    file.close()
    folder.unlink()
    moved.rmdir()
    assert (tmp_path / "transcript").read_text() == "secret"


# ---- where a transcript comes from


def test_stdout_is_all_there_is_unless_another_place_is_named() -> None:
    with trace_place("stdout", "a", None, Rooms()) as place:
        assert (place.env, place.in_request) == ({}, {})
        assert place.answer(b"Hello!", "text", "auto").output == "Hello!"


def test_a_file_is_told_in_the_environment_and_in_the_request_and_gone_afterwards() -> None:
    with trace_place("file", "a", None, Rooms()) as place:
        path = Path(place.env["AGENTEVAL_TRACE_FILE"])
        assert place.in_request == {"trace_file": str(path)}
        path.write_text('{"role": "user", "content": "Hi"}\n{"role": "assistant", "content": "Hello!"}\n')
        assert place.answer(b"log\n", "json", "openai").output == "Hello!"
    assert not path.parent.exists()


def test_spans_without_content_leave_the_answer_to_stdout(receiver: OtlpReceiver) -> None:
    with trace_place("otlp", "a", receiver, Rooms()) as place:
        post(dict(place.env), spans("x"))
        found = place.answer(b'{"output": "Done.", "tool_calls": []}', "json", "auto")
    assert (found.output, found.tool_calls, found.trace_id) == ("Done.", (), "5b8efff798038103d269b633813fc60c")
    assert post(dict(place.env), spans("late"))[0] == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [(None, "the agent sent no spans"), (b"[", "not a JSON object"), (b"{}", "no OpenTelemetry spans")],
)
def test_an_agent_that_sends_nothing_or_nonsense_is_told_so(
    receiver: OtlpReceiver, body: bytes | None, words: str
) -> None:
    with trace_place("otlp", "a", receiver, Rooms()) as place:
        if body is not None:
            post(dict(place.env), body)
        with pytest.raises(UnreadableAnswerError, match=words):
            place.answer(b"Done.", "text", "otel")


def test_a_missing_library_is_this_machines_fault(receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1", None)
    with trace_place("otlp", "a", receiver, Rooms()) as place:
        post(dict(place.env), b"", "application/x-protobuf")
        with pytest.raises(OSError, match="pip install"):
            place.answer(b"Done.", "text", "auto")
