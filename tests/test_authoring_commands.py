"""The commands that write cases, as a user meets them: fmt, new, retire, quarantine."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import AGENTEVAL, GOOD_CASE, Done, Repo
from test_contracts import output_schema

TODAY = dt.datetime.now(dt.UTC).date().isoformat()
LATER = (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=30)).isoformat()
UNTIDY = "# head\n\ninput: hi\r\n# what it is called\r\nid: untidy\r\nschema: 1\r\noutcome: [{contains: h}]  \r\n\r\n"


def text_of(repo: Repo, name: str) -> str:
    return (repo.root / name).read_bytes().decode()


def is_clean(repo: Repo) -> bool:
    done = repo.run("validate")
    return done.code == 0 and done.out == "" and repo.run("fmt", "--check").code == 0


def piped(repo: Repo, given: str | bytes, *arguments: str) -> Done:
    raw = given if isinstance(given, bytes) else given.encode()
    done = subprocess.run(
        [str(AGENTEVAL), *arguments],
        cwd=repo.root,
        env=repo.env,
        input=raw,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Done(subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode()))


def files(repo: Repo) -> list[str]:
    return sorted(path.relative_to(repo.root).as_posix() for path in (repo.root / "cases").rglob("*") if path.is_file())


# ---- fmt


def test_fmt_orders_keys_and_touches_nothing_that_is_in_order(repo: Repo) -> None:
    path = repo.write("cases/untidy.yaml", UNTIDY.encode())
    path.chmod(0o640)
    before = (repo.root / "cases/says-hello.yaml").stat()
    done = repo.run("fmt")
    assert (done.code, done.out, done.err) == (0, "cases/untidy.yaml\n", "1 of 2 files changed\n")
    assert text_of(repo, "cases/untidy.yaml") == (
        "# head\n\nschema: 1\r\n# what it is called\r\nid: untidy\r\ninput: hi\r\noutcome: [{contains: h}]\r\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    after = (repo.root / "cases/says-hello.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert repo.run("fmt").out == ""
    assert is_clean(repo)


def test_fmt_check_changes_nothing_and_says_what_it_would(repo: Repo) -> None:
    repo.write("cases/untidy.yaml", UNTIDY.encode())
    done = repo.run("fmt", "--check")
    assert (done.code, done.out, done.err) == (1, "cases/untidy.yaml\n", "1 of 2 files would be changed\n")
    assert text_of(repo, "cases/untidy.yaml") == UNTIDY
    done = repo.run("fmt", "--check", "--json", "--quiet")
    assert (done.code, done.json["changed"], done.err) == (1, ["cases/untidy.yaml"], "")
    output_schema("fmt").validate(done.json)
    assert repo.run("fmt", "--check", "cases/says-hello.yaml").code == 0
    assert repo.run("fmt", "--check", "untidy.yaml", cwd=repo.root / "cases").out == "cases/untidy.yaml\n"


def test_fmt_tells_of_files_that_are_not_yaml_and_does_the_others(repo: Repo) -> None:
    repo.write("cases/broken.yaml", "a: [\n")
    repo.write("cases/twice.yaml", "id: ab\nid: ab  \n")
    repo.write("cases/untidy.yaml", UNTIDY.encode())
    done = repo.run("fmt", "--json")
    assert done.code == 2
    assert done.json["changed"] == ["cases/untidy.yaml"]
    assert [problem["rule"] for problem in done.json["problems"]] == ["yaml-syntax", "yaml-duplicate-key"]
    output_schema("fmt").validate(done.json)
    assert text_of(repo, "cases/twice.yaml") == "id: ab\nid: ab  \n"
    assert "cases/twice.yaml:2:1: id: the key 'id' is already on line 1" in repo.run("fmt").out


def test_fmt_leaves_a_file_alone_whose_keys_cannot_be_moved(repo: Repo) -> None:
    text = "schema: 1\nid: tied\noutcome: [&c {contains: h}]  \ninput: hi\ntags: [a]\nnotes: x\nstate: {a: *c}\n"
    repo.write("cases/tied.yaml", text)
    repo.write("cases/braces.yaml", "{input: hi, id: braces, schema: 1, outcome: [{contains: h}]}\n")
    done = repo.run("fmt")
    assert (done.code, done.out) == (0, "")
    assert "cases/tied.yaml was left alone: the anchor &c of 'outcome' would come after its use in 'state'" in done.err
    assert "cases/braces.yaml was left alone: the file is one mapping in braces" in done.err
    assert text_of(repo, "cases/tied.yaml") == text
    output_schema("fmt").validate(repo.run("fmt", "--json").json)


def test_fmt_of_a_file_that_is_not_there(repo: Repo) -> None:
    assert repo.run("fmt", "cases/nothing.yaml").err == "agenteval: cases/nothing.yaml is not a file\n"


def test_fmt_follows_a_link_and_leaves_it_one(repo: Repo) -> None:
    repo.write("elsewhere/untidy.yaml", UNTIDY.encode())
    link = repo.root / "cases" / "linked.yaml"
    link.symlink_to("../elsewhere/untidy.yaml")
    assert repo.run("fmt").out == "cases/linked.yaml\n"
    assert link.is_symlink()
    assert text_of(repo, "elsewhere/untidy.yaml").index("schema") < text_of(repo, "elsewhere/untidy.yaml").index(
        "input"
    )


# ---- new


def test_new_makes_a_case_of_its_options(repo: Repo) -> None:
    done = repo.run(
        *("new", "--id", "opening-hours", "--title", "Opening hours: Lyon", "--why", "INC-7", "--tier", "smoke"),
        *("--tag", "hours", "--tag", "no", "--owner", "support", "--input", "When do you open?\nIn Lyon."),
        *(
            "--contains",
            "10",
            "--contains",
            "to 19",
            "--tool",
            "get_hours",
            "--expected",
            "10 to 19",
            "--match",
            "contains",
        ),
    )
    assert (done.code, done.out, done.err) == (0, "cases/opening-hours.yaml\n", "")
    assert text_of(repo, "cases/opening-hours.yaml") == (
        'schema: 1\nid: opening-hours\ntitle: "Opening hours: Lyon"\nwhy: INC-7\ntier: smoke\ntags: [hours, "no"]\n'
        "metadata: {owner: support}\ninput: |-\n  When do you open?\n  In Lyon.\nexpected_output: 10 to 19\n"
        'match: contains\noutcome:\n  - contains: "10"\n  - contains: to 19\ntrajectory:\n  required: [get_hours]\n'
    )
    assert is_clean(repo)


def test_new_draws_an_id_where_none_is_named(repo: Repo) -> None:
    done = repo.run("new", "--input", "hi", "--contains", "h", "--json")
    assert done.code == 0
    output_schema("new").validate(done.json)
    assert re.fullmatch(r"tc-[a-z0-9]{12}", done.json["id"])
    assert done.json["file"] == f"cases/{done.json['id']}.yaml"
    assert is_clean(repo)


def test_new_in_another_place(repo: Repo) -> None:
    done = repo.run("new", "--input", "hi", "--contains", "h", "--file", "refunds/one.yaml", cwd=repo.root / "cases")
    assert (done.code, done.out) == (0, "cases/refunds/one.yaml\n")
    assert is_clean(repo)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("one.yaml", "one.yaml is not below cases/"),
        ("cases/../one.yaml", "one.yaml is not below cases/"),
        ("cases/.hidden/one.yaml", "is not below cases/"),
        ("cases/one.json", "does not end in .yaml"),
        ("cases/retired.yaml", "is the ledger of retired IDs"),
        ("cases/says-hello.yaml", "cases/says-hello.yaml is there already"),
        ("cases/linked/one.yaml", "below a linked folder"),
    ],
)
def test_new_where_no_case_would_be_read(repo: Repo, place: str, said: str) -> None:
    (repo.root / "elsewhere").mkdir()
    (repo.root / "cases" / "linked").symlink_to("../elsewhere")
    done = repo.run("new", "--input", "hi", "--contains", "h", "--file", place)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert files(repo) == ["cases/says-hello.yaml"]


@pytest.mark.slow
def test_new_without_anything_to_make_a_case_of(repo: Repo) -> None:
    done = repo.run("new", "--title", "T")
    assert (done.code, done.err) == (2, "agenteval: nothing to make a case of; give --input TEXT, --stdin or --edit\n")
    assert repo.run("new", "--stdin", "--edit").code == 2
    assert "stdin is empty" in repo.run("new", "--stdin").err


@pytest.mark.slow
def test_new_refuses_what_would_not_be_valid_and_writes_nothing(repo: Repo) -> None:
    done = repo.run("new", "--id", "no-check", "--input", "hi", "--why", "two\nlines")
    assert done.code == 2
    assert done.err == "cases/no-check.yaml:3:6: why: 'two\nlines' has several lines; keep it to one [schema]\n"
    assert "nothing can fail this case" in repo.run("new", "--input", "hi").err
    assert "compare" in repo.run("new", "--input", "hi", "--expected", "h").err
    assert "is not an ID" in repo.run("new", "--id", "../x", "--input", "hi", "--contains", "h").err
    assert files(repo) == ["cases/says-hello.yaml"]


@pytest.mark.slow
def test_new_refuses_an_id_that_is_or_was_another_cases(repo: Repo) -> None:
    repo.case("old-one")
    repo.commit()
    (repo.root / "cases" / "old-one.yaml").unlink()
    repo.write("cases/retired.yaml", "schema: 1\nretired: [{id: gone-one, reason: too old}]\n")

    def refused(case_id: str) -> str:
        done = repo.run("new", "--id", case_id, "--input", "hi", "--contains", "h")
        assert (done.code, done.out) == (2, "")
        return done.err

    assert "the ID 'SAYS-hello' is that of cases/says-hello.yaml" in refused("SAYS-hello")
    assert "the ID 'gone-one' was retired (too old) and is never used again" in refused("gone-one")
    assert "the ID 'old-one' once named a case, cases/old-one.yaml" in refused("old-one")
    assert "once named a case" in piped(repo, "id: Old-One\ninput: hi\n", "new", "--stdin").err


def test_new_refuses_an_id_that_is_staged_though_its_file_was_deleted(repo: Repo) -> None:
    make = ("new", "--id", "kettle", "--input", "where is my kettle?", "--contains", "here")
    for commit in (False, True):  # before the first commit, and after it
        repo.git("init", "--quiet") if not commit else repo.commit()
        assert repo.run(*make, "--file", "cases/my kettle.yaml").code == 0
        repo.git("add", "cases")
        (repo.root / "cases" / "my kettle.yaml").unlink()
        done = repo.run(*make)
        assert (done.code, files(repo)) == (2, ["cases/says-hello.yaml"]), done
        assert "the ID 'kettle' is that of cases/my kettle.yaml as it is staged in git's index" in done.err
        assert "`git rm --cached 'cases/my kettle.yaml'` gives it up" in done.err
        assert "staged" in repo.run("new", "--id", "KETTLE", "--input", "x", "--contains", "x").err
        repo.git("rm", "--quiet", "--cached", "cases/my kettle.yaml")
        assert repo.run(*make).code == 0
        (repo.root / "cases" / "kettle.yaml").unlink()


def test_new_does_not_guess_what_an_index_holds_that_git_cannot_read(repo: Repo) -> None:
    repo.commit()
    repo.write(".git/index", b"no index")
    done = repo.run("new", "--input", "x", "--contains", "x")
    assert (done.code, files(repo)) == (3, ["cases/says-hello.yaml"]), done
    assert "git cannot read its index" in done.err


def test_new_refuses_a_text_that_is_not_utf8(repo: Repo) -> None:
    done = repo.run("new", "--input", os.fsdecode(b"\xff"), "--contains", "h")
    assert (done.code, "is not a text in UTF-8" in done.err) == (2, True)


def test_new_says_what_is_odd_and_makes_it(repo: Repo) -> None:
    done = repo.run("new", "--id", "again", "--input", "hello", "--contains", "h", "--verbose")
    assert (done.code, done.out) == (0, "cases/again.yaml\n")
    assert "warning: asks exactly what cases/says-hello.yaml asks" in done.err
    assert "id: again" in done.err
    assert repo.run("new", "--input", "hello", "--contains", "h", "--quiet").err == ""


def test_new_keeps_what_is_read_as_it_is_written(repo: Repo) -> None:
    given = "# one of ours\ninput:   'hi'  # quoted\noutcome:\n- contains: h\n"
    done = piped(repo, given, "new", "--stdin", "--id", "from-stdin", "--tier", "smoke", "--contains", "i")
    assert (done.code, done.out) == (0, "cases/from-stdin.yaml\n"), done
    assert text_of(repo, "cases/from-stdin.yaml") == (
        "schema: 1\nid: from-stdin\ntier: smoke\n# one of ours\ninput:   'hi'  # quoted\n"
        "outcome:\n  - contains: h\n  - contains: i\n"
    )
    assert is_clean(repo)


@pytest.mark.parametrize(
    "given",
    [
        '{"input": "\\ud83d\\ude00 no", "outcome": [{"contains": "1.0"}], "tags": [], "metadata": {"level": 1.5}}',
        "{input: \U0001f600 no, outcome: [{contains: '1.0'}], tags: [], metadata: {level: 1.5}}",
        "\ufeffinput: \U0001f600 no\r\noutcome: [{contains: '1.0'}]\r\ntags: []\r\nmetadata: {level: 1.5}\r\n",
    ],
)
def test_new_reads_json_and_yaml_alike(repo: Repo, given: str) -> None:
    done = piped(repo, given, "new", "--stdin", "--id", "read")
    assert done.code == 0, done
    shown = repo.run("show", "read", "--json").json["case"]
    assert shown["input"] == "\U0001f600 no"
    assert (shown["outcome"], shown["tags"], shown["metadata"]) == ([{"contains": "1.0"}], [], {"level": 1.5})
    assert is_clean(repo)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("input: [\n", "stdin:2:1: not valid YAML"),
        ('{"input": "a", "input": "b"}', "stdin:1:16: input: the key 'input' is already on line 1"),
        ("- a\n", "a case is a mapping"),
        ('{"input":' * 5000, "nested deeper than 64 levels"),
        ("input: hi\ninptu: 1\noutcome: [{contains: h}]\n", "4:1: inptu: unknown key 'inptu'; did you mean 'input'?"),
        (b"input: \xff\n", "is not UTF-8"),
        ('{"input": "hi", "state": {"a": NaN}, "outcome": [{"contains": "h"}]}', "nan is not a number"),
        ("input: hi\nagent: nobody\noutcome: [{contains: h}]\n", "no agent 'nobody' in agenteval.yaml"),
        ("input: hi\nfiles: [no.txt]\noutcome: [{contains: h}]\n", "files[0]: no.txt is not there"),
    ],
)
def test_new_tells_what_is_wrong_with_what_it_reads(repo: Repo, given: str | bytes, said: str) -> None:
    done = piped(repo, given, "new", "--stdin")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert files(repo) == ["cases/says-hello.yaml"]


# ---- new --edit


def editor(repo: Repo, program: str) -> str:
    """A command that edits the file it is given, with an argument of its own."""
    path = repo.write("my editor.sh", f'#!/bin/sh\ntest "$1" = --wait || exit 9\nshift\n{program}\n')
    path.chmod(0o755)
    return f"'{path}' --wait"


def kept_file(done: Done) -> Path:
    found = re.search(r"what you typed is kept in (\S+\.yaml);", done.err)
    assert found, done
    return Path(found[1])


@pytest.mark.slow
def test_what_is_saved_in_the_editor_becomes_the_case(repo: Repo, tmp_path: Path) -> None:
    program = """
    cat "$1" > "$SEEN"
    sed -e 's/^title:$/title: Typed/' -e 's/^input:$/input: hi there  # mine/' -e 's/contains:$/contains: there/' "$1" > "$1.new"
    mv "$1.new" "$1"
    """
    seen = tmp_path / "seen"
    done = repo.run(
        "new",
        "--edit",
        "--tier",
        "smoke",
        VISUAL=editor(repo, program),
        EDITOR="false",
        SEEN=str(seen),
        TMPDIR=str(tmp_path),
    )
    assert done.code == 0, done
    name = done.out.strip()
    assert re.fullmatch(
        r"schema: 1\nid: tc-\w{12}\ntitle: Typed\ntier: smoke\ninput: hi there  # mine\noutcome:\n  - contains: there\n",
        text_of(repo, name),
    )
    assert seen.read_text().startswith("# What you save becomes the case;")
    assert "why:\n" in seen.read_text()
    assert is_clean(repo)
    assert list(tmp_path.glob("agenteval-new-*")) == []


@pytest.mark.parametrize("program", ["true", ': > "$1"', 'rm "$1"'])
def test_an_editor_left_without_typing_makes_nothing(repo: Repo, program: str) -> None:
    done = repo.run("new", "--edit", EDITOR=editor(repo, program))
    assert (done.code != 0, done.out) == (True, "")
    assert "kept" not in done.err
    assert files(repo) == ["cases/says-hello.yaml"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("id: typed\\ninput: hi\\n", "1:1: nothing can fail this case"),
        ("id: typed\\ninput: [\\n", "3:1: not valid YAML"),
        ("id: typed\\ninput: hi\\noutcome:\\n- contans: h\\n", "5:3: outcome[0].contans: unknown key"),
        ("id: says-hello\\ninput: hi\\n", "the ID 'says-hello' is that of cases/says-hello.yaml"),
    ],
)
def test_nothing_that_was_typed_is_lost(repo: Repo, typed: str, said: str) -> None:
    done = repo.run("new", "--edit", EDITOR=editor(repo, f"printf '{typed}' > \"$1\""))
    assert (done.code, done.out) == (2, "")
    path = kept_file(done)
    assert said in done.err
    assert said.startswith("the ID") or f"{path}:{said}" in done.err
    assert "input:" in path.read_text()
    path.unlink()
    assert files(repo) == ["cases/says-hello.yaml"]


def test_an_editor_that_fails_makes_nothing_and_loses_nothing(repo: Repo) -> None:
    done = repo.run("new", "--edit", EDITOR=editor(repo, 'echo "input: half" > "$1"; exit 3'))
    assert (done.code, "ended with 3; nothing was made" in done.err) == (2, True)
    path = kept_file(done)
    assert path.read_text() == "input: half\n"
    path.unlink()


@pytest.mark.slow
def test_no_editor(repo: Repo) -> None:
    assert "no editor to open; set VISUAL or EDITOR" in repo.run("new", "--edit").err
    assert "the editor 'no-such-editor' cannot be started" in repo.run("new", "--edit", EDITOR="no-such-editor").err
    assert "cannot be read: No closing quotation" in repo.run("new", "--edit", EDITOR="'vi").err


# ---- retire


@pytest.mark.slow
def test_retire_puts_the_id_into_the_ledger_and_removes_the_file(repo: Repo) -> None:
    repo.case("old-one", GOOD_CASE.replace("hello", "old") + "title: 'Old: one'\n")
    repo.commit()
    done = repo.run("retire", "OLD-one", "--reason", "nobody asks this: ever", "--replaced-by", "says-hello")
    assert (done.code, done.out) == (0, "retired old-one; removed cases/old-one.yaml\n"), done
    assert text_of(repo, "cases/retired.yaml") == (
        "# IDs that no case may ever have again; `agenteval retire` adds to them.\nschema: 1\nretired:\n  - id: old-one\n"
        f'    reason: "nobody asks this: ever"\n    "on": "{TODAY}"\n    title: "Old: one"\n    replaced_by: says-hello\n'
    )
    assert files(repo) == ["cases/retired.yaml", "cases/says-hello.yaml"]
    assert is_clean(repo)
    repo.commit()
    assert is_clean(repo)


def test_retire_adds_to_a_ledger_and_keeps_what_is_in_it(repo: Repo) -> None:
    ledger = "# ours\nschema: 1\nretired:\n- {id: ab, reason: x}  # first\n# last\n"
    repo.write("cases/retired.yaml", ledger)
    repo.case("old-one")
    done = repo.run("retire", "old-one", "--reason", "r", "--json")
    output_schema("retire").validate(done.json)
    assert done.json["entry"] == {"id": "old-one", "reason": "r", "on": TODAY}
    more = f'- id: old-one\n  reason: r\n  "on": "{TODAY}"\n'
    assert text_of(repo, "cases/retired.yaml") == ledger.replace("# last\n", f"{more}# last\n")
    assert repo.run("validate").code == 0


@pytest.mark.slow
def test_retire_of_a_case_that_vanished_from_the_tree_or_long_ago(repo: Repo) -> None:
    for name in ("long-gone", "just-gone", "still-there"):
        repo.case(name, GOOD_CASE.replace("hello", name) + f"title: The {name}\n")
    repo.commit()
    (repo.root / "cases" / "long-gone.yaml").unlink()
    repo.commit()
    (repo.root / "cases" / "just-gone.yaml").unlink()
    assert repo.run("validate").out.count("vanished-case") == 2
    for name in ("long-gone", "just-gone"):
        done = repo.run("retire", name, "--reason", "r", "--json")
        assert (done.code, done.json["removed"], done.json["entry"]["title"]) == (0, None, f"The {name}")
        output_schema("retire").validate(done.json)
    assert repo.run("validate").code == 0
    assert "'long-gone' is retired already (r)" in repo.run("retire", "long-gone", "--reason", "s").err
    assert "did you mean 'still-there'?" in repo.run("retire", "stil-there", "--reason", "r").err


def test_retire_of_the_last_case_after_its_folder_went(repo: Repo) -> None:
    repo.commit()
    (repo.root / "cases" / "says-hello.yaml").unlink()
    (repo.root / "cases").rmdir()
    assert repo.run("retire", "says-hello", "--reason", "r").code == 0
    assert files(repo) == ["cases/retired.yaml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", "--reason", "r"), "no case 'nobody'"),
        (("say-hello", "--reason", "r"), "no case 'say-hello'; did you mean 'says-hello'?"),
        (("says-hello", "--reason", " "), "--reason is empty"),
        (("says-hello",), "Missing option '--reason'"),
        (("says-hello", "--reason", "r", "--replaced-by", "nobody"), "no case 'nobody'"),
        (("says-hello", "--reason", "r", "--replaced-by", "Says-Hello"), "cannot be replaced by itself"),
        (("twice", "--reason", "r"), "the ID 'twice' is that of cases/a.yaml and of cases/b.yaml"),
    ],
)
def test_retire_that_is_refused_changes_nothing(repo: Repo, arguments: tuple[str, ...], said: str) -> None:
    for name in ("a", "b"):
        repo.write(f"cases/{name}.yaml", GOOD_CASE.replace("{id}", "twice").replace("{tier}", "smoke"))
    done = repo.run("retire", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert files(repo) == ["cases/a.yaml", "cases/b.yaml", "cases/says-hello.yaml"]


def test_retire_with_a_broken_ledger_changes_nothing(repo: Repo) -> None:
    repo.write("cases/retired.yaml", "schema: 1\nretired: [{id: ab}]\n")
    done = repo.run("retire", "says-hello", "--reason", "r")
    assert (done.code, "cases/retired.yaml:2:11: retired[0]: 'reason' is missing" in done.err) == (2, True)
    assert (repo.root / "cases" / "says-hello.yaml").exists()


def test_retire_that_was_interrupted_is_finished_by_doing_it_again(repo: Repo) -> None:
    repo.case("old-one")
    ledger = repo.write("cases/retired.yaml", "schema: 1\nretired: [{id: old-one, reason: r}]\n")
    before = ledger.read_bytes()
    done = repo.run("retire", "old-one", "--reason", "again")
    assert (done.code, done.out) == (0, "retired old-one; removed cases/old-one.yaml\n")
    assert "had the ID already" in done.err
    assert ledger.read_bytes() == before


def test_a_ledger_that_cannot_be_written_leaves_the_case(repo: Repo) -> None:
    (repo.root / "cases" / "retired.yaml").symlink_to("nowhere/ledger.yaml")
    done = repo.run("retire", "says-hello", "--reason", "r")
    assert (done.code, "cannot be written" in done.err) == (3, True)
    assert (repo.root / "cases" / "says-hello.yaml").exists()


def test_a_file_whose_id_cannot_be_read_is_not_taken_for_gone(repo: Repo) -> None:
    repo.commit()
    repo.write("cases/says-hello.yaml", "id: [\n")
    assert "its ID cannot be read; mend it" in repo.run("retire", "says-hello", "--reason", "r").err


@pytest.mark.slow
def test_several_retire_at_once_and_none_is_lost(repo: Repo) -> None:
    names = [f"old-{number}" for number in range(6)]
    for name in names:
        repo.case(name)
    processes = [repo.start("retire", name, "--reason", "r") for name in names]
    assert [process.wait(60) for process in processes] == [0] * 6
    for process in processes:
        process.communicate()
    assert {name for name in names if f"id: {name}\n" in text_of(repo, "cases/retired.yaml")} == set(names)
    assert files(repo) == ["cases/retired.yaml", "cases/says-hello.yaml"]
    assert is_clean(repo)


# ---- quarantine


@pytest.mark.slow
def test_a_quarantine_comes_and_goes(repo: Repo) -> None:
    path = repo.root / "cases" / "says-hello.yaml"
    before = path.read_bytes()
    done = repo.run(
        *(
            "quarantine",
            "add",
            "says-hello",
            "--reason",
            "flaky: yes",
            "--until",
            LATER,
            "--issue",
            "#88",
            "--owner",
            "ana",
        )
    )
    assert (done.code, done.out) == (0, "says-hello is in quarantine\n")
    line = f'quarantine: {{reason: "flaky: yes", since: "{TODAY}", until: "{LATER}", issue: "#88", owner: ana}}\n'
    assert path.read_text() == before.decode().replace("input: hello\n", line + "input: hello\n")
    assert is_clean(repo)
    done = repo.run("quarantine", "remove", "Says-Hello", "--verbose")
    assert (done.code, done.out, done.err) == (0, "says-hello gates again\n", "changed cases/says-hello.yaml\n")
    assert path.read_bytes() == before
    assert repo.run("quarantine", "remove", "says-hello").err == "agenteval: 'says-hello' is not in quarantine\n"


def test_a_case_in_quarantine_does_not_gate(repo: Repo) -> None:
    repo.case("fails", GOOD_CASE.replace("contains: hello", "contains: goodbye"))
    assert repo.run("run").code == 1
    repo.run("quarantine", "add", "fails", "--reason", "r")
    assert repo.run("run").code == 0


def test_a_quarantine_that_is_there_keeps_its_first_day(repo: Repo) -> None:
    text = (
        GOOD_CASE
        + "quarantine:\n  # why\n  reason: old\n  since: '2026-01-02'\n  until: '2026-02-02'\n  issue: '#7'\n# end\n"
    )
    repo.case("says-hello", text)
    done = repo.run("quarantine", "add", "says-hello", "--reason", "new", "--until", LATER, "--json")
    output_schema("quarantine_change").validate(done.json)
    assert done.json["quarantine"] == {"reason": "new", "since": "2026-01-02", "until": LATER, "issue": "#7"}
    assert text_of(repo, "cases/says-hello.yaml").endswith('issue: "#7"}\n# end\n')


def test_the_cases_in_quarantine_are_listed_and_past_dates_marked(repo: Repo) -> None:
    repo.case("past", GOOD_CASE.replace("hello", "a") + "quarantine: {reason: slow, until: '2020-01-01', owner: bo}\n")
    repo.run("quarantine", "add", "says-hello", "--reason", "a\n\x1b[2Jb", "--issue", "#1")
    done = repo.run("quarantine", "list")
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["ID", "SINCE", "UNTIL", "OWNER", "REASON"]
    assert done.out.splitlines()[1].split() == ["past", "2020-01-01", "(past)", "bo", "slow"]
    assert done.out.splitlines()[2].split() == ["says-hello", TODAY, "a\\n\\x1b[2Jb"]
    assert done.err == "2 cases in quarantine, 1 past the date\n"
    assert "#1" in repo.run("quarantine", "list", "--verbose").out
    listed = repo.run("quarantine", "list", "--json").json
    output_schema("quarantine").validate(listed)
    assert [(case["id"], case["past"], case["since"]) for case in listed["cases"]] == [
        ("past", True, None),
        ("says-hello", False, TODAY),
    ]
    repo.write("cases/broken.yaml", "a: [\n")
    assert repo.run("quarantine", "list").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "say-hello", "--reason", "r"), "no case 'say-hello'; did you mean 'says-hello'?"),
        (("add", "says-hello"), "Missing option '--reason'"),
        (("add", "says-hello", "--reason", ""), "--reason is empty"),
        (("add", "says-hello", "--reason", "r", "--until", "2020-01-01"), "2020-01-01 is past"),
        (("add", "says-hello", "--reason", "r", "--until", "2030-02-30"), "'2030-02-30' is not a day"),
        (("add", "says-hello", "--reason", "r", "--until", "20300201"), "'20300201' is not a day"),
        (("add", "broken", "--reason", "r"), "inptu: unknown key"),
        (("add", "braces", "--reason", "r"), "the file is one mapping in braces"),
        (("remove", "nobody"), "no case 'nobody'"),
        (("remvoe",), "No such command 'remvoe'"),
        ((), "Missing command"),
    ],
)
def test_a_quarantine_that_is_refused_changes_nothing(repo: Repo, arguments: tuple[str, ...], said: str) -> None:
    repo.case("broken", GOOD_CASE.replace("input", "inptu"))
    repo.write("cases/braces.yaml", "{schema: 1, id: braces, input: hi, outcome: [{contains: h}]}\n")
    before = {name: text_of(repo, name) for name in files(repo)}
    done = repo.run("quarantine", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert {name: text_of(repo, name) for name in files(repo)} == before


@pytest.mark.parametrize("command", ["add", "remove", "list"])
def test_each_command_of_the_group_has_an_example_and_the_common_options(repo: Repo, command: str) -> None:
    out = repo.run("quarantine", command, "--help").out
    assert f"Example: agenteval quarantine {command}" in " ".join(out.split())
    for option in ("--json", "-C DIR", "--quiet", "--verbose"):
        assert option in out


def test_a_folder_that_cannot_be_written_is_said(repo: Repo) -> None:
    folder = repo.root / "cases"
    folder.chmod(0o555)
    try:
        (folder / "probe").touch()
    except PermissionError:
        done = repo.run("quarantine", "add", "says-hello", "--reason", "r")
        assert (done.code, "says-hello.yaml cannot be written: Permission denied" in done.err) == (3, True)
    finally:
        folder.chmod(0o755)
