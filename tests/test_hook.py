"""`agenteval validate` as a git hook: real commits, the real pre-commit program, and this repository's own hook."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import threading
from pathlib import Path

import pytest
from conftest import AGENTEVAL, ROOT, Done, Repo

PRE_COMMIT = Path(sys.executable).parent / "pre-commit"
SCRIPT = f"#!/bin/sh\nexec {shlex.quote(str(AGENTEVAL))} validate --staged\n"
LOCAL_HOOK = f"""
repos:
  - repo: local
    hooks:
      - id: validate
        name: validate
        language: system
        entry: {json.dumps(shlex.quote(str(AGENTEVAL)) + " validate")}
        files: ^cases/
"""
GOOD = "schema: 1\nid: {id}\ninput: ask {id}\noutcome: [{contains: hello}]\n"
BAD = GOOD.replace("input:", "inptu:")


@pytest.fixture(autouse=True)
def _needs_pre_commit() -> None:
    if not PRE_COMMIT.exists():
        pytest.skip("pre-commit is not installed beside this Python")


def put(repo: Repo, name: str, text: str = GOOD) -> Path:
    return repo.write(f"cases/{name}.yaml", text.replace("{id}", Path(name).name))


def script(repo: Repo, text: str = SCRIPT, folder: str = ".git/hooks") -> None:
    """A hook that is a plain script, as git itself knows it."""
    repo.write(f"{folder}/pre-commit", text).chmod(0o755)


def install(repo: Repo) -> None:
    """A hook of pre-commit's kind, and the commit that it stands in."""
    repo.write(".pre-commit-config.yaml", LOCAL_HOOK)
    repo.commit()
    assert repo.program(str(PRE_COMMIT), "install").code == 0


def commit(repo: Repo, *arguments: str, cwd: Path | None = None, **env: str) -> Done:
    """`git commit` with its hooks, as a user types it."""
    return repo.program("git", "commit", "--message", "change", *arguments, cwd=cwd, **env)


def staged(repo: Repo, name: str, index: str, tree: str) -> None:
    """A case staged with one text and left in the working tree with another."""
    put(repo, name, index)
    repo.git("add", f"cases/{name}.yaml")
    put(repo, name, tree)


def blocked(done: Done, words: str) -> bool:
    """Whether the commit was refused, and for that reason only."""
    text = done.out + done.err
    assert "Traceback" not in text, done
    assert (done.code == 1) == (words in text), done
    return done.code == 1


@pytest.fixture(params=["script", pytest.param("pre-commit", marks=pytest.mark.slow)])
def hooked(request: pytest.FixtureRequest, repo: Repo) -> Repo:
    """A repository with a commit, and a hook that looks at each further one."""
    if request.param == "pre-commit":
        install(repo)
    else:
        repo.commit()
        script(repo)
    return repo


@pytest.fixture
def scripted(repo: Repo) -> Repo:
    """The same with the plain script."""
    repo.commit()
    script(repo)
    return repo


# ---- one commit


def test_pre_commit_checks_what_is_staged(repo: Repo) -> None:
    install(repo)
    staged(repo, "kettle", index=BAD, tree=GOOD)
    assert blocked(commit(repo), "unknown key 'inptu'; did you mean 'input'?")
    staged(repo, "kettle", index=GOOD, tree=BAD)
    assert not blocked(commit(repo), "inptu")


def test_an_invalid_case_blocks_the_commit_and_a_valid_one_passes(hooked: Repo) -> None:
    put(hooked, "kettle", BAD)
    hooked.git("add", "--all")
    done = commit(hooked)
    assert blocked(done, "unknown key 'inptu'; did you mean 'input'?")
    put(hooked, "kettle")
    hooked.git("add", "--all")
    assert not blocked(commit(hooked), "inptu")


def test_what_is_staged_counts_and_not_what_lies_beside_it(hooked: Repo) -> None:
    staged(hooked, "kettle", index=GOOD, tree=BAD)
    assert not blocked(commit(hooked), "inptu")
    assert "inptu" in (hooked.root / "cases" / "kettle.yaml").read_text(encoding="utf-8")
    staged(hooked, "toaster", index=BAD, tree=GOOD)
    assert blocked(commit(hooked), "unknown key 'inptu'")


