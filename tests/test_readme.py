"""The README's commands do what it says, as a newcomer types them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import AGENTEVAL, ROOT, Repo

README = (ROOT / "README.md").read_text(encoding="utf-8")


def shell_blocks(text: str) -> list[list[str]]:
    return [block.strip().splitlines() for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def test_the_two_minute_start_works_in_an_empty_folder(empty: Repo) -> None:
    demo, start, change = shell_blocks(README)
    assert demo == ["make demo"]
    path = f"{AGENTEVAL.parent}{os.pathsep}{os.environ['PATH']}"
    for line in start:
        done = empty.program("sh", "-c", line, PATH=path)
        assert done.code == 0, (line, done)
    agent = empty.root / "agent.py"
    agent.write_text(agent.read_text(encoding="utf-8").replace("I do not know", "Who knows"), encoding="utf-8")
    codes = [empty.program("sh", "-c", line, PATH=path).code for line in change]
    assert codes == [1, 1, 0], "it broke a case, the diff says so, and show shows it"


def test_the_case_in_the_readme_is_a_starter_case() -> None:
    (shown,) = re.findall(r"^```yaml\n(schema: 1\n.*?)^```$", README, re.MULTILINE | re.DOTALL)
    starter = Path(ROOT, "agenteval_cli", "starter", "cases", "opening-hours-are-looked-up.yaml")
    lines = starter.read_text(encoding="utf-8").splitlines()
    assert [line for line in shown.splitlines() if line not in lines] == []


@pytest.mark.parametrize("page", sorted([Path("README.md"), *(p.relative_to(ROOT) for p in ROOT.glob("docs/*.md"))]))
def test_links_of_the_documentation_lead_somewhere(page: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / page.parent / target).exists(), target


def test_the_map_of_the_code_names_only_what_is_there() -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    names = re.findall(r"\b[a-z_]+(?:\.py|/)", shown)
    assert len(names) > 20
    for name in names:
        assert Path(ROOT, "agenteval_cli", name).exists() or Path(ROOT, name).exists(), name


@pytest.mark.slow
def test_make_demo_works_from_a_clean_clone_under_a_path_with_a_space(tmp_path: Path) -> None:
    clone = tmp_path / "a clone" / "agenteval"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True, capture_output=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(["make", "demo"], cwd=clone, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for word in ("63 case files valid", "10 of 10 cases passed", "\nbroke ", "\nfixed ", "still_passing"):
        assert word in done.stdout + done.stderr
    assert done.stdout.rstrip().count(".venv/bin/agenteval ") == 3
