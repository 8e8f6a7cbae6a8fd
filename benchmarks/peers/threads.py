"""Plain Python threads around a subprocess: threads.py AGENT CASES CONCURRENCY"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def answers(number: int) -> bool:
    done = subprocess.run([sys.argv[1]], input=f"question {number}", capture_output=True, text=True, check=True)
    return "42" in done.stdout


with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    assert all(pool.map(answers, range(int(sys.argv[2]))))
