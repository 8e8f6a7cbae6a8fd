"""Judges for tests: small programs, and a real HTTP server that speaks enough of the OpenAI API."""

from __future__ import annotations

import json
import math
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from build import case

from agenteval_cli.endings import Answered, Facts
from agenteval_cli.judge_config import CommandSettings, Endpoint, JudgeConfig, Judging
from agenteval_cli.judgement import Judgement
from agenteval_cli.judges import ReadyJudge
from agenteval_cli.judging import Court, Judges
from agenteval_cli.orphans import Guardian
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.redaction import Redactor
from agenteval_cli.transcript import Transcript

# A judge that says yes where the answer has the last word of the statement.
HEAD = "import json, sys, os\nq = json.load(sys.stdin)\n"
LAST_WORD = (
    HEAD
    + """
statement = q["task"].split("Statement: ")[1].split("\\n")[0]
word = statement.rstrip(".").split()[-1]
answer = "yes" if word in q["evidence"]["answer"] else "no"
print(json.dumps({"nonce": q["nonce"], "reason": f"looked for {word}", "answer": answer}))
"""
)
JSON_SCHEMA = ("response_format", "json_schema")


def says(reply: str) -> str:
    """A judge that prints an expression over q, what it was asked."""
    return f"{HEAD}sys.stdout.write({reply})\n"


@contextmanager
def judging(
    folder: Path, programs: dict[str, str] | None = None, *, redact: tuple[str, ...] = (), **settings: Any
) -> Iterator[Judges]:
    """Judges that are Python programs, by name; `settings` are those of each of them."""
    judges = {}
    timeout = settings.pop("timeout", 20.0)
    for name, program in (programs or {}).items():
        path = folder / f"{name}.py"
        path.write_text(program, encoding="utf-8")
        asked = CommandSettings(command=("python", str(path)), timeout=timeout)
        config = JudgeConfig(name=name, asked=asked, **settings)
        judges[name] = ReadyJudge(config, f"1:{name}", argv=(sys.executable, str(path)), env={"DIR": str(folder)})
    with opened(judges, folder, redact=redact) as made:
        yield made


@contextmanager
def opened(
    judges: dict[str, ReadyJudge],
    root: Path,
    *,
    redact: tuple[str, ...] = (),
    embeddings: Endpoint | None = None,
    cancel: Cancel | None = None,
) -> Iterator[Judges]:
    settings = Judging(judges={name: ready.config for name, ready in judges.items()}, embeddings=embeddings)
    court = Court(judging=settings, judges=judges, embeddings=embeddings, root=root)
    guardian = Guardian(f"TRACEPARENT=00-{secrets.token_hex(8)}")
    made = Judges(court, Processes(guardian, cancel or Cancel()), Redactor(court.secrets, redact))
    try:
        yield made
    finally:
        made.close()
        guardian.dismiss()


def judged(judges: Judges, criteria: Any, answer: Any = "Yes.", **keys: Any) -> tuple[Judgement, ...]:
    """What the judges say of these criteria; `keys` are of the case, but `transcript`, which is of the transcript."""
    transcript = Transcript(output=answer, **keys.pop("transcript", {}))
    return judges.judge(case(criteria=criteria, **keys), Answered(Facts(), transcript))


Replies = Callable[[dict[str, Any]], Any]


class Api:
    """A server on a free port. `replies` gets each request and gives (status, JSON or text, headers) or a completion."""

    def __init__(self, replies: Replies) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the base class's name
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                api.requests.append(body)
                api.headers.append(dict(self.headers))
                said = replies(body)
                status, payload, headers = said if isinstance(said, tuple) else (200, said, {})
                raw = payload.encode() if isinstance(payload, str) else json.dumps(payload).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def nonce_in(request: dict[str, Any]) -> str:
    found = re.search(r"Its nonce is ([0-9a-f]+)\.", request["messages"][1]["content"])
    assert found is not None
    return found[1]


def completion(content: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion as servers give it."""
    finish = more.pop("finish_reason", "stop")
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge-1-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        **more,
    }


def verdict(request: dict[str, Any], answer: str = "yes", **more: Any) -> dict[str, Any]:
    """A completion with a good verdict."""
    said = {"nonce": nonce_in(request), "reason": "It says so.", "answer": answer}
    return completion(json.dumps(said), **more)


def rated(request: dict[str, Any], rating: int, chances: dict[str, float] | None = None, **more: Any) -> dict[str, Any]:
    """A completion with a rating, and how probable others were, as servers tell it that can."""
    said = json.dumps({"nonce": nonce_in(request), "reason": "So 2 be it.", "rating": rating})
    made = completion(said, **more)
    if chances is not None:
        head, _, tail = said.rpartition(str(rating))
        tokens = [_token(head), _token(str(rating), chances), _token(tail)]
        made["choices"][0]["logprobs"] = {"content": tokens, "refusal": None}
    return made


def _token(text: str, chances: dict[str, float] | None = None) -> dict[str, Any]:
    given = [
        {"token": each, "bytes": list(each.encode()), "logprob": math.log(chance)}
        for each, chance in (chances or {text: 1.0}).items()
    ]
    mine = next((each for each in given if each["token"] == text), {"token": text, "bytes": None, "logprob": -9.0})
    return {**mine, "top_logprobs": given}


def endpoint(
    url: str, *, key: str | None = None, retries: int = 0, cache: bool = False, **keys: Any
) -> dict[str, ReadyJudge]:
    """A judge called default behind the URL."""
    config = JudgeConfig(
        name="default",
        asked=Endpoint(base_url=url, model="judge-1", timeout=keys.pop("timeout", 5.0), **keys),
        retries=retries,
        cache=cache,
    )
    return {"default": ReadyJudge(config, "1:endpoint", key=key)}