def test_a_commit_that_only_renames_passes(hooked: Repo) -> None:
    (hooked.root / "cases" / "kitchen").mkdir()
    hooked.git("mv", "cases/says-hello.yaml", "cases/kitchen/Says Hello.yml")
    assert not blocked(commit(hooked), "vanished-case")


def test_a_commit_from_a_linked_worktree_is_looked_at_there(hooked: Repo) -> None:
    hooked.git("worktree", "add", "--quiet", "-b", "side", "../side")
    side = Repo(hooked.root.parent / "side", Path(hooked.env["HOME"]))
    put(side, "kettle", BAD)
    side.git("add", "--all")
    assert blocked(commit(side), "unknown key 'inptu'")
    put(side, "kettle")
    side.git("add", "--all")
    put(hooked, "broken-in-the-other-tree", BAD)
    assert not blocked(commit(side), "inptu")


def test_commit_all_looks_at_what_it_is_about_to_stage(hooked: Repo) -> None:
    put(hooked, "says-hello", BAD)
    assert blocked(commit(hooked, "--all"), "unknown key 'inptu'")
    put(hooked, "says-hello")
    assert not blocked(commit(hooked, "-a"), "inptu")


def test_a_partial_commit_looks_at_the_named_file_and_not_at_the_rest_of_the_index(scripted: Repo) -> None:
    put(scripted, "good")
    put(scripted, "bad", BAD)
    scripted.git("add", "--all")
    assert not blocked(commit(scripted, "cases/good.yaml"), "inptu")
    assert blocked(commit(scripted, "cases/bad.yaml"), "unknown key 'inptu'")
    put(scripted, "good", GOOD.replace("ask {id}", "ask again"))
    assert not blocked(commit(scripted, "good.yaml", cwd=scripted.root / "cases"), "inptu")
    assert "A  cases/bad.yaml" in scripted.git("status", "--porcelain")


def test_a_commit_from_a_subfolder_is_looked_at_as_a_whole(hooked: Repo) -> None:
    (hooked.root / "cases" / "kitchen").mkdir()
    put(hooked, "kettle", BAD)
    hooked.git("add", "--all")
    assert blocked(commit(hooked, cwd=hooked.root / "cases" / "kitchen"), "unknown key 'inptu'")


def test_a_commit_that_only_deletes_a_case_is_blocked_unless_the_case_is_retired(scripted: Repo) -> None:
    put(scripted, "kettle")
    scripted.git("add", "--all")
    commit(scripted)
    scripted.git("rm", "--quiet", "cases/kettle.yaml")
    assert blocked(commit(scripted), "vanished-case")
    scripted.write("cases/retired.yaml", "schema: 1\nretired: [{id: kettle, reason: not sold any more}]\n")
    scripted.git("add", "--all")
    assert not blocked(commit(scripted), "vanished-case")


def test_a_merge_with_a_conflict_is_committed_once_it_is_resolved(hooked: Repo) -> None:
    hooked.git("checkout", "--quiet", "-b", "topic")
    put(hooked, "says-hello", GOOD.replace("ask {id}", "their question"))
    assert commit(hooked, "--all").code == 0
    hooked.git("checkout", "--quiet", "main")
    put(hooked, "says-hello", GOOD.replace("ask {id}", "our question"))
    assert commit(hooked, "--all").code == 0
    assert hooked.program("git", "merge", "topic").code == 1
    hooked.git("add", "--all")
    assert blocked(commit(hooked), "conflict-markers")
    put(hooked, "says-hello", GOOD.replace("ask {id}", "everyone's question"))
    hooked.git("add", "--all")
    assert not blocked(commit(hooked), "conflict-markers")


def test_an_id_that_another_commit_took_meanwhile_is_told_whichever_file_is_staged(hooked: Repo) -> None:
    put(hooked, "login/T-042")
    hooked.git("add", "--all")
    assert commit(hooked).code == 0
    put(hooked, "orders/T-042", GOOD.replace("ask {id}", "another question"))
    hooked.git("add", "--all")
    assert blocked(commit(hooked), "the ID 'T-042' is also that of cases/login/T-042.yaml")


def test_the_configuration_that_is_staged_is_the_one_that_counts(scripted: Repo) -> None:
    config = (scripted.root / "agenteval.yaml").read_text(encoding="utf-8")
    put(scripted, "kettle", GOOD + "agent: other\n")
    scripted.git("add", "--all")
    scripted.write("agenteval.yaml", config + "  other: {command: [sh]}\ndefault_agent: main\n")
    assert blocked(commit(scripted), "no agent 'other'")
    scripted.git("add", "--all")
    assert not blocked(commit(scripted), "no agent 'other'")


