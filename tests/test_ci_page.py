"""docs/ci.md is true: its files are what GitHub and GitLab read, and its commands do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import AGENTEVAL, ROOT, Repo

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SCHEMAS = {".github/workflows/agent.yml": "vendor.github-workflows", ".gitlab-ci.yml": "vendor.gitlab-ci"}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
OURS = "agenteval/agenteval-cli@"


def steps() -> list[dict[str, Any]]:
    jobs = [job for name, text in BLOCKS if "workflows" in name for job in yaml.safe_load(text)["jobs"].values()]
    return [step for job in jobs for step in job["steps"]]


def script() -> list[str]:
    (lines,) = [yaml.safe_load(text)["agenteval"]["script"] for name, text in BLOCKS if name == ".gitlab-ci.yml"]
    return list(lines)


def test_every_yaml_block_says_which_file_it_is() -> None:
    assert len(BLOCKS) == PAGE.count("```yaml") == 3


@pytest.mark.parametrize(("name", "text"), BLOCKS)
def test_every_yaml_block_is_what_its_reader_wants(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "block.yml"
    path.write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).parent / "check-jsonschema"), "--builtin-schema", SCHEMAS[name], str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_is_used_with_inputs_and_outputs_that_it_has() -> None:
    (step,) = [step for step in steps() if step.get("uses", "").startswith(OURS)]
    assert set(step["with"]) <= set(ACTION["inputs"])
    named = re.findall(r"steps\.agenteval\.outputs\.([a-z-]+)", PAGE)
    assert named
    assert set(named) <= set(ACTION["outputs"])
    rows = "".join(line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([a-z-]+)`", rows)) == set(ACTION["inputs"])


@pytest.mark.parametrize(
    "line",
    [
        *[step["run"] for step in steps() if step.get("run", "").startswith("agenteval ")],
        *[line for line in script() if line.startswith("agenteval ")],
        *re.findall(r"`(agenteval [a-z].*?)`", PAGE.replace("\n", " ")),
    ],
)
def test_every_command_has_the_options_that_it_is_given(line: str, empty: Repo) -> None:
    command = re.sub(r"\$\{\{.*?\}\}", "1", re.split(r"#|\|\|", line)[0])
    path = f"{AGENTEVAL.parent}{os.pathsep}{os.environ['PATH']}"
    done = empty.program("sh", "-c", f"{command} --help", PATH=path)
    assert done.code == 0, done


@pytest.mark.slow
def test_the_script_for_gitlab_finds_what_broke(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit("base")
    repo.agent('print(\'{"output": "no"}\')')
    repo.commit("head")
    install, *rest = script()
    assert install == "pip install agenteval-cli"
    lines = "\n".join(rest).replace("/tmp/base", str(tmp_path / "base"))  # noqa: S108  # that of the page
    path = f"{AGENTEVAL.parent}{os.pathsep}{os.environ['PATH']}"
    done = repo.program("sh", "-ec", lines, PATH=path, CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    assert done.code == 0, done
    assert "broke says-hello 1/1 → 0/1" in done.out
    assert (repo.root / "report.html").exists()
    assert "says-hello" in (repo.root / "junit.xml").read_text(encoding="utf-8")
    loose = lines.replace(" --gate significant", "")
    repo.git("worktree", "remove", "--force", str(tmp_path / "base"))
    assert repo.program("sh", "-ec", loose, PATH=path, CI_MERGE_REQUEST_DIFF_BASE_SHA=base).code == 1
