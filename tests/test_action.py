"""The GitHub Action, run as a runner runs it: through action.yml, on real repositories, against a server for comments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from conftest import AGENTEVAL, ECHO_AGENT, ROOT, Done, Repo

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
TOKEN = "ghs_test"
LIMIT = 65_536  # characters of a comment, as GitHub has it
BROKEN_AGENT = """
import json, sys
said = "::error::pwned\\n</details> <!-- --> @everyone `" + "x" * 100
json.dump({"output": said, "tool_calls": []}, sys.stdout)
"""
# It keeps a line for each attempt outside of the repository, so that one can count them.
COUNTED_AGENT = """
import json, pathlib, sys
request = json.load(sys.stdin)
with pathlib.Path(%r).open("a") as file:
    file.write("attempt\\n")
json.dump({"output": request["input"], "tool_calls": []}, sys.stdout)
"""
ONE_OF_MANY = """
schema: 1
id: {id}
tier: smoke
input: hello
outcome: [{equals: "%s"}]
"""


# ---- a pull request to be run on


class Api(ThreadingHTTPServer):
    """The part of GitHub's API that has to do with comments. `refuses` is the status that it answers writers with."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.login: str | None = None
        self.refuses: int | None = None
        self.moved = False
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def has(self, body: str, *, login: str = "github-actions[bot]", kind: str = "Bot") -> dict[str, Any]:
        """A comment that is there."""
        number = len(self.comments) + 1
        comment = {"id": number, "body": body, "user": {"login": login, "type": kind}}
        comment["html_url"] = f"https://github.example/o/r/pull/7#issuecomment-{number}"
        self.comments.append(comment)
        return comment


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # its name in the standard library
        self.server.asked.append(format % args)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/user":
            login = self.server.login
            self._answer(200 if login else 403, {"login": login} if login else {"message": "Resource not accessible"})
            return
        assert url.path == "/repos/o/r/issues/7/comments"
        query = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        begin = (query["page"] - 1) * query["per_page"]
        self._answer(200, self.server.comments[begin : begin + query["per_page"]])

    def do_POST(self) -> None:
        assert self.path == "/repos/o/r/issues/7/comments"
        self._write(None)

    def do_PATCH(self) -> None:
        found = re.fullmatch(r"/repos/o/r/issues/comments/([0-9]+)", self.path)
        assert found
        self._write(next(comment for comment in self.server.comments if comment["id"] == int(found[1])))

    def _write(self, comment: dict[str, Any] | None) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        body = json.loads(raw)["body"]
        if self.server.moved:
            self.send_response(307)
            self.send_header("Location", f"{self.server.url}/elsewhere")
            self.end_headers()
        elif self.server.refuses or len(body) > LIMIT:
            self._answer(self.server.refuses or 422, {"message": "Resource not accessible by integration"})
        elif comment is None:
            self._answer(201, self.server.has(body))
        else:
            comment["body"] = body
            self._answer(200, comment)

    def _answer(self, status: int, value: Any) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())


class Ran(Done):
    """A run of the action: what it said to the runner besides."""

    def __init__(self, process: subprocess.CompletedProcess[str], folder: Path) -> None:
        super().__init__(process)
        self.summary = (folder / "summary").read_text(encoding="utf-8")
        lines = (folder / "output").read_text(encoding="utf-8").splitlines()
        self.outputs = dict(line.split("=", 1) for line in lines)

    def annotations(self, level: str) -> list[str]:
        return [line for line in (self.out + self.err).splitlines() if line.startswith(f"::{level} ")]