def test_the_fixture_that_is_staged_is_the_one_that_counts(scripted: Repo) -> None:
    scripted.write("fixtures/shop.yaml", "schema: 1\nid: shop\ntools: [{name: look}]\n")
    put(scripted, "kettle", GOOD + "tools: [{use: shop}]\n")
    scripted.git("add", "cases")
    assert blocked(commit(scripted), "no fixture 'shop'")
    scripted.git("add", "fixtures")
    (scripted.root / "fixtures" / "shop.yaml").unlink()
    assert not blocked(commit(scripted), "no fixture 'shop'")


def test_a_file_for_the_agent_must_be_staged_too(scripted: Repo) -> None:
    scripted.write("receipt.txt", "paid")
    put(scripted, "kettle", GOOD + "files: [receipt.txt]\n")
    scripted.git("add", "cases")
    assert blocked(commit(scripted), "receipt.txt is not there")
    scripted.git("add", "receipt.txt")
    assert not blocked(commit(scripted), "receipt.txt is not there")


# ---- what git tells its hooks in the environment


def test_a_hooks_folder_of_the_users_own_works_too(repo: Repo) -> None:
    repo.commit()
    script(repo, folder=".githooks")
    repo.git("config", "core.hooksPath", ".githooks")
    put(repo, "kettle", BAD)
    repo.git("add", "--all")
    assert blocked(commit(repo), "unknown key 'inptu'")


def test_git_told_where_everything_is_from_elsewhere(scripted: Repo, tmp_path: Path) -> None:
    put(scripted, "kettle", BAD)
    scripted.git("add", "--all")
    place = (f"--git-dir={scripted.root / '.git'}", f"--work-tree={scripted.root}")
    for cwd in (tmp_path, scripted.root / "cases"):
        done = scripted.program("git", *place, "commit", "--message", "change", cwd=cwd)
        assert blocked(done, "unknown key 'inptu'")
    put(scripted, "kettle")
    scripted.git("add", "--all")
    env = {"GIT_DIR": str(scripted.root / ".git"), "GIT_WORK_TREE": str(scripted.root)}
    assert not blocked(commit(scripted, cwd=tmp_path, **env), "inptu")


def test_a_work_tree_whose_git_folder_only_git_was_told_of(repo: Repo) -> None:
    away = repo.root.parent / "dotfiles.git"
    place = (f"--git-dir={away}", f"--work-tree={repo.root}")
    repo.git("init", "--quiet", "--bare", str(away))
    repo.write("../dotfiles.git/hooks/pre-commit", SCRIPT).chmod(0o755)
    repo.git(*place, "add", "cases", "agenteval.yaml")
    done = repo.program("git", *place, "commit", "--message", "change")
    assert not blocked(done, "not in a git repository")


def test_a_hook_looks_at_the_other_repository_that_it_names(scripted: Repo) -> None:
    other = Repo(scripted.root.parent / "other", Path(scripted.env["HOME"]))
    other.root.mkdir()
    other.agent()
    put(other, "kettle", BAD)
    other.commit()
    script(scripted, SCRIPT.replace("--staged", f"--staged -C {shlex.quote(str(other.root))}"))
    scripted.write("change.txt", "a change")
    scripted.git("add", "--all")
    assert blocked(commit(scripted), "unknown key 'inptu'")
    put(other, "kettle")
    other.git("add", "--all")
    assert not blocked(commit(scripted), "inptu")


def test_a_root_below_that_of_git_is_looked_at_with_c(empty: Repo) -> None:
    app = Repo(empty.root / "app", Path(empty.env["HOME"]))
    app.agent()
    put(app, "says-hello")
    empty.commit()
    script(empty, SCRIPT.replace("--staged", "--staged -C app"))
    put(app, "good")
    put(app, "bad", BAD)
    empty.git("add", "--all")
    assert not blocked(commit(empty, "app/cases/good.yaml"), "inptu")
    assert blocked(commit(empty, "--all"), "unknown key 'inptu'")


