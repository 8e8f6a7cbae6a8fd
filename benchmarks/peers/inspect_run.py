"""inspect-ai around a subprocess: inspect_run.py AGENT CASES CONCURRENCY"""

import sys

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.util import subprocess as run


@solver
def agent():
    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # the interface
        done = await run([sys.argv[1]], input=state.input_text)
        state.output.completion = done.stdout
        return state

    return solve


samples = [Sample(id=f"case-{number}", input=f"question {number}", target="42") for number in range(int(sys.argv[2]))]
task = Task(dataset=samples, solver=agent(), scorer=includes())
concurrency = int(sys.argv[3])
(log,) = inspect_ai.eval(
    task,
    model="mockllm/model",
    display="none",
    max_samples=concurrency,
    max_subprocesses=concurrency,
    log_dir="inspect-logs",
)
assert log.status == "success"
assert log.results.scores[0].metrics["accuracy"].value == 1.0