class Runner:
    """What GitHub's runner does with action.yml."""

    def __init__(self, repo: Repo, api: Api, folder: Path) -> None:
        self.repo, self.api, self._folder = repo, api, folder
        self.event: dict[str, Any] = {}
        self.temp = folder / "runner temp"
        self.temp.mkdir()

    def opens(self, base: str, head: str) -> None:
        """A pull request of these two commits."""
        self.event = {"pull_request": {"number": 7, "base": {"sha": base}, "head": {"sha": head}}}

    def run(self, **inputs: str) -> Ran:
        """A step that uses the action; `_` in an input's name is `-`."""
        (event,) = self._files(event=json.dumps(self.event))
        output, summary = self._files(output="", summary="")
        (step,) = ACTION["runs"]["steps"]
        given = {"install": "none", **{name.replace("_", "-"): value for name, value in inputs.items()}}
        assert set(given) <= set(ACTION["inputs"])
        env = {
            **self.repo.env,
            **{name: _filled(text, given) for name, text in step["env"].items()},
            "PATH": f"{AGENTEVAL.parent}{os.pathsep}{self.repo.env['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api.url,
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_JOB": "evals",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_WORKFLOW": "agent",
            "GITHUB_WORKSPACE": str(self.repo.root),
            "RUNNER_TEMP": str(self.temp),
        }
        (script,) = self._files(script=step["run"])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, cwd=self.repo.root, env=env, capture_output=True, text=True, timeout=300, check=False
        )
        return Ran(done, self._folder)

    def _files(self, **texts: str) -> list[Path]:
        paths = [self._folder / name for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


def _filled(text: str, given: dict[str, str]) -> str:
    """What a runner makes of `${{ inputs.name }}`, the only kind of expression that there is."""
    found = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)
    assert found, text
    default: str = ACTION["inputs"][found[1]]["default"]
    return given.get(found[1], TOKEN if default == "${{ github.token }}" else default)


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def runner(repo: Repo, api: Api, tmp_path: Path) -> Runner:
    (tmp_path / "step").mkdir()
    return Runner(repo, api, tmp_path / "step")


@pytest.fixture
def broken(runner: Runner) -> Runner:
    """A pull request with which the agent does not say any more what it should."""
    base = runner.repo.commit("base")
    runner.repo.agent(BROKEN_AGENT)
    runner.opens(base, runner.repo.commit("head"))
    return runner


# ---- what it does


def test_a_pull_request_that_breaks_a_case_fails_and_is_told_in_every_place(broken: Runner) -> None:
    repo = broken.repo
    done = broken.run()
    assert done.code == 1, done
    base, head = (run.name for run in repo.runs())
    assert "broke says-hello 1/1 → 0/1" in done.out
    assert done.outputs["exit-code"] == "1"
    assert (done.outputs["base-run"], done.outputs["head-run"]) == (base, head)
    (error,) = done.annotations("error")
    assert error.startswith("::error file=cases/says-hello.yaml,line=6,title=says-hello%3A 0 of 1 passed (broke)::")
    assert f"### Against <code>{base}</code>" in done.summary
    reports = Path(done.outputs["reports"])
    assert sorted(path.name for path in reports.iterdir()) == ["comment.md", "junit.xml", "report.html"]
    (comment,) = broken.api.comments
    assert comment["body"].startswith("<!-- agenteval:")
    assert "❌ broke" in comment["body"]
    assert comment["body"].endswith("[The whole of it](https://github.example/o/r/actions/runs/42)")
    assert done.outputs["comment-url"] == comment["html_url"]


def test_the_checkout_is_as_it_was_and_nothing_of_the_base_is_left(broken: Runner) -> None:
    before = broken.repo.git("status", "--porcelain=v2", "--branch")
    broken.run(comment="false")
    assert broken.repo.git("status", "--porcelain=v2", "--branch") == before
    assert len(broken.repo.git("worktree", "list").splitlines()) == 1
    assert not list(broken.temp.glob("agenteval-base-*"))
    assert broken.api.asked == [], "and without a comment nobody is asked"


@pytest.mark.slow
def test_a_second_time_the_same_comment_is_brought_up_to_date_and_the_base_is_not_run_again(
    runner: Runner, tmp_path: Path
) -> None:
    attempts = tmp_path / "attempts"
    runner.repo.agent(COUNTED_AGENT % str(attempts))
    base = runner.repo.commit("base")
    runner.repo.case("another")
    runner.opens(base, runner.repo.commit("head"))
    assert runner.run().code == 0
    assert len(attempts.read_text().splitlines()) == 3, "one case of the base, two of the head"
    runner.api.comments[0]["body"] += " and of old"
    done = runner.run()
    assert done.code == 0
    assert len(attempts.read_text().splitlines()) == 5
    (comment,) = runner.api.comments
    assert " and of old" not in comment["body"]
    assert done.outputs["head-run"] in comment["body"]
    assert runner.run(attempts="2", args="--case says-hello").code == 0
    assert len(attempts.read_text().splitlines()) == 8, "one more of the base, two of the head"
    assert len(runner.api.comments) == 2, "another selection has a comment of its own"


