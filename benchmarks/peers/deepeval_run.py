"""deepeval around a subprocess: deepeval_run.py AGENT CASES CONCURRENCY"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase


def case(number: int) -> LLMTestCase:
    question = f"question {number}"
    done = subprocess.run([sys.argv[1]], input=question, capture_output=True, text=True, check=True)
    answer = "42" if "42" in done.stdout else done.stdout
    return LLMTestCase(name=f"case-{number}", input=question, actual_output=answer, expected_output="42")


with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    cases = list(pool.map(case, range(int(sys.argv[2]))))
result = evaluate(
    cases,
    metrics=[ExactMatchMetric()],
    async_config=AsyncConfig(max_concurrent=int(sys.argv[3])),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
)
assert len(result.test_results) == len(cases)
assert all(each.success for each in result.test_results)
