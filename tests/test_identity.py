"""IDs are unique, never reused, and never gone without a word: held against real git histories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import AGENTEVAL, Done, Repo

ASKS = "schema: 1\nid: {id}\ninput: {asks}\noutcome: [{contains: hello}]\n"
LEDGER = "schema: 1\nretired:\n"


def put(repo: Repo, file: str, case_id: str, asks: str) -> Path:
    """A case in cases/<file>.yaml that asks its agent something."""
    return repo.write(f"cases/{file}.yaml", ASKS.replace("{id}", case_id).replace("{asks}", asks))


def errors(done: Done) -> list[str]:
    """The rule and the file of each error, sorted."""
    found = done.json.get("problems", [])
    return sorted(f"{problem['rule']} {problem['file']}" for problem in found if problem["severity"] == "error")


def told(repo: Repo, *arguments: str) -> list[str]:
    done = repo.run("validate", "--json", *arguments)
    found = errors(done)
    assert done.code == (2 if found else 0), done
    return found


def said(repo: Repo, rule: str) -> str:
    """The one message of a rule."""
    (message,) = (p["message"] for p in repo.run("validate", "--json").json["problems"] if p["rule"] == rule)
    return str(message)


def notes(repo: Repo, *arguments: str) -> str:
    """What could not be looked at; said in the text exactly as in the JSON."""
    found: list[str] = repo.run("validate", "--json", *arguments).json["notes"]
    text = repo.run("validate", *arguments).err
    assert all(note in text for note in found)
    return " ".join(found)


def merge(repo: Repo, *branches: str, resolve: Callable[[], object] | None = None) -> str:
    """Merge the branches into the one that is checked out; the merge commit's name."""
    done = repo.program("git", "merge", "--quiet", "--no-ff", "--no-edit", *branches)
    assert (done.code == 0) == (resolve is None), done
    if resolve is not None:
        resolve()
        return repo.commit("merge")
    return repo.git("rev-parse", "HEAD").strip()


def branch(repo: Repo, name: str, start: str = "main") -> None:
    repo.git("checkout", "--quiet", "-b", name, start)


def beside(repo: Repo, name: str) -> Repo:
    """A folder beside the repository, for another one."""
    made = Repo(repo.root.parent / name, Path(repo.env["HOME"]))
    made.root.mkdir(exist_ok=True)
    return made