@pytest.mark.slow
@pytest.mark.parametrize("login", [None, "ada"])
def test_a_comment_of_somebody_else_is_left_alone_and_ours_is_found_on_any_page(
    broken: Runner, login: str | None
) -> None:
    api = broken.api
    api.login = login
    broken.run()
    ours = api.comments.pop()
    ours["user"]["login"], ours["user"]["type"] = (login, "User") if login else ("github-actions[bot]", "Bot")
    marker = ours["body"].splitlines()[0]
    theirs = api.has(f"{marker}\nall is well", login="mallory", kind="User")
    for number in range(120):
        api.has(f"comment {number}")
    ours["id"], ours["body"] = 999, f"{marker}\nold"
    api.comments.append(ours)
    broken.run()
    assert theirs["body"].endswith("all is well")
    assert "❌ broke" in ours["body"]
    assert len(api.comments) == 122


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404, 422, 500])
def test_without_leave_to_comment_it_warns_and_the_verdict_is_the_gates(broken: Runner, status: int) -> None:
    broken.api.refuses = status
    done = broken.run(gate="significant")
    assert done.code == 0, "one attempt confirms nothing"
    (warning,) = [line for line in done.annotations("warning") if "no comment" in line]
    assert str(status) in warning
    assert ("pull-requests: write" in warning) == (status in (401, 403, 404))
    assert done.outputs["head-run"] in done.summary


@pytest.mark.slow
def test_a_token_is_sent_nowhere_else(broken: Runner) -> None:
    broken.api.moved = True
    done = broken.run()
    assert done.code == 1
    assert "307" in "".join(done.annotations("warning"))
    assert not [line for line in broken.api.asked if "/elsewhere" in line]


@pytest.mark.slow
def test_the_gate_that_is_asked_for_is_the_gate_in_every_report(broken: Runner) -> None:
    done = broken.run(gate="significant")
    assert done.code == 0
    assert done.annotations("error") == []
    assert len(done.annotations("warning")) == 1
    assert "✅ the gate (significant) holds" in broken.api.comments[0]["body"]


@pytest.mark.slow
def test_what_fell_is_tried_again_on_both_sides(broken: Runner) -> None:
    log = broken.repo.root.parent / "prepared"
    done = broken.run(gate="significant", confirm="12", prepare=f"echo \"it's $PWD\" >> '{log}'")
    assert done.code == 1, done
    assert len(set(log.read_text().splitlines())) == 2, "the base is checked out twice, and prepared each time"
    assert "fresh attempts" in done.err + done.out
    assert "confirmed" in broken.api.comments[0]["body"]
    assert done.outputs["base-run"] == broken.repo.runs()[0].name


@pytest.mark.slow
def test_what_could_not_be_confirmed_is_no_pass(broken: Runner) -> None:
    # What makes the base ready leaves the agent in it changed, so that it cannot be had again.
    done = broken.run(gate="significant", confirm="12", prepare="echo '# changed' >> agent.py")
    assert done.code == 3, done
    assert "What fell could not be confirmed" in broken.api.comments[0]["body"]
    assert "❌" in broken.api.comments[0]["body"]


@pytest.mark.slow
def test_the_accepted_baseline_can_be_the_base(runner: Runner) -> None:
    runner.repo.run("run")
    runner.repo.run("baseline", "accept")
    base = runner.repo.commit()
    runner.repo.agent(BROKEN_AGENT)
    runner.opens(base, runner.repo.commit("head"))
    done = runner.run(base="baseline")
    assert done.code == 1, done
    assert done.outputs["base-run"] == "baseline"
    assert "broke says-hello 1/1 → 0/1" in done.out


