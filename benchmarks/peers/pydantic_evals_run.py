"""pydantic-evals around a subprocess: pydantic_evals_run.py AGENT CASES CONCURRENCY"""

import asyncio
import sys

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains


async def answer(question: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.argv[1], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate(question.encode())
    return out.decode()


cases = [Case(name=f"case-{number}", inputs=f"question {number}") for number in range(int(sys.argv[2]))]
report = Dataset(name="cases", cases=cases, evaluators=[Contains(value="42")]).evaluate_sync(
    answer, max_concurrency=int(sys.argv[3]), progress=False
)
assert len(report.cases) == len(cases)
assert all(assertion.value for case in report.cases for assertion in case.assertions.values())
