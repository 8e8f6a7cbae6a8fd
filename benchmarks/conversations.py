"""What a turn of a conversation costs the tool itself: `python benchmarks/conversations.py`.

200 conversations of eight turns, with a scripted user and with a script of turns, against an agent that stays (jsonl)
and one that is started for every turn (json). Counted is the processor time of the tool's own process, start-up and
reading of the cases included; agents are processes of their own and are not in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CONVERSATIONS = 200
TURNS = 8
ROUNDS = 3
LIMIT = 2.0  # milliseconds

AGENT = """
import json, sys
def answer(request):
    turn = sum(message["role"] == "user" for message in request["messages"])
    return json.dumps({"output": f"This is answer {turn} to what was said.", "tool_calls": [], "state": {"turn": turn}})
if sys.argv[1] == "stays":
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)
else:
    print(answer(json.load(sys.stdin)))
"""
# The tool in a process that tells what it has used when it is done.
MEASURED = """
import atexit, os, resource, sys
me = os.getpid()
def tell():
    if os.getpid() == me:
        used = resource.getrusage(resource.RUSAGE_SELF)
        print("used", used.ru_utime + used.ru_stime, file=sys.stderr)
atexit.register(tell)
from agenteval_cli.__main__ import main
sys.argv[0] = "agenteval"
sys.exit(main())
"""


def main() -> None:
    print(f"{CONVERSATIONS} conversations of {TURNS} turns, best and median of {ROUNDS} rounds, ms of processor a turn")
    for protocol in ("jsonl", "json"):
        for user in ("scripted user", "script of turns"):
            with tempfile.TemporaryDirectory() as folder:
                lay_out(Path(folder), protocol, user)
                costs = sorted(cost_of(Path(folder)) for _ in range(ROUNDS))
            words = f"{costs[0]:8.2f}{costs[len(costs) // 2]:8.2f}   (limit {LIMIT:g})"
            print(f"{protocol:6} {user:16}{words}")


def lay_out(folder: Path, protocol: str, user: str) -> None:
    way = "stays" if protocol == "jsonl" else "once"
    agent = {"command": [sys.executable, "-S", "agent.py", way], "protocol": protocol}
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "agenteval.yaml").write_text(json.dumps({"schema": 1, "agents": {"main": agent}}), encoding="utf-8")
    (folder / "cases").mkdir()
    for number in range(CONVERSATIONS):
        case = {"schema": 1, "id": f"talk-{number}", "tier": "smoke", "state": {"turn": 0}, **conversation(user)}
        (folder / "cases" / f"talk-{number}.yaml").write_text(json.dumps(case), encoding="utf-8")


def conversation(user: str) -> dict[str, object]:
    """A case's conversation and its checks: one a turn where the case can have them, and some of the whole."""
    checks: list[object] = [{"contains": f"answer {TURNS}"}, {"state": {"turn": TURNS}}]
    if user == "script of turns":
        said = [
            {"user": f"What is {turn}?", "outcome": [{"contains": f"answer {turn}"}]} for turn in range(1, TURNS + 1)
        ]
        return {"turns": said, "outcome": checks}
    rules: list[object] = [
        {"when": {"contains": f"answer {turn}"}, "say": f"And what is {turn + 1}?"} for turn in range(1, TURNS)
    ]
    simulation = {
        "user_prompt": "Somebody who asks eight times.",
        "opening": "What is 1?",
        "script": [*rules, {"when": {"contains": f"answer {TURNS}"}, "done": True}],
    }
    return {"simulation": simulation, "outcome": [*checks, {"stop": "user_done"}]}


def cost_of(folder: Path) -> float:
    """Milliseconds a turn. Every conversation must have passed with all of its turns."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "run", "--json", "-j", "8"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["attempts"]["by_status"] == {"passed": CONVERSATIONS}, done.stdout[:500]
    latest = max((folder / ".agenteval/runs").iterdir())
    turns = [json.loads(line)["turns"] for line in (latest / "attempts.jsonl").read_text().splitlines()]
    assert turns == [TURNS] * CONVERSATIONS
    used = next(line for line in done.stderr.splitlines() if line.startswith("used "))
    return float(used.split()[1]) * 1000 / (CONVERSATIONS * TURNS)


if __name__ == "__main__":
    main()