@pytest.mark.slow
def test_a_base_in_a_folder_is_made_ready_there_without_the_token(runner: Runner, tmp_path: Path) -> None:
    repo = runner.repo
    repo.write("model.txt.in", "hello")
    repo.agent(
        "import json, pathlib\nprint(json.dumps({'output': pathlib.Path(__file__).with_name('model.txt').read_text()}))"
    )
    repo.write(".gitignore", ".agenteval/\nmodel.txt\n")
    evals = repo.root / "my evals"
    evals.mkdir()
    for name in ("agent.py", "agenteval.yaml", "cases", "model.txt.in", ".gitignore"):
        (repo.root / name).rename(evals / name)
    repo.git("init", "--quiet", "--initial-branch=main")
    base = repo.commit()
    shutil.copy(evals / "model.txt.in", evals / "model.txt")
    runner.opens(base, repo.commit("head"))
    seen = tmp_path / "seen"
    done = runner.run(working_directory="my evals", prepare=f"cp model.txt.in model.txt; env > '{seen}'")
    assert done.code == 0, done
    assert "1 still_passing" in done.out
    assert TOKEN not in seen.read_text()


# ---- a base that is not there


@pytest.mark.slow
def test_the_first_pull_request_is_judged_by_itself_and_still_fits_a_comment(runner: Runner) -> None:
    repo = runner.repo
    repo.write("README.md", "nothing yet")
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.git("add", "README.md")
    repo.git("commit", "--quiet", "--message", "first")
    base = repo.git("rev-parse", "HEAD").strip()
    repo.agent("import json\nprint(json.dumps({'output': '🦕 no ' * 3000}))")
    for number in range(200):
        repo.case(f"case-{number:03}-{'long' * 15}", ONE_OF_MANY % ("expected " * 300))
    runner.opens(base, repo.commit("head"))
    done = runner.run(comment="true")
    assert done.code == 1, done
    body = runner.api.comments[0]["body"]
    assert 60_000 < len(body) <= LIMIT
    assert f"`Nothing to compare with: {base[:12]} has no agenteval.yaml yet. So the head is judged by itself" in body
    assert "Nothing to compare with" in done.summary
    assert done.outputs["base-run"] == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "inputs", "code", "why"),
    [
        ("agents: {}\n", {}, 0, "no default_agent"),
        (None, {"tier": "regression"}, 0, "nothing selected"),
        ("agents: {main: {command: [sh, -c, 'exit 1'], env: {pass: [NOT_SET]}}}\n", {}, 0, "NOT_SET"),
        (None, {"prepare": "echo not today >&2; exit 7"}, 3, "`prepare` ended with 7: not today"),
    ],
)
def test_a_base_that_cannot_be_run_says_why(
    runner: Runner, spoil: str | None, inputs: dict[str, str], code: int, why: str
) -> None:
    good = (runner.repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    if spoil is not None:
        runner.repo.write("agenteval.yaml", f"schema: 1\n{spoil}")
    base = runner.repo.commit("base")
    runner.repo.write("agenteval.yaml", good)
    runner.repo.case("another", tier="regression")
    runner.opens(base, runner.repo.commit("head"))
    done = runner.run(**inputs)
    assert done.code == code, done
    (warning,) = done.annotations("warning")
    assert why in warning
    assert why.replace("`", "'") in runner.api.comments[0]["body"]


@pytest.mark.slow
def test_a_base_that_shows_nothing_is_no_evidence(runner: Runner) -> None:
    case = "schema: 1\nid: {id}\ntier: smoke\ninput: hello\ntrajectory: {forbidden: [refund]}\n"
    runner.repo.case("says-hello", case)
    runner.repo.agent('print(\'{"output": "hello"}\')')  # it does not tell its calls
    base = runner.repo.commit("base")
    runner.repo.agent(ECHO_AGENT)
    runner.opens(base, runner.repo.commit("head"))
    done = runner.run()
    assert done.code == 3, done
    assert "incomplete" in runner.api.comments[0]["body"]


# ---- which commit the base is


def clone(runner: Runner, tmp_path: Path, *options: str) -> Repo:
    """The repository as actions/checkout has it, with the repository of before as its origin."""
    origin = runner.repo.root
    runner.repo.git("config", "uploadpack.allowReachableSHA1InWant", "true")
    checkout = Repo(tmp_path / "check out", tmp_path / "home")
    runner.repo.git("clone", "--quiet", *options, f"file://{origin}", str(checkout.root))
    runner.repo = checkout
    return checkout


@pytest.mark.slow
def test_in_a_shallow_clone_the_base_is_fetched_or_it_says_what_to_do(broken: Runner, tmp_path: Path) -> None:
    base = broken.event["pull_request"]["base"]["sha"]
    checkout = clone(broken, tmp_path, "--depth=1")
    assert checkout.git("rev-list", "--count", "HEAD").strip() == "1"
    done = broken.run()
    assert done.code == 1, done
    assert "broke says-hello" in done.out
    assert json.loads((checkout.runs()[0] / "run.json").read_text())["git"]["commit"] == base
    broken.event["pull_request"]["base"]["sha"] = "1" * 40
    done = broken.run()
    assert done.code == 2
    assert "is not in this clone and could not be fetched" in done.annotations("error")[0]
    assert "`fetch-depth: 0`" in done.annotations("error")[0]


@pytest.mark.slow
def test_a_merge_by_github_is_compared_with_the_branch_it_goes_into(runner: Runner, tmp_path: Path) -> None:
    repo = runner.repo
    forked = repo.commit("before")
    repo.git("checkout", "--quiet", "-b", "change")
    repo.case("of-the-change")
    head = repo.commit("change")
    repo.git("checkout", "--quiet", "main")
    repo.case("of-main-since")
    newer = repo.commit("newer")
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "change")
    runner.opens(forked, head)  # the event is older than the merge
    checkout = clone(runner, tmp_path, "--depth=1")
    done = runner.run()
    assert done.code == 0, done
    assert "1 new" in done.out, "what main has got since is no change of this request's"
    assert json.loads((checkout.runs()[0] / "run.json").read_text())["git"]["commit"] == newer


