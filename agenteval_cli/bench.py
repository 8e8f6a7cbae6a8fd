"""One judge at work: its own threads, tries with growing pauses, the cache, and every call put down."""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli.asking import Answer, NoAnswerError
from agenteval_cli.back_off import may_ask_again
from agenteval_cli.caches import write_cache
from agenteval_cli.digests import digest
from agenteval_cli.judgement import Call
from agenteval_cli.judges import Judge, ReadyJudge
from agenteval_cli.process import Cancel
from agenteval_cli.questions import RATING, WEIGHTS, NoVerdictError, Prompt, Question, answer_in, prompt_for
from agenteval_cli.redaction import Redactor
from agenteval_cli.weighing import weights_of

LONGEST_REPLY = 20_000  # characters of a reply that are kept
Task = Callable[[], None]


class Bench:
    """Asks one judge, at most as many questions at once as it may have.

    Its threads do not keep the tool alive: a judge that hangs must not stop anybody from leaving.
    """

    def __init__(
        self, ready: ReadyJudge, judge: Judge, cancel: Cancel, redactor: Redactor, cache: Path | None = None
    ) -> None:
        self.name = ready.config.name
        self._ready = ready
        self._judge = judge
        self._cancel = cancel
        self._redactor = redactor
        self._cache = cache
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()

    def do(self, task: Task) -> None:
        """Have this done by one of the bench's threads. It must not raise."""
        self._tasks.put(task)
        with self._lock:
            if self._threads < self._ready.config.concurrency:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()

    def ask(self, question: Question, vote: int, calls: list[Call]) -> Mapping[str, Any]:
        """The answer to a question; each call is added to `calls`. Raises NoVerdictError and NoAnswerError.

        What the judge says that is no answer is asked for again, under another code and nonce, and stays in the record.
        """
        question = _masked(question, self._redactor)
        kept = self._kept(question, vote)
        if kept is not None:
            call, answer = kept
            calls.append(call)
            return answer
        for left in range(self._ready.config.retries, -1, -1):
            prompt = _drawn(question)
            call, fault = self._called(question, prompt)
            try:
                if fault is not None:
                    raise fault
                answer = answer_in(call.reply, prompt.schema, prompt.nonce)
            except (NoAnswerError, NoVerdictError) as error:
                calls.append(msgspec.structs.replace(call, fault=str(error), weights=None))
                if isinstance(error, NoAnswerError) or not left or self._cancel.requested:
                    raise
            else:
                calls.append(call)
                if call.weights is not None:
                    answer[WEIGHTS] = call.weights
                self._keep(question, vote, call, answer)
                return answer
        raise AssertionError("the last try returns or raises")

    def ask_all(self, questions: Sequence[Question], vote: int, calls: list[Call]) -> list[Mapping[str, Any]]:
        """The answers in order, asked for at the same time as far as other threads of the bench have nothing to do.

        The calling thread asks all that no other has begun, so that it never waits for one that waits as well. Every
        question is asked; then the first fault is raised.
        """
        parts = [_Part(question) for question in questions]
        for part in parts[1:]:
            self.do(partial(self._answer, part, vote))
        for part in parts:
            self._answer(part, vote)
        for part in parts:
            part.done.wait()
            calls += part.calls
        return [part.result() for part in parts]

    def _answer(self, part: _Part, vote: int) -> None:
        """Ask it, unless somebody does already."""
        if not part.free.acquire(blocking=False):
            return
        try:
            part.answer = self.ask(part.question, vote, part.calls)
        except BaseException as fault:  # noqa: BLE001  # whoever waits for the answer raises it
            part.fault = fault
        finally:
            part.done.set()

    def close(self) -> None:
        """Have the threads end when they have done what they are doing; nobody waits for them."""
        for _ in range(self._threads):
            self._tasks.put(None)
        self._judge.close()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                break
            task()

    def _called(self, question: Question, prompt: Prompt) -> tuple[Call, NoAnswerError | None]:
        """One question put, again after a pause while the judge says that it may answer later."""
        tries = 0
        while True:
            tries += 1
            began = time.monotonic()
            try:
                reply, fault = self._judge.ask(prompt), None
            except NoAnswerError as error:
                reply, fault = Answer(text=error.reply), error
            call = Call(
                judge=self.name,
                prompt=question.digest,
                reply=reply.text[:LONGEST_REPLY],
                model=reply.model,
                seconds=round(time.monotonic() - began, 3),
                tries=tries,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                cost=reply.cost,
                weights=_weights(prompt, reply),
            )
            if fault is None or not may_ask_again(fault, tries, self._ready.config.retries, self._cancel):
                return call, fault

    def _place(self, question: Question, vote: int) -> Path | None:
        if self._cache is None or not self._ready.config.cache:
            return None
        key = digest([self._ready.digest, question.digest, vote]).partition(":")[2]
        return self._cache / key[:2] / f"{key}.json"

    def _kept(self, question: Question, vote: int) -> tuple[Call, dict[str, Any]] | None:
        place = self._place(question, vote)
        if place is None:
            return None
        try:
            kept = msgspec.json.decode(place.read_bytes(), type=_Kept)
        except (OSError, msgspec.DecodeError):
            return None
        call = msgspec.structs.replace(kept.call, judge=self.name, cached=True, cost=None, seconds=0.0)
        return call, kept.answer

    def _keep(self, question: Question, vote: int, call: Call, answer: dict[str, Any]) -> None:
        place = self._place(question, vote)
        if place is not None:
            with contextlib.suppress(OSError):  # what is not kept is asked again
                write_cache(place, msgspec.json.encode(_Kept(call, answer)))


class _Part:
    """One of several questions: whoever gets hold of it asks it."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.free = threading.Lock()
        self.done = threading.Event()
        self.calls: list[Call] = []
        self.answer: Mapping[str, Any] = {}
        self.fault: BaseException | None = None

    def result(self) -> Mapping[str, Any]:
        if self.fault is not None:
            raise self.fault
        return self.answer


class _Kept(msgspec.Struct, frozen=True):
    """An answer in the cache."""

    call: Call
    answer: dict[str, Any]


def _drawn(question: Question) -> Prompt:
    """The question under a code and a nonce that nobody could know before, and that stand nowhere in it."""
    text = repr(msgspec.to_builtins(question))
    while True:
        code, nonce = secrets.token_hex(8), secrets.token_hex(6)
        if code not in text and nonce not in text:
            return prompt_for(question, code, nonce)


def _weights(prompt: Prompt, reply: Answer) -> dict[str, float] | None:
    """The probability of each rating as it is recorded; None where the judge did not tell it."""
    if prompt.scale is None or not reply.tokens:
        return None
    found = weights_of(reply.text, reply.tokens, prompt.nonce, RATING, prompt.scale)
    return None if found is None else {str(number): round(weight, 6) for number, weight in found.items()}


def _masked(question: Question, redactor: Redactor) -> Question:
    """Without secrets: a judge is somebody else."""
    blocks = tuple((name, redactor.text(text)) for name, text in question.blocks)
    return msgspec.structs.replace(question, blocks=blocks, task=redactor.text(question.task))