def test_no_lock_is_left_and_none_is_waited_for(scripted: Repo) -> None:
    put(scripted, "kettle")
    scripted.git("add", "--all")
    assert commit(scripted, "--all").code == 0
    left = [path.name for path in (scripted.root / ".agenteval" / "cache").iterdir()]
    assert all(name == ".gitignore" or name.endswith(".msgpack") for name in left)
    assert not list((scripted.root / ".git").glob("*.lock"))


# ---- many files in several processes


@pytest.fixture
def many(repo: Repo) -> Repo:
    """400 case files, of which the third and the 391st have the same ID."""
    for number in range(1, 401):
        text = GOOD.replace("{id}", "T-003" if number == 391 else f"T-{number:03}")
        repo.write(f"cases/{number:03}.yaml", text.replace("ask T-003", f"ask {number}"))
    repo.commit()
    return repo


def test_the_same_id_in_different_batches_at_the_same_time(many: Repo) -> None:
    names = [f"cases/{number:03}.yaml" for number in range(1, 401)]
    started = [many.start("validate", "--staged", *names[at : at + 100]) for at in range(0, 400, 100)]
    outputs: dict[int, tuple[str, str]] = {}
    readers = [
        threading.Thread(target=lambda at=at, process=process: outputs.update({at: process.communicate(timeout=100)}))
        for at, process in enumerate(started)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [process.returncode for process in started] == [2, 0, 0, 2]
    assert "cases/003.yaml:2:5: id: the ID 'T-003' is also that of cases/391.yaml" in outputs[0][0]
    assert "cases/391.yaml:2:5: id: the ID 'T-003' is also that of cases/003.yaml" in outputs[3][0]
    assert [outputs[at][0].count("\n") for at in range(4)] == [1, 0, 0, 1]
    assert {path.name for path in (many.root / ".agenteval" / "cache").iterdir()} <= {
        ".gitignore",
        "history.msgpack",
        "history-brief.msgpack",
        "validation-index.msgpack",
    }


@pytest.mark.slow
def test_the_same_id_is_found_however_pre_commit_splits_the_files(many: Repo) -> None:
    many.write(".pre-commit-config.yaml", LOCAL_HOOK)
    many.commit()
    done = many.program(str(PRE_COMMIT), "run", "--all-files")
    assert blocked(done, "duplicate-id")
    assert done.out.count("[duplicate-id]") == 2


# ---- this repository's own hook, installed as pre-commit installs it

SHIPPED = (
    "agenteval_cli",
    "schemas",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ".pre-commit-hooks.yaml",
)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A repository with this one's files as they are now, and pre-commit's store, shared by the tests."""
    folder = tmp_path_factory.mktemp("published")
    home = folder / "home"
    source = Repo(folder / "source", home)
    home.mkdir()
    source.root.mkdir()
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, source.root / name)
    source.commit("published")
    return source.root, folder / "store"


def from_the_index(store: Path) -> dict[str, str]:
    """What pip needs to know to reach its index, and where pre-commit keeps what it installs."""
    passed = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or "PROXY" in name.upper()}
    certificates = {name: value for name, value in os.environ.items() if "SSL_CERT" in name or "CA_BUNDLE" in name}
    return {**passed, **certificates, "PRE_COMMIT_HOME": str(store)}


@pytest.fixture
def subscribed(repo: Repo, published: tuple[Path, Path]) -> Repo:
    """A user's repository with our hook installed from its repository."""
    source, store = published
    rev = repo.git("-C", str(source), "rev-parse", "HEAD").strip()
    repo.env.update(from_the_index(store))
    repo.write(
        ".pre-commit-config.yaml",
        f"repos: [{{repo: {json.dumps(str(source))}, rev: {rev}, hooks: [{{id: agenteval-validate}}]}}]\n",
    )
    put(repo, "kettle")
    repo.commit()
    done = repo.program(str(PRE_COMMIT), "install", "--install-hooks")
    if done.code and "No matching distribution found" in done.out + done.err:
        pytest.skip("pip has no index here to install the hook's dependencies from")
    assert done.code == 0, done
    return repo


@pytest.mark.slow
def test_our_own_hook_blocks_an_invalid_case_and_passes_a_valid_one(subscribed: Repo) -> None:
    put(subscribed, "toaster", BAD)
    subscribed.git("add", "--all")
    assert blocked(commit(subscribed), "unknown key 'inptu'")
    staged(subscribed, "toaster", index=GOOD, tree=BAD)
    done = commit(subscribed)
    assert not blocked(done, "inptu")
    assert "agenteval validate" in done.err + done.out


@pytest.mark.slow
def test_our_own_hook_sees_a_commit_that_only_deletes_a_case(subscribed: Repo) -> None:
    subscribed.git("rm", "--quiet", "cases/kettle.yaml")
    assert blocked(commit(subscribed), "vanished-case")


@pytest.mark.slow
def test_our_own_hook_sees_a_commit_that_only_takes_an_id_out_of_the_ledger(subscribed: Repo) -> None:
    subscribed.git("rm", "--quiet", "cases/kettle.yaml")
    subscribed.write("cases/retired.yaml", "schema: 1\nretired: [{id: kettle, reason: not sold any more}]\n")
    subscribed.git("add", "--all")
    assert not blocked(commit(subscribed), "vanished-case")
    subscribed.write("cases/retired.yaml", "schema: 1\nretired: []\n")
    subscribed.git("add", "--all")
    assert blocked(commit(subscribed), "vanished-case")


@pytest.mark.slow
def test_our_own_hook_sees_a_commit_that_only_breaks_what_cases_rest_on(subscribed: Repo) -> None:
    put(subscribed, "kettle", GOOD + "agent: main\n")
    subscribed.git("add", "--all")
    assert commit(subscribed).code == 0
    config = (subscribed.root / "agenteval.yaml").read_text(encoding="utf-8")
    subscribed.write("agenteval.yaml", config.replace("main:", "renamed:"))
    subscribed.git("add", "--all")
    assert blocked(commit(subscribed), "no agent 'main'")


@pytest.mark.slow
def test_our_own_hook_is_not_stopped_by_a_draft_that_is_not_committed(subscribed: Repo) -> None:
    put(subscribed, "draft/kettle", GOOD.replace("ask {id}", "draft"))
    put(subscribed, "kettle", GOOD.replace("ask {id}", "where is my kettle?"))
    subscribed.git("add", "cases/kettle.yaml")
    assert not blocked(commit(subscribed), "duplicate-id")


@pytest.mark.slow
def test_our_own_hook_works_where_the_cases_are_in_a_subfolder(subscribed: Repo) -> None:
    (subscribed.root / "app").mkdir()
    subscribed.git("mv", "agenteval.yaml", "agent.py", "cases", "app/")
    assert blocked(commit(subscribed), "no agenteval.yaml")
    config = subscribed.root / ".pre-commit-config.yaml"
    text = config.read_text(encoding="utf-8").replace(
        "{id: agenteval-validate}", "{id: agenteval-validate, args: [-C, app]}"
    )
    config.write_text(text, encoding="utf-8")
    subscribed.git("add", "--all")
    assert not blocked(commit(subscribed), "no agenteval.yaml")


def test_a_case_that_was_only_announced_is_no_part_of_the_commit(scripted: Repo) -> None:
    put(scripted, "kettle")
    put(scripted, "lamp")
    scripted.git("add", "cases/kettle.yaml")
    scripted.git("add", "--intent-to-add", "cases/lamp.yaml")
    assert not blocked(commit(scripted, "cases/kettle.yaml"), "empty")
    put(scripted, "empty", "")
    scripted.git("add", "cases/empty.yaml")
    assert blocked(commit(scripted), "the file is empty")


def test_a_link_among_the_cases_is_said_to_be_passed_over(scripted: Repo) -> None:
    scripted.write("kept/kettle.yaml", GOOD.replace("{id}", "kettle"))
    (scripted.root / "cases" / "kettle.yaml").symlink_to("../kept/kettle.yaml")
    scripted.git("add", "--all")
    assert "cases/kettle.yaml is a link" in scripted.run("validate", "--staged").err


def test_a_configuration_in_conflict_in_the_index_is_told_though_the_file_is_mended(repo: Repo) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.commit()
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.write("agenteval.yaml", config + "gate: {min_pass_rate: 0.5}\n")
    repo.commit("half")
    repo.git("checkout", "--quiet", "main")
    repo.write("agenteval.yaml", config + "gate: {min_pass_rate: 0.9}\n")
    repo.commit("most")
    assert repo.program("git", "merge", "topic").code == 1
    repo.write("agenteval.yaml", config)
    done = repo.run("validate", "--staged")
    assert (done.code, "it is in conflict" in done.out + done.err) == (2, True), done