@pytest.mark.slow
def test_the_head_of_a_request_is_compared_with_where_it_began(runner: Runner) -> None:
    repo = runner.repo
    forked = repo.commit("before")
    repo.git("checkout", "--quiet", "-b", "change")
    repo.case("of-the-change")
    head = repo.commit("change")
    repo.git("checkout", "--quiet", "main")
    repo.case("of-main-since")
    runner.opens(repo.commit("newer"), head)
    repo.git("checkout", "--quiet", "change")
    done = runner.run()
    assert "1 new" in done.out
    assert "removed" not in done.out, done
    assert json.loads((repo.runs()[0] / "run.json").read_text())["git"]["commit"] == forked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "base"),
    [
        ({"before": "{first}"}, "first"),
        ({"before": "0" * 40}, "second"),
        ({"merge_group": {"base_sha": "{first}"}}, "first"),
        ({}, "second"),
    ],
)
def test_outside_of_pull_requests_it_is_what_was_there_before(runner: Runner, event: dict[str, Any], base: str) -> None:
    commits = {name: runner.repo.commit(name) for name in ("first", "second", "third")}
    runner.event = json.loads(json.dumps(event).replace("{first}", commits["first"]))
    done = runner.run()
    assert done.code == 0, done
    assert json.loads((runner.repo.runs()[0] / "run.json").read_text())["git"]["commit"] == commits[base]
    assert "no pull request, so no comment" in done.out
    assert runner.api.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["release", "v1", "HEAD~2"])
def test_a_base_can_be_named(runner: Runner, tmp_path: Path, name: str) -> None:
    first = runner.repo.commit("first")
    runner.repo.git("branch", "release")
    runner.repo.git("tag", "v1")
    runner.repo.commit("second")
    runner.repo.commit("third")
    checkout = clone(runner, tmp_path)
    checkout.git("remote", "set-head", "origin", "--delete")
    done = runner.run(base=name)
    assert done.code == 0, done
    assert json.loads((checkout.runs()[0] / "run.json").read_text())["git"]["commit"] == first
    assert checkout.git("rev-parse", "--is-shallow-repository").strip() == "false"