def without_override(*command: str) -> list[str]:
    """The command without root's power to write where modes forbid it."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all", *command]


# ---- the same ID twice


def test_two_branches_that_each_took_the_next_number_merge_cleanly_and_are_both_told(repo: Repo) -> None:
    repo.commit()
    for name in ("login", "orders"):
        branch(repo, name)
        put(repo, f"{name}/T-042", "T-042", f"about {name}")
        repo.commit(name)
    repo.git("checkout", "--quiet", "main")
    merge(repo, "login")
    merge(repo, "orders")
    assert told(repo) == ["duplicate-id cases/login/T-042.yaml", "duplicate-id cases/orders/T-042.yaml"]
    put(repo, "orders/T-042", "T-043", "about orders")
    assert told(repo) == []
    repo.commit("the younger one has another ID")
    assert told(repo) == []


def test_ids_that_differ_only_in_case_are_the_same_in_every_batch(repo: Repo) -> None:
    put(repo, "a/kettle", "Kettle", "one")
    put(repo, "z/kettle", "KETTLE", "two")
    assert told(repo, "cases/a/kettle.yaml", "cases/says-hello.yaml") == ["duplicate-id cases/a/kettle.yaml"]
    assert told(repo, "cases/z/kettle.yaml") == ["duplicate-id cases/z/kettle.yaml"]
    assert told(repo, "cases/says-hello.yaml") == []


def test_an_invalid_case_still_holds_its_id(repo: Repo) -> None:
    repo.write("cases/broken.yaml", "schema: 1\nid: says-hello\n")
    assert "duplicate-id cases/says-hello.yaml" in told(repo)


def test_an_id_that_another_case_only_mentions_is_not_taken(repo: Repo) -> None:
    text = "schema: 1\nid: mentions\ntitle: id of says-hello\nnotes: |\n  id: says-hello\ninput: {id: says-hello}\n"
    repo.write("cases/mentions.yaml", text + "outcome: [{contains: says-hello}]\n")
    repo.commit()
    repo.write("cases/mentions.yaml", text.replace("says-hello", "nobody") + "outcome: [{contains: x}]\n")
    repo.commit("no longer mentioned")
    assert told(repo) == []


@pytest.mark.slow
def test_processes_at_once_give_the_same_answer_each(repo: Repo) -> None:
    put(repo, "again", "says-hello", "again")
    repo.commit()
    started = [repo.start("validate", "--json") for _ in range(6)]
    outputs = [process.communicate(timeout=60) for process in started]
    assert {process.returncode for process in started} == {2}
    assert len(set(outputs)) == 1
    assert outputs[0][1].count("error") == 1


# ---- an ID taken by another case


@pytest.fixture
def gone(repo: Repo) -> Repo:
    """A repository whose history once had the case `kettle`, and a ledger that does not know it."""
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add kettle")
    (repo.root / "cases" / "kettle.yaml").unlink()
    repo.commit("drop kettle")
    return repo


def test_an_id_of_a_deleted_case_is_not_for_another_before_it_is_committed(gone: Repo) -> None:
    put(gone, "shipping/toaster", "Kettle", "where is my toaster?")
    assert told(gone) == ["reused-id cases/shipping/toaster.yaml"]
    gone.git("add", "--all")
    assert told(gone, "--staged") == ["reused-id cases/shipping/toaster.yaml"]
    drop = gone.git("rev-parse", "--short=12", "HEAD").strip()
    assert said(gone, "reused-id") == (
        f"the ID 'Kettle' once named another case (cases/kettle.yaml) and names this one though that case went away "
        f"in {drop}; give it a new ID"
    )


def test_an_id_of_a_deleted_case_is_not_for_another_after_it_is_committed(gone: Repo) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    taken = gone.commit("taken")
    assert told(gone) == ["reused-id cases/toaster.yaml"]
    assert taken[:12] in said(gone, "reused-id")
    put(gone, "toaster", "kettle", "where is my old toaster?")
    gone.commit("edited")
    assert told(gone) == ["reused-id cases/toaster.yaml"]


def test_a_taken_id_is_told_with_the_file_that_had_it_first(gone: Repo) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    assert "another case (cases/kettle.yaml)" in said(gone, "reused-id")


def test_a_new_id_and_the_ledger_end_the_complaint_of_a_taken_one(gone: Repo) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    put(gone, "toaster", "toaster", "where is my toaster?")
    gone.write("cases/retired.yaml", LEDGER + "  - {id: kettle, reason: not sold any more}\n")
    assert told(gone) == []
    gone.commit("mended")
    assert told(gone) == []


def test_an_id_given_back_to_its_first_case_ends_the_complaint(gone: Repo) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    (gone.root / "cases" / "toaster.yaml").unlink()
    put(gone, "kettle", "kettle", "where is my kettle?")
    put(gone, "toaster", "toaster", "where is my toaster?")
    gone.commit("given back")
    assert told(gone) == []


def test_an_id_taken_on_a_branch_is_told_after_the_merge(gone: Repo) -> None:
    branch(gone, "topic")
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    gone.git("checkout", "--quiet", "main")
    assert "reused-id" not in " ".join(told(gone))
    merge(gone, "topic")
    assert told(gone) == ["reused-id cases/toaster.yaml"]


@pytest.mark.parametrize("into", ["main", "topic"])
def test_an_id_that_lived_and_died_on_main_meanwhile_is_taken_whichever_way_it_is_merged(repo: Repo, into: str) -> None:
    root = repo.commit()
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add kettle")
    (repo.root / "cases" / "kettle.yaml").unlink()
    repo.commit("drop kettle")
    branch(repo, "topic", root)
    put(repo, "toaster", "kettle", "where is my toaster?")
    repo.commit("taken without knowing")
    repo.git("checkout", "--quiet", into)
    merge(repo, "topic" if into == "main" else "main")
    assert told(repo) == ["reused-id cases/toaster.yaml"]


def test_an_id_that_lived_and_died_on_a_merged_branch_is_not_free(repo: Repo) -> None:
    repo.commit()
    branch(repo, "topic")
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add kettle")
    (repo.root / "cases" / "kettle.yaml").unlink()
    repo.write("notes.txt", "the branch leaves something else")
    repo.commit("drop kettle")
    repo.git("checkout", "--quiet", "main")
    merge(repo, "topic")
    put(repo, "toaster", "kettle", "where is my toaster?")
    assert told(repo) == ["reused-id cases/toaster.yaml"]


# ---- the same case again


def test_a_revert_brings_the_same_case_back(gone: Repo) -> None:
    gone.git("revert", "--no-edit", "HEAD")
    assert told(gone) == []
    put(gone, "kettle", "kettle", "where is my red kettle?")
    assert told(gone) == []
    gone.commit("edited after the revert")
    assert told(gone) == []
    shutil.rmtree(gone.root / ".agenteval")
    assert told(gone) == []


def test_a_case_that_comes_back_with_other_checks_or_in_another_place_is_the_same(gone: Repo) -> None:
    path = put(gone, "kitchen/kettle", "kettle", "where is my kettle?")
    path.write_text(path.read_text(encoding="utf-8").replace("hello", "in the post"), encoding="utf-8")
    assert told(gone) == []
    gone.commit("back")
    assert told(gone) == []


@pytest.mark.parametrize("name", ["kettle-lost.yaml", "kitchen/kettle.yml", "Kettle.yaml"])
def test_a_case_that_is_moved_renamed_and_edited_in_one_go_stays_itself(repo: Repo, name: str) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    (repo.root / "cases" / "kitchen").mkdir()
    repo.git("mv", "cases/kettle.yaml", f"cases/{name}")
    repo.write(f"cases/{name}", ASKS.replace("{id}", "kettle").replace("{asks}", "where is my other kettle?"))
    assert told(repo) == []
    repo.commit("renamed and edited")
    assert told(repo) == []


def test_a_move_in_two_commits_is_a_move(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    put(repo, "kitchen/kettle", "kettle", "where is my kettle?")
    repo.commit("copied")
    (repo.root / "cases" / "kettle.yaml").unlink()
    repo.commit("and the old one deleted")
    put(repo, "kitchen/kettle", "kettle", "where is my blue kettle?")
    repo.commit("edited")
    assert told(repo) == []


@pytest.mark.parametrize("broken", ["id: kettle\ninput: [\n", "<<<<<<< HEAD\nid: kettle\n=======\n>>>>>>> topic\n"])
def test_a_case_that_was_committed_broken_and_mended_is_the_same_case(repo: Repo, broken: str) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    repo.write("cases/kettle.yaml", broken)
    repo.commit("broken")
    put(repo, "kettle", "kettle", "where is my new kettle?")
    assert told(repo) == []
    repo.commit("mended")
    assert told(repo) == []


def test_a_deletion_on_one_branch_and_an_edit_on_another_is_no_reuse(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    branch(repo, "topic")
    put(repo, "kettle", "kettle", "where is my black kettle?")
    repo.commit("edit")
    repo.git("checkout", "--quiet", "main")
    (repo.root / "cases" / "kettle.yaml").unlink()
    repo.commit("drop")
    merge(repo, "topic", resolve=lambda: put(repo, "kettle", "kettle", "where is my black kettle?"))
    assert told(repo) == []
    put(repo, "kettle", "kettle", "where is it?")
    repo.commit("edit again")
    assert told(repo) == []


OLD_FILES = {
    "id: {id}\nturns: [x]\n": True,
    "id: {id}\nturns: {a: 1}\n": True,
    "id: {id}\nturns: 5\n": True,
    "id: {id}\nvariables: 5\n": True,
    f"id: {{id}}\ninput: {'9' * 40}\n": True,
    'id: {id}\ninput: {"\\0": "\\U0001F680"}\n': True,
    "- a\n- list of {id}\n": False,
    "id: 5\n": False,
    "id: [{id}]\n": False,
    "id:\n": False,
    "id: {id}\n\x00": False,
}


def test_old_files_of_any_shape_break_nothing(repo: Repo) -> None:
    for index, text in enumerate(OLD_FILES):
        repo.write(f"cases/old-{index:02}.yaml", text.replace("{id}", f"old-{index}"))
    repo.commit("old")
    repo.git("rm", "--quiet", "-r", "cases/old-*")
    repo.commit("gone")
    known = [index for index, has_id in enumerate(OLD_FILES.values()) if has_id]
    assert told(repo) == [f"vanished-case cases/old-{index:02}.yaml" for index in known]


# ---- a case that went away


def test_a_case_deleted_from_the_working_tree_is_told_whichever_file_is_named(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    (repo.root / "cases" / "kettle.yaml").unlink()
    assert told(repo, "cases/says-hello.yaml") == ["vanished-case cases/kettle.yaml"]
    assert said(repo, "vanished-case") == (
        "the case 'kettle' went away in the working tree without being retired; bring it back, or "
        "`agenteval retire kettle --reason …`"
    )
    repo.git("add", "--all")
    assert told(repo, "--staged") == ["vanished-case cases/kettle.yaml"]


def test_a_case_deleted_only_from_the_working_tree_is_still_in_the_index(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    (repo.root / "cases" / "kettle.yaml").unlink()
    assert told(repo, "--staged") == []
    assert told(repo) == ["vanished-case cases/kettle.yaml"]


def test_a_case_that_vanished_is_told_with_its_commit(gone: Repo) -> None:
    drop = gone.git("rev-parse", "--short=12", "HEAD").strip()
    gone.write("later.txt", "later")
    gone.commit("later")
    assert told(gone) == ["vanished-case cases/kettle.yaml"]
    assert f"went away in {drop} " in said(gone, "vanished-case")


def test_a_case_that_vanished_on_a_merged_branch_is_told_with_its_commit(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    branch(repo, "topic")
    (repo.root / "cases" / "kettle.yaml").unlink()
    drop = repo.commit("drop")
    repo.git("checkout", "--quiet", "main")
    put(repo, "other", "other", "meanwhile")
    repo.commit("meanwhile")
    assert told(repo) == []
    merge(repo, "topic")
    assert told(repo) == ["vanished-case cases/kettle.yaml"]
    assert f"went away in {drop[:12]} " in said(repo, "vanished-case")


def test_a_case_that_a_merge_left_out_is_told_with_the_merge(repo: Repo) -> None:
    repo.commit()
    branch(repo, "topic")
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    repo.git("checkout", "--quiet", "main")
    merged = merge(repo, "--strategy=ours", "topic")
    assert told(repo) == ["vanished-case cases/kettle.yaml"]
    assert f"went away in {merged[:12]} " in said(repo, "vanished-case")


def test_a_case_whose_file_cannot_be_read_has_not_vanished(repo: Repo) -> None:
    broken = ["id: case-0\ninput: [\n", "", "- a\n", "id: 5\n", "\x00"]
    for index in range(len(broken)):
        put(repo, f"case-{index}", f"case-{index}", f"question {index}")
    repo.commit()
    for index, text in enumerate(broken):
        repo.write(f"cases/case-{index}.yaml", text)
    for state in ("uncommitted", "committed"):
        found = told(repo)
        assert len({line.partition(" ")[2] for line in found}) == len(broken), state
        assert not [line for line in found if line.startswith("vanished")], state
        repo.commit(state)


def test_an_id_that_was_rewritten_in_place_has_vanished(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    put(repo, "kettle", "kettle-lost", "where is my kettle?")
    assert told(repo) == ["vanished-case cases/kettle.yaml"]


def test_a_case_called_retired_yaml_in_a_folder_is_a_case(repo: Repo) -> None:
    put(repo, "people/retired", "pension", "am I retired?")
    repo.commit()
    (repo.root / "cases" / "people" / "retired.yaml").unlink()
    assert told(repo) == ["vanished-case cases/people/retired.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".drafts", "topic/.old"])
def test_a_case_in_a_hidden_folder_is_seen_or_not_the_same_everywhere(repo: Repo, folder: str) -> None:
    put(repo, f"{folder}/kettle", "kettle", "where is my kettle?")
    repo.commit()
    assert told(repo) == told(repo, "--staged") == []
    assert repo.run("validate").err == repo.run("validate", "--staged").err


# ---- the ledger


def test_a_retired_id_is_refused_with_its_reason_ignoring_case(repo: Repo) -> None:
    repo.write("cases/retired.yaml", LEDGER + "  - {id: Kettle, reason: not sold any more, on: 2031-02-03}\n")
    put(repo, "kettle", "kettle", "where is my kettle?")
    assert told(repo) == ["retired-id cases/kettle.yaml"]
    assert told(repo, "cases/says-hello.yaml") == []
    assert "'kettle' was retired (not sold any more)" in said(repo, "retired-id")


def test_a_retired_case_may_be_gone_and_stays_gone(gone: Repo) -> None:
    gone.write("cases/retired.yaml", LEDGER + "  - {id: kettle, reason: not sold any more}\n")
    assert told(gone) == []
    gone.commit("retired")
    put(gone, "kettle", "kettle", "where is my kettle?")
    assert told(gone) == ["retired-id cases/kettle.yaml"]


@pytest.mark.parametrize(
    ("ledger", "rule"),
    [
        ("", "yaml-empty"),
        ("schema: 1\nretired: [\n", "yaml-syntax"),
        ("schema: 1\nretired: [kettle]\n", "schema"),
        ("schema: 1\nretired: [{id: kettle}]\n", "schema"),
        ("schema: 1\nretired: [{id: kettle, reason: ''}]\n", "schema"),
        ("schema: 2\nretired: []\n", "schema"),
        ("schema: 1\nretierd: []\n", "schema"),
        ("schema: 1\nretired: [{id: a1, reason: x}, {id: A1, reason: y}]\n", "duplicate-id"),
        ("<<<<<<< HEAD\nschema: 1\n=======\nschema: 1\n>>>>>>> topic\n", "conflict-markers"),
    ],
)
def test_a_broken_ledger_is_an_error(repo: Repo, ledger: str, rule: str) -> None:
    repo.write("cases/retired.yaml", ledger)
    assert set(told(repo, "cases/says-hello.yaml")) == {f"{rule} cases/retired.yaml"}


def test_the_ledger_may_be_named_among_the_files(repo: Repo) -> None:
    repo.write("cases/retired.yaml", LEDGER + "  - {id: kettle, reason: not sold any more}\n")
    assert told(repo, "cases/retired.yaml", "cases/says-hello.yaml") == []


def test_the_staged_ledger_counts_for_what_is_staged(gone: Repo) -> None:
    ledger = gone.write("cases/retired.yaml", LEDGER + "  - {id: kettle, reason: not sold any more}\n")
    gone.git("add", "cases/retired.yaml")
    ledger.unlink()
    assert told(gone, "--staged") == []
    assert told(gone) == ["vanished-case cases/kettle.yaml"]


# ---- what is remembered of history


@pytest.mark.slow
def test_a_second_look_gives_the_same_answer_whatever_happened_to_the_history(repo: Repo) -> None:
    """After each step: what is remembered tells the same as a fresh look."""
    root = repo.commit()

    def amend() -> None:
        put(repo, "kettle", "kettle", "where is my iron kettle?")
        repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")

    def rebase() -> None:
        branch(repo, "topic", root)
        put(repo, "lamp", "lamp", "where is my lamp?")
        repo.commit("lamp")
        repo.git("rebase", "--quiet", "main")

    steps: dict[str, Callable[[], object]] = {
        "commit": lambda: (put(repo, "kettle", "kettle", "where is my kettle?"), repo.commit("add")),
        "amend": amend,
        "delete": lambda: (repo.git("rm", "--quiet", "cases/kettle.yaml"), repo.commit("drop")),
        "take": lambda: (put(repo, "toaster", "kettle", "where is my toaster?"), repo.commit("take")),
        "rebase": rebase,
        "switch": lambda: repo.git("checkout", "--quiet", "main"),
        "older": lambda: repo.git("checkout", "--quiet", "main~1"),
        "reset": lambda: repo.git("checkout", "--quiet", "-B", "main", root),
    }
    answers = []
    for name, step in steps.items():
        step()
        first, second = told(repo), told(repo)
        shutil.rmtree(repo.root / ".agenteval" / "cache", ignore_errors=True)
        assert first == second == told(repo), name
        answers.append(first)
    gone, taken = ["vanished-case cases/kettle.yaml"], ["reused-id cases/toaster.yaml"]
    assert answers == [[], [], gone, taken, taken, taken, gone, []]


@pytest.mark.parametrize("way", ["merge --strategy=ours --no-edit main", "merge --no-ff --no-edit main"])
def test_a_history_taken_in_bit_by_bit_is_the_same_as_one_read_at_once(repo: Repo, way: str) -> None:
    root = repo.commit()
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit("add")
    told(repo)
    branch(repo, "topic", root)
    put(repo, "lamp", "lamp", "where is my lamp?")
    repo.commit("lamp")
    repo.git(*way.split())
    repo.git("checkout", "--quiet", "main")
    told(repo)
    repo.git("merge", "--quiet", "--ff-only", "topic")
    remembered = repo.run("validate").out
    shutil.rmtree(repo.root / ".agenteval" / "cache")
    assert repo.run("validate").out == remembered


@pytest.mark.parametrize("garbage", [b"", b"not msgpack", b"\xc1", b"\x91" * 100_000, None])
def test_a_spoilt_cache_is_no_cache(gone: Repo, garbage: bytes | None) -> None:
    expected = told(gone)
    for path in (gone.root / ".agenteval" / "cache").glob("*.msgpack"):
        path.unlink()
        if garbage is None:
            path.mkdir()
        else:
            path.write_bytes(garbage)
    assert told(gone) == expected == ["vanished-case cases/kettle.yaml"]


def test_the_cache_is_nothing_that_git_would_commit(gone: Repo) -> None:
    gone.write(".gitignore", "")
    told(gone)
    assert (gone.root / ".agenteval" / "cache" / "history.msgpack").is_file()
    assert ".agenteval" not in gone.git("status", "--porcelain", "--untracked-files=all")


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root, and no setpriv to give that up")
def test_a_repository_that_cannot_be_written_is_validated(gone: Repo) -> None:
    folders = [Path(path) for path, _, _ in os.walk(gone.root)]
    for folder in folders:
        folder.chmod(0o555)
    found = errors(gone.program(*without_override(str(AGENTEVAL), "validate", "--json")))
    for folder in folders:
        folder.chmod(0o755)
    assert found == ["vanished-case cases/kettle.yaml"]
    assert not (gone.root / ".agenteval").exists()


# ---- histories that cannot be seen whole


def clone(repo: Repo, *options: str) -> Repo:
    """A clone beside the repository, by the way that git takes for remote ones."""
    made = beside(repo, "clone")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "--quiet", *options, repo.root.as_uri(), str(made.root))
    return made


def test_a_shallow_clone_says_so_and_accuses_nobody(gone: Repo) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    shallow = clone(gone, "--depth=1")
    assert told(shallow) == []
    assert "history is shallow" in notes(shallow, "cases/toaster.yaml")


@pytest.mark.slow
def test_a_shallow_clone_still_knows_what_vanishes_before_its_eyes(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    shallow = clone(repo, "--depth=1")
    (shallow.root / "cases" / "kettle.yaml").unlink()
    assert told(shallow) == ["vanished-case cases/kettle.yaml"]


@pytest.mark.parametrize("deepen", ["fetch --quiet --unshallow", "pull --quiet --unshallow"])
def test_a_clone_that_was_made_whole_after_a_look_is_looked_at_whole(gone: Repo, deepen: str) -> None:
    put(gone, "toaster", "kettle", "where is my toaster?")
    gone.commit("taken")
    shallow = clone(gone, "--depth=1")
    assert told(shallow) == []
    if "pull" in deepen:
        gone.write("later.txt", "later")
        gone.commit("later")
    shallow.git(*deepen.split())
    assert told(shallow) == ["reused-id cases/toaster.yaml"]
    assert notes(shallow) == ""


def test_a_clone_without_old_contents_says_so_where_they_cannot_be_fetched(gone: Repo) -> None:
    partial = clone(gone, "--filter=blob:none")
    gone.root.rename(gone.root.with_name("away"))
    put(partial, "toaster", "kettle", "where is my toaster?")
    done = partial.run("validate", "--json")
    assert errors(done) == ["reused-id cases/toaster.yaml"] or done.json["notes"], done


@pytest.mark.slow
def test_a_clone_without_old_contents_fetches_them(gone: Repo) -> None:
    partial = clone(gone, "--filter=blob:none")
    put(partial, "toaster", "kettle", "where is my toaster?")
    assert told(partial) == ["reused-id cases/toaster.yaml"]


def test_a_repository_that_git_will_not_read_is_not_called_none(gone: Repo) -> None:
    done = gone.run("validate", "--json", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert done.json["notes"], done
    assert "not a git repository" not in done.err + " ".join(done.json["notes"])
    staged = gone.run("validate", "--staged", GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert staged.code == 2
    assert "not in a git repository" not in staged.err


@pytest.mark.parametrize("missing", ["repository", "program"])
def test_without_git_the_note_says_what_was_not_looked_at(repo: Repo, tmp_path: Path, missing: str) -> None:
    if missing == "program":
        repo.commit()
        repo.env["PATH"] = str(tmp_path)
    assert told(repo) == []
    assert "IDs were not held against history" in notes(repo)
    done = repo.run("validate", "--staged")
    assert (done.code, "--staged reads git's index" in done.err) == (2, True)


def damage(repo: Repo, revision: str) -> None:
    """Overwrite the object that a revision names."""
    name = repo.git("rev-parse", revision).strip()
    path = repo.root / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"garbage")


@pytest.fixture
def edited(repo: Repo) -> Repo:
    """A case in three states: committed, staged, and in the working tree."""
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    put(repo, "kettle", "kettle", "where is my red kettle?")
    repo.git("add", "--all")
    put(repo, "kettle", "kettle", "where is my blue kettle?")
    return repo


@pytest.mark.parametrize("revision", ["HEAD:cases/kettle.yaml", "HEAD:cases", "HEAD"])
def test_a_history_that_git_cannot_read_is_said_and_files_are_still_checked(edited: Repo, revision: str) -> None:
    damage(edited, revision)
    for options in ([], ["--staged"]):
        assert told(edited, *options) == []
        (note,) = edited.run("validate", "--json", *options).json["notes"]
        assert note.startswith("git ")
        assert "`git fsck`" in note
        assert note.endswith("IDs were not held against history")
    put(edited, "again", "kettle", "again?")
    assert told(edited) == ["duplicate-id cases/again.yaml", "duplicate-id cases/kettle.yaml"]


@pytest.mark.parametrize("revision", [":cases/kettle.yaml", "index"])
def test_what_is_staged_and_cannot_be_read_is_not_called_valid(edited: Repo, revision: str) -> None:
    if revision == "index":
        (edited.root / ".git" / "index").write_bytes(b"garbage")
    else:
        damage(edited, revision)
    for options in ([], ["cases/kettle.yaml"], ["cases/says-hello.yaml"]):
        done = edited.run("validate", "--staged", *options)
        assert (done.code, done.out, done.err.count("\n")) == (3, "", 1), done
        assert "`git fsck`" in done.err
    assert told(edited) == []


@pytest.mark.parametrize("revision", ["HEAD:cases/kettle.yaml", "HEAD:cases", "HEAD"])
def test_cases_are_not_compared_with_a_commit_that_git_cannot_read(edited: Repo, revision: str) -> None:
    damage(edited, revision)
    done = edited.run("list", "--changed", "HEAD")
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1), done
    assert "`git fsck`" in done.err


@pytest.mark.parametrize("ref", ["nowhere", "0123456789" * 4, "HEAD:cases/kettle.yaml"])
def test_a_ref_that_is_no_commit_is_asked_wrongly(edited: Repo, ref: str) -> None:
    done = edited.run("list", "--changed", ref)
    assert (done.code, done.err) == (2, f"agenteval: no commit '{ref}' to compare with\n"), done


@pytest.mark.parametrize("spoil", ["history.msgpack", "history-brief.msgpack", "both"])
def test_each_half_of_what_is_remembered_of_history_can_be_lost(gone: Repo, spoil: str) -> None:
    put(gone, "lamp", "lamp", "where is my lamp?")
    gone.commit("lamp")
    told(gone)
    (gone.root / "cases" / "lamp.yaml").unlink()
    for path in (gone.root / ".agenteval" / "cache").glob("history*" if spoil == "both" else spoil):
        path.unlink()
    assert told(gone) == told(gone) == ["vanished-case cases/kettle.yaml", "vanished-case cases/lamp.yaml"]


LOG_SETTINGS = (
    *("log.showRoot=false", "log.diffMerges=first-parent", "log.diffMerges=off", "log.showSignature=true"),
    *("log.follow=true", "log.decorate=full", "color.ui=always", "diff.renames=copies", "diff.relative=true"),
    *("core.abbrev=4", "format.pretty=oneline", "log.date=iso"),
)


@pytest.mark.slow
@pytest.mark.parametrize("setting", LOG_SETTINGS)
def test_no_setting_of_the_users_git_hides_a_birth_or_a_death(repo: Repo, setting: str) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    repo.git("config", *setting.split("="))
    branch(repo, "topic")
    repo.git("rm", "--quiet", "cases/kettle.yaml")
    repo.commit("drop")
    repo.git("checkout", "--quiet", "main")
    put(repo, "lamp", "lamp", "where is my lamp?")
    repo.commit("meanwhile")
    merge(repo, "topic")
    assert told(repo) == ["vanished-case cases/kettle.yaml"]
    put(repo, "toaster", "kettle", "where is my toaster?")
    assert told(repo) == ["reused-id cases/toaster.yaml"]


# ---- kinds of repositories


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["*", ":(top)x", "ca[s]es", "deep/er", "-x"])
def test_the_folder_of_cases_may_be_called_anything(repo: Repo, folder: str) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f'{config}cases: "{folder}"\n')
    (repo.root / "cases").rename(repo.root / "other")
    text = ASKS.replace("{id}", "kettle").replace("{asks}", "where is my kettle?")
    repo.write(f"{folder}/kettle.yaml", text)
    repo.write(f"{folder}/lamp.yaml", text.replace("kettle", "lamp"))
    repo.commit()
    (repo.root / folder / "kettle.yaml").unlink()
    assert told(repo) == [f"vanished-case {folder}/kettle.yaml"]
    assert told(repo, "--staged") == []
    repo.commit("drop")
    repo.write(f"{folder}/toaster.yaml", text.replace("my kettle", "my toaster"))
    assert told(repo) == [f"reused-id {folder}/toaster.yaml"]


def test_the_commits_of_a_file_are_not_those_of_files_that_its_name_matches(repo: Repo) -> None:
    put(repo, "[ab]", "kettle", "where is my kettle?")
    put(repo, "a", "lamp", "where is my lamp?")
    repo.commit("both")
    put(repo, "a", "lamp", "where is my red lamp?")
    repo.commit("the other one")
    shown = repo.run("show", "kettle").out
    assert "both" in shown
    assert "the other one" not in shown


def test_before_the_first_commit_there_is_nothing_to_hold_ids_against(repo: Repo) -> None:
    repo.git("init", "--quiet")
    assert (told(repo), notes(repo)) == ([], "")
    repo.git("add", "--all")
    assert told(repo, "--staged") == []
    put(repo, "again", "says-hello", "again")
    assert told(repo) == ["duplicate-id cases/again.yaml", "duplicate-id cases/says-hello.yaml"]


def test_a_detached_head_has_its_own_history(gone: Repo) -> None:
    gone.git("checkout", "--quiet", "--detach")
    put(gone, "toaster", "kettle", "where is my toaster?")
    assert told(gone) == ["reused-id cases/toaster.yaml"]
    gone.commit("taken")
    assert told(gone) == ["reused-id cases/toaster.yaml"]


def test_a_linked_worktree_is_looked_at_on_its_own(gone: Repo) -> None:
    gone.git("worktree", "add", "--quiet", "-b", "side", "../side")
    side = beside(gone, "side")
    put(side, "toaster", "kettle", "where is my toaster?")
    side.git("add", "--all")
    assert told(side, "--staged") == told(side) == ["reused-id cases/toaster.yaml"]
    assert told(gone) == ["vanished-case cases/kettle.yaml"]


@pytest.mark.slow
def test_a_git_folder_elsewhere_is_found(repo: Repo) -> None:
    repo.git("init", "--quiet", "--initial-branch=main", f"--separate-git-dir={repo.root.parent / 'elsewhere'}")
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message", "cases")
    (repo.root / "cases" / "kettle.yaml").unlink()
    assert told(repo) == ["vanished-case cases/kettle.yaml"]


@pytest.fixture
def below(empty: Repo) -> Repo:
    """A repository whose agenteval.yaml is in the folder app, with a case beside it that is not ours."""
    inner = Repo(empty.root / "app", Path(empty.env["HOME"]))
    inner.agent()
    inner.case("says-hello")
    empty.write("cases/foreign.yaml", "id: foreign\n")
    put(inner, "kettle", "kettle", "where is my kettle?")
    empty.commit()
    return inner


@pytest.mark.slow
def test_a_root_below_that_of_git_has_its_own_cases_and_their_history(below: Repo) -> None:
    assert told(below) == told(below, "--staged") == []
    (below.root / "cases" / "kettle.yaml").unlink()
    assert told(below) == ["vanished-case cases/kettle.yaml"]
    below.git("rm", "--quiet", "--cached", "cases/kettle.yaml")
    assert told(below, "--staged") == ["vanished-case cases/kettle.yaml"]
    below.git("commit", "--quiet", "--message", "drop")
    put(below, "toaster", "kettle", "where is my toaster?")
    assert told(below) == ["reused-id cases/toaster.yaml"]


def test_files_named_from_above_belong_to_the_repository_below(below: Repo) -> None:
    done = below.run("validate", "--json", "app/cases/kettle.yaml", cwd=below.root.parent)
    assert (done.code, done.json.get("files")) == (0, 1), done


@pytest.fixture
def inside(repo: Repo) -> Repo:
    """A superproject with cases of its own, and others in the submodule cases/shared."""
    shared = beside(repo, "shared")
    put(shared, "kettle", "kettle", "where is my kettle?")
    shared.commit()
    repo.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", shared.root.as_uri(), "cases/shared")
    repo.commit("submodule")
    return repo


@pytest.mark.slow
def test_cases_in_a_submodule_are_followed_or_said_to_be_left_out(inside: Repo) -> None:
    assert told(inside) == []
    put(inside, "again", "kettle", "again?")
    found = told(inside)
    assert found == [
        "duplicate-id cases/again.yaml",
        "duplicate-id cases/shared/cases/kettle.yaml",
    ] or "cases/shared" in notes(inside)
    inside.git("add", "cases/again.yaml")
    assert told(inside, "--staged") == found or "cases/shared" in notes(inside, "--staged")


def test_a_submodule_that_is_not_checked_out_is_told(inside: Repo) -> None:
    bare = clone(inside)
    done = bare.run("validate", "--json")
    assert "cases/shared" in " ".join([*done.json["notes"], *errors(done)]), done


@pytest.mark.slow
def test_a_submodule_with_all_the_cases_that_is_not_checked_out_is_not_zero_valid_cases(inside: Repo) -> None:
    inside.git("rm", "--quiet", "cases/says-hello.yaml")
    inside.commit("only the submodule's")
    bare = clone(inside)
    done = bare.run("validate")
    assert done.code == 2
    assert "cases/shared" in done.err


def test_inside_a_submodule_its_own_history_counts(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    app = beside(repo, "app")
    app.write("readme", "the superproject")
    app.commit()
    app.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repo.root.as_uri(), "evals")
    app.commit("submodule")
    (app.root / "evals" / "cases" / "kettle.yaml").unlink()
    assert told(app, "-C", "evals") == ["vanished-case cases/kettle.yaml"]


# ---- odd names

ODD_NAMES = [
    "prix élevé",
    'a "b"',
    " leading",
    "-dash",
    "two\nlines",
    "*[a]?",
    ":(top)x",
    "tab\tand \\n",
    "ⓤ\u202ename",
]


def test_files_with_odd_names_have_their_histories(repo: Repo) -> None:
    for index, name in enumerate(ODD_NAMES):
        put(repo, name, f"odd-{index}", f"question {index}")
    repo.commit()
    assert told(repo, "--staged", "--", *(f"cases/{name}.yaml" for name in ODD_NAMES)) == []
    for name in ODD_NAMES:
        (repo.root / "cases" / f"{name}.yaml").unlink()
    assert told(repo) == sorted(f"vanished-case cases/{name}.yaml" for name in ODD_NAMES)
    repo.commit("all gone")
    for index, name in enumerate(ODD_NAMES):
        put(repo, f"new {name}", f"odd-{index}", "another question")
    assert [line for line in told(repo) if line.startswith("reused-id")] == sorted(
        f"reused-id cases/new {name}.yaml" for name in ODD_NAMES
    )


@pytest.mark.slow
def test_a_file_name_that_is_not_utf8_is_a_case_like_others(repo: Repo) -> None:
    name = os.fsdecode(b"cases/caf\xe9.yaml")
    text = ASKS.replace("{id}", "cafe").replace("{asks}", "a coffee?").encode()
    try:
        repo.write(name, text)
    except OSError:
        pytest.skip("this file system keeps only UTF-8 names")
    os.utime(repo.root / name, (1_000_000_000, 1_000_000_000))
    for state in ("untracked", "committed", "remembered"):
        for options in ([], ["--json"], ["--format", "github"], ["--format", "sarif"]):
            done = repo.run("validate", *options)
            assert done.code == 0, (state, options, done)
        if state == "untracked":
            repo.commit()
    assert repo.run("validate", "--staged").code == 0
    repo.write(name, text + b"moer: 1\n")
    for options in ([], ["--json"], ["--format", "github"], ["--format", "sarif"]):
        done = repo.run("validate", *options)
        assert done.code == 2, (options, done)
        assert "unknown key 'moer'" in done.out


# ---- merges that are not finished

CONFLICTED = """
schema: 1
id: kettle
input: "Summarise the note.
<<<<<<< ours
Use two sentences.
=======
Use one sentence.
>>>>>>> theirs
"
outcome: [{contains: hello}]
"""


@pytest.fixture
def merging(repo: Repo) -> Repo:
    """A merge in progress, with a conflict in cases/kettle.yaml."""
    put(repo, "kettle", "kettle", "where is my kettle?")
    repo.commit()
    branch(repo, "topic")
    put(repo, "kettle", "kettle", "where is their kettle?")
    repo.commit("theirs")
    repo.git("checkout", "--quiet", "main")
    put(repo, "kettle", "kettle", "where is our kettle?")
    repo.commit("ours")
    assert repo.program("git", "merge", "topic").code == 1
    return repo


def test_a_file_in_conflict_is_told_once_and_has_not_vanished(merging: Repo) -> None:
    assert told(merging) == ["conflict-markers cases/kettle.yaml"]
    assert "cases/kettle.yaml:3:1: merge conflict markers" in merging.run("validate").out


def test_a_file_in_conflict_is_not_valid_in_the_index_either(merging: Repo) -> None:
    done = merging.run("validate", "--staged", "--json")
    assert done.code == 2, done
    assert "cases/kettle.yaml" in done.out


def test_a_merge_that_is_resolved_is_fine_before_and_after_its_commit(merging: Repo) -> None:
    put(merging, "kettle", "kettle", "where is everyone's kettle?")
    merging.git("add", "--all")
    assert told(merging) == told(merging, "--staged") == []
    merging.git("commit", "--quiet", "--no-edit")
    assert told(merging) == []


def test_markers_committed_inside_a_quoted_text_are_told_without_any_merge(repo: Repo) -> None:
    repo.write("cases/kettle.yaml", CONFLICTED)
    repo.commit()
    assert told(repo) == told(repo, "--staged") == ["conflict-markers cases/kettle.yaml"]
    repo.write("cases/kettle.yaml", "# agenteval: conflict-markers-intended\n" + CONFLICTED)
    assert told(repo) == []


def test_a_heading_underlined_with_equals_signs_is_fine(repo: Repo) -> None:
    put(repo, "kettle", "kettle", "|\n  Title\n  =======\n  =======\n  text\n")
    assert told(repo) == []


def test_markers_in_a_file_that_a_case_gives_to_its_agent_are_told(repo: Repo) -> None:
    repo.write("prompts/summary.txt", "Summarise.\n<<<<<<< ours\nTwo.\n=======\nOne.\n>>>>>>> theirs\n")
    text = "schema: 1\nid: summary\ninput: sum up\nfiles: [prompts/summary.txt]\noutcome: [{contains: a}]\n"
    repo.write("cases/summary.yaml", text)
    done = repo.run("validate")
    assert done.code == 2, done
    assert "prompts/summary.txt" in done.out


# ---- the folder of cases moves


def move(repo: Repo, folder: str) -> None:
    """The folder of cases is another from now on, and all that was in it is there."""
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    head, _, before = config.partition("cases: ")
    repo.write("agenteval.yaml", f"{head.rstrip()}\ncases: {folder}\n")
    (repo.root / folder).parent.mkdir(parents=True, exist_ok=True)
    (repo.root / (before.strip() or "cases")).rename(repo.root / folder)


@pytest.fixture
def two(repo: Repo) -> Repo:
    """A repository with the cases `kettle` and `lamp` beside the first one."""
    for name in ("kettle", "lamp"):
        put(repo, name, name, f"where is my {name}?")
    repo.commit()
    return repo


OTHER_KETTLE = ASKS.replace("{id}", "kettle").replace("{asks}", "what is a kettle?")


@pytest.mark.parametrize("looked", [True, False], ids=["looked at before", "first look"])
@pytest.mark.parametrize("folder", ["evals", "evals/agent"])
def test_a_case_that_is_dropped_while_its_folder_moves_has_vanished(two: Repo, folder: str, *, looked: bool) -> None:
    if looked:
        assert told(two) == []
    move(two, folder)
    (two.root / folder / "kettle.yaml").unlink()
    two.commit("move, and drop one by the way")
    assert told(two) == told(two) == ["vanished-case cases/kettle.yaml"]
    assert "once named a case, cases/kettle.yaml" in two.run("new", "--id", "kettle", "--input", "x").err
    two.write(f"{folder}/other.yaml", OTHER_KETTLE)
    assert told(two) == [f"reused-id {folder}/other.yaml"]
    two.commit("and take its ID")
    assert told(two) == [f"reused-id {folder}/other.yaml"]


def test_a_case_that_went_before_its_folder_moved_keeps_its_id(gone: Repo) -> None:
    move(gone, "evals")
    gone.write("evals/other.yaml", OTHER_KETTLE)
    for _ in range(2):
        assert told(gone) == ["reused-id evals/other.yaml"]
        gone.commit()
    (gone.root / "evals" / "other.yaml").unlink()
    assert gone.run("retire", "kettle", "--reason", "nobody has one").code == 0
    assert told(gone) == []


def test_a_folder_that_moves_there_and_back_in_any_number_of_commits_accuses_nobody(two: Repo) -> None:
    for folder in ("evals", "deep/er", "cases"):
        move(two, folder)
        assert told(two) == []
        two.git("add", "--all", "agenteval.yaml")
        two.git("commit", "--quiet", "--message", f"the cases are in {folder}")
        assert told(two) == []
        two.commit(f"now they are in {folder}")
        assert told(two) == told(two, "--staged") == []
    (two.root / "cases" / "lamp.yaml").unlink()
    assert told(two) == ["vanished-case cases/lamp.yaml"]


def test_cases_that_are_left_behind_in_an_old_folder_have_vanished(two: Repo) -> None:
    move(two, "evals")
    (two.root / "cases").mkdir()
    (two.root / "evals" / "kettle.yaml").rename(two.root / "cases" / "kettle.yaml")
    for _ in range(2):
        assert told(two) == ["vanished-case cases/kettle.yaml"]
        assert "went away when evals/ became the folder of cases" in said(two, "vanished-case")
        two.commit()
    two.run("retire", "kettle", "--reason", "left behind")
    assert told(two) == []


UNREADABLE = ("cases: [\n", "\xff", "cases: ../elsewhere\n", 'cases: "a\\0b"\n', "<<<<<<< a\n", "")


@pytest.mark.parametrize("config", UNREADABLE)
def test_an_old_configuration_that_cannot_be_read_is_passed_over(two: Repo, config: str) -> None:
    good = (two.root / "agenteval.yaml").read_bytes()
    two.write("agenteval.yaml", config)
    two.commit("break it")
    two.write("agenteval.yaml", good)
    move(two, "evals")
    (two.root / "evals" / "kettle.yaml").unlink()
    two.commit("mend it")
    assert told(two) == ["vanished-case cases/kettle.yaml"]
    assert notes(two) == ""


def test_a_folder_that_only_a_merged_branch_knew_is_looked_into(two: Repo) -> None:
    branch(two, "topic")
    move(two, "evals")
    two.write("evals/toaster.yaml", ASKS.replace("{id}", "toaster").replace("{asks}", "where is my toaster?"))
    two.commit("evals")
    move(two, "cases")
    (two.root / "cases" / "toaster.yaml").unlink()
    two.commit("and back")
    two.git("checkout", "--quiet", "main")
    two.write("readme.md", "on main")
    two.commit("meanwhile")
    assert told(two) == []
    merge(two, "topic")
    assert told(two) == ["vanished-case evals/toaster.yaml"]


def test_the_folder_moves_in_a_root_below_that_of_git(below: Repo) -> None:
    move(below, "evals")
    (below.root / "evals" / "says-hello.yaml").unlink()
    below.git("add", "--all")
    below.git("commit", "--quiet", "--message", "move")
    assert told(below) == ["vanished-case cases/says-hello.yaml"]


# ---- files that look like cases


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.yam", "R.YAML.txt", "deep/r.yaml.orig", "r.yml~", "r b.ymal"])
def test_a_file_that_looks_like_a_case_and_is_none_is_told(repo: Repo, name: str) -> None:
    repo.write(f"cases/{name}", OTHER_KETTLE)
    repo.commit()
    for how in ([], ["--staged"], ["cases/says-hello.yaml"]):
        assert told(repo, *how) == []
        assert notes(repo, *how) == f"cases/{name} was not looked at: the name of a case file ends in .yaml or .yml"
    assert "vanished" not in repo.run("validate", "--quiet").err


def test_other_files_beside_cases_are_nobodys_business(repo: Repo) -> None:
    for name in ("README.md", "logo.png", "yaml", "json.txt", "notes.txt", ".says-hello.yaml.swp", "jsonnet.py"):
        repo.write(f"cases/{name}", "x")
    repo.write("cases/order.json", "{}")
    put(repo, "order", "order", "which order?\nfiles: [cases/order.json]")
    repo.commit()
    assert notes(repo) == notes(repo, "--staged") == ""


def test_many_files_that_look_like_cases_are_counted(repo: Repo) -> None:
    for number in range(13):
        repo.write(f"cases/{number:02}.json", "{}")
    found = notes(repo)
    assert "cases/09.json was not looked at" in found
    assert "3 more files whose names do not end so: not looked at either" in found
    assert "cases/10.json" not in found


def test_a_folder_with_nothing_but_look_alikes_says_which(repo: Repo) -> None:
    (repo.root / "cases" / "says-hello.yaml").rename(repo.root / "cases" / "says-hello.yaml.txt")
    done = repo.run("validate")
    assert done.code == 2
    assert "no case files under cases/; cases/says-hello.yaml.txt does not end in .yaml or .yml" in done.err


# ---- what cannot be told


def test_an_id_that_goes_over_to_another_file_in_one_commit_is_taken_for_a_rename_with_edits(two: Repo) -> None:
    """As docs/cases.md says: from inside git the two look the same. The diff shows the case as edited."""
    (two.root / "cases" / "kettle.yaml").unlink()
    put(two, "new", "kettle", "what is the weather?")
    assert told(two) == []
    two.commit("one commit")
    assert told(two) == []
    put(two, "new", "lamp", "what is the weather?")
    put(two, "lamp", "kettle", "where is my lamp?")
    two.commit("two IDs change places")
    assert told(two) == []
    two.git("rm", "--quiet", "cases/lamp.yaml")
    two.commit("away")
    put(two, "newer", "kettle", "how late is it?")
    assert told(two) == ["reused-id cases/newer.yaml"]


# ---- files that are easily left out


@pytest.mark.parametrize("target", ["nowhere.yaml", "link.yaml"])
def test_a_link_that_leads_nowhere_is_told(repo: Repo, target: str) -> None:
    (repo.root / "cases" / "link.yaml").symlink_to(target)
    done = repo.run("validate")
    assert done.code == 2, done
    assert "cases/link.yaml" in done.out


def test_a_linked_folder_of_cases_is_looked_at_or_said_to_be_left_out(repo: Repo) -> None:
    repo.write("shared/broken.yaml", "schema: 1\nid: broken\n")
    (repo.root / "cases" / "shared").symlink_to("../shared")
    done = repo.run("validate")
    assert "cases/shared" in done.out + done.err, done


def test_a_linked_case_is_the_case_that_it_leads_to(repo: Repo) -> None:
    repo.write("shared/kettle.yaml", ASKS.replace("{id}", "kettle").replace("{asks}", "where is my kettle?"))
    (repo.root / "cases" / "kettle.yaml").symlink_to("../shared/kettle.yaml")
    repo.commit()
    assert told(repo) == told(repo, "--staged") == []


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root, and no setpriv to give that up")
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_may_not_be_read_is_not_passed_over(repo: Repo, mode: int) -> None:
    private = put(repo, "private/kettle", "kettle", "where is my kettle?").parent
    private.chmod(mode)
    command = [str(AGENTEVAL), "validate"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all", *command]
    done = repo.program(*command)
    private.chmod(0o755)
    assert done.code in (2, 3), done
    assert "private" in done.out + done.err
    assert "Traceback" not in done.err


def test_git_is_never_asked_for_a_lock(gone: Repo) -> None:
    (gone.root / ".git" / "index.lock").touch()
    assert told(gone) == told(gone, "--staged") == ["vanished-case cases/kettle.yaml"]


def test_a_sparse_checkout_accuses_nobody_of_what_it_leaves_out(repo: Repo) -> None:
    put(repo, "kitchen/kettle", "kettle", "where is my kettle?")
    put(repo, "lamp", "lamp", "where is my lamp?")
    put(repo, "garden/hose", "hose", "where is my hose?")
    repo.commit()
    repo.git("sparse-checkout", "set", "cases/garden")
    assert not (repo.root / "cases" / "kitchen").exists()
    assert told(repo) == []
    assert "1 file outside the sparse checkout" in notes(repo)
    (repo.root / "cases" / "garden" / "hose.yaml").unlink()
    assert told(repo) == ["vanished-case cases/garden/hose.yaml"]


def both_retire(repo: Repo) -> None:
    """A merge that stopped in the ledger: each branch has retired another case."""
    put(repo, "kettle", "kettle", "where is my kettle?")
    put(repo, "lamp", "lamp", "where is my lamp?")
    repo.commit()
    branch(repo, "topic")
    repo.run("retire", "kettle", "--reason", "sold")
    repo.commit("sold")
    repo.git("checkout", "--quiet", "main")
    repo.run("retire", "lamp", "--reason", "broken")
    repo.commit("broken")
    assert repo.program("git", "merge", "topic").code == 1


def test_a_ledger_in_conflict_is_told_and_no_case_is_missed_because_of_it(repo: Repo) -> None:
    both_retire(repo)
    assert told(repo) == ["conflict-markers cases/retired.yaml"]
    assert told(repo, "--staged") == ["file cases/retired.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["./cases", "cases/", "cases/.", "cases//"])
def test_the_folder_of_cases_is_the_same_however_it_is_written(repo: Repo, folder: str) -> None:
    put(repo, "kettle", "kettle", "where is my kettle?")
    put(repo, "lamp", "lamp", "where is my lamp?")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f'{config}cases: "{folder}"\n')
    repo.commit()
    repo.run("retire", "lamp", "--reason", "broken")
    repo.git("add", "--all")
    for how in ([], ["--staged"], ["cases/kettle.yaml"]):
        assert told(repo, *how) == []
    put(repo, "again", "lamp", "where is my other lamp?")
    repo.git("add", "--all")
    for how in ([], ["--staged"]):
        assert told(repo, *how) == ["retired-id cases/again.yaml"]


@pytest.mark.parametrize("folder", [".", "../elsewhere", "/elsewhere", "a/.."])
def test_a_folder_of_cases_that_is_not_below_the_configuration_is_refused(repo: Repo, folder: str) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f'{config}cases: "{folder}"\n')
    done = repo.run("validate")
    assert done.code == 2
    assert f"cases: '{folder}' is not a folder below the one of agenteval.yaml" in done.out + done.err