def test_the_first_commit_of_all_has_no_base(runner: Runner) -> None:
    runner.repo.commit()
    done = runner.run()
    assert done.code == 0, done
    assert "Nothing to compare with: this is the first commit." in done.summary


# ---- what is set up wrongly


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"gate": "strict"}, "gate: 'strict' is not `broke` or `significant`"),
        ({"comment": "yes"}, "comment: 'yes' is not `true` or `false`"),
        ({"args": "--tag 'a"}, "args: --tag 'a cannot be read as a shell would"),
        ({"base": "baseline", "confirm": "5"}, "a baseline has no agent that could try again"),
        ({"base": "--upload-pack=touch x"}, "is no branch, tag or commit"),
        ({"base": "nowhere"}, "the base nowhere is not in this clone and could not be fetched"),
        ({"base": "HEAD"}, "the checkout is the base itself"),
        ({"working_directory": "elsewhere"}, "working-directory: there is no elsewhere in the checkout"),
        ({"tier": "smoke, brave"}, "brave"),
        ({"attempts": "many"}, "many"),
        ({"agent": "x' || touch pwned '"}, "no agent"),
    ],
)
def test_what_is_set_up_wrongly_is_said_before_anything_runs(
    runner: Runner, inputs: dict[str, str], words: str
) -> None:
    runner.repo.commit()
    runner.repo.commit()
    done = runner.run(**inputs)
    assert done.code == 2, done
    assert done.outputs["exit-code"] == "2"
    (error,) = done.annotations("error")
    assert words in error
    assert "Traceback" not in done.err
    assert runner.repo.runs() == []
    assert runner.api.asked == []
    assert not list(runner.repo.root.glob("pwned"))


def test_outside_of_git_it_says_that_a_checkout_comes_first(runner: Runner) -> None:
    done = runner.run()
    assert done.code == 2
    assert "actions/checkout comes first" in done.annotations("error")[0]


# ---- how it is installed


def wheel(folder: Path) -> Path:
    """A distribution whose command is the one that is being tested."""
    path = folder / "stand_in-1-py3-none-any.whl"
    program = f"import os, sys\ndef main():\n    os.execv({str(AGENTEVAL)!r}, [{str(AGENTEVAL)!r}, *sys.argv[1:]])\n"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("stand_in.py", program)
        file.writestr("stand_in-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: stand-in\nVersion: 1\n")
        file.writestr("stand_in-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("stand_in-1.dist-info/entry_points.txt", "[console_scripts]\nagenteval = stand_in:main\n")
        file.writestr("stand_in-1.dist-info/RECORD", "")
    return path


@pytest.mark.slow
def test_it_is_installed_apart_and_once(broken: Runner, tmp_path: Path) -> None:
    broken.repo.env["PIP_NO_INDEX"] = "1"
    made = wheel(tmp_path)
    assert broken.run(install=str(made), python=sys.executable).code == 1
    made.unlink()
    assert broken.run(install=str(made), python=sys.executable).code == 1, "a second step of the job finds it"
    done = broken.run(install="no-such-package", python=sys.executable)
    assert done.code == 3
    assert "agenteval could not be installed" in done.annotations("error")[0]


# ---- action.yml itself


def test_action_yml_is_what_github_wants() -> None:
    check = str(Path(sys.executable).parent / "check-jsonschema")
    command = [check, "--builtin-schema", "vendor.github-actions", str(ROOT / "action.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_inputs_reach_the_script_in_the_environment_and_nowhere_else() -> None:
    (step,) = ACTION["runs"]["steps"]
    wanted = {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert step["env"] == wanted
    assert "${{" not in step["run"]
    assert all(isinstance(facts["default"], str) and facts["description"] for facts in ACTION["inputs"].values())


def test_every_input_is_read_and_every_output_is_written() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "action").glob("*.py")))
    (step,) = ACTION["runs"]["steps"]
    for variable in step["env"]:
        assert f'"{variable.removeprefix("INPUT_")}"' in text or f"${variable}" in step["run"], variable
    for name, facts in ACTION["outputs"].items():
        assert facts["value"] == f"${{{{ steps.{step['id']}.outputs.{name} }}}}"
        assert f'put_out("{name}"' in text
