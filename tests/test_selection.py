"""Narrowing down: tag expressions, owners, conditions, what changed since a ref."""

from __future__ import annotations

import itertools
import json

import pytest
from build import case
from conftest import GOOD_CASE, ROOT, Repo
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.digests import Digests
from agenteval_cli.errors import UsageError
from agenteval_cli.repository import LoadedCase
from agenteval_cli.rules import RULES
from agenteval_cli.selection import sampled
from agenteval_cli.tag_expression import as_term, tag_expression

TAGS = ("a", "b", "c")

expressions = st.recursive(
    st.sampled_from(TAGS),
    lambda inner: st.one_of(
        inner.map(lambda text: f"not {text}" if " " not in text else f"not ({text})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=6,
)


@given(expressions)
def test_an_expression_means_what_python_would_make_of_it(text: str) -> None:
    for count in range(len(TAGS) + 1):
        for tags in itertools.combinations(TAGS, count):
            expected = eval(text, {}, {tag: tag in tags for tag in TAGS})  # noqa: S307  # Python as the reference
            assert tag_expression(text)(tags) == bool(expected)


def test_and_binds_tighter_than_or_and_not_tightest() -> None:
    holds = tag_expression("a or b and not c")
    assert holds(["a", "c"])
    assert holds(["b"])
    assert not holds(["b", "c"])


@given(
    st.text(st.characters(exclude_characters="'"), min_size=1) | st.sampled_from(["not", "(", "needs care", "and", '"'])
)
def test_every_tag_can_be_named(tag: str) -> None:
    term = as_term(tag)
    assert term is not None
    assert tag_expression(term)([tag])
    assert tag_expression(f"a and ({term} and not not {term})")(["a", tag])
    assert not tag_expression(f"not {term}")([tag])
    assert not tag_expression(term)(["", tag + "x"])


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('"needs care"', ["needs care"]),
        ("'needs care' and not slow", ["needs care"]),
        ("""(a or 'it is "so"')""", ['it is "so"']),
        ('not "not"', ["a"]),
        ("don't", ["don't"]),
        ("a and 'b c'or d", ["d"]),
    ],
)
def test_a_tag_of_several_words_stands_in_quotes(text: str, tags: list[str]) -> None:
    assert tag_expression(text)(tags)


def test_a_tag_with_quotes_of_both_kinds_is_named_by_no_expression() -> None:
    assert as_term("""it's "so" """) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a and",
        "not",
        "(a",
        "a)",
        "a b",
        "and",
        "a or or b",
        "()",
        '"a b',
        "'a' 'b'",
        '"a"b',
        '"',
        "a 'b c'",
        "a and'b c'",
        "'tis",
    ],
)
def test_what_is_no_expression_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="write it as: billing and not"):
        tag_expression(text)


@pytest.fixture
def shop(repo: Repo) -> Repo:
    facts = {
        "one": "tags: [billing]\nmetadata: {owner: ana, intent: refund, hard: true}\n",
        "two": "tags: [billing, slow]\nmetadata: {owner: bo, intent: refund, places: [oslo, lyon]}\n",
        "three": "tags: [needs care]\nmetadata: {owner: ana, level: 3}\n",
    }
    for name, more in facts.items():
        repo.case(name, GOOD_CASE + more + f"system_prompt: {name}\n")
    return repo


def listed(repo: Repo, *arguments: str) -> list[str]:
    return [case["id"] for case in repo.run("list", "--json", *arguments).json["cases"]]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (("--tag", "billing and not slow"), ["one"]),
        (("--tag", "not billing"), ["says-hello", "three"]),
        (("--tag", '"needs care" and not slow'), ["three"]),
        (("--owner", "ana"), ["one", "three"]),
        (("--where", "metadata.intent=refund"), ["one", "two"]),
        (("--where", "metadata.hard=true"), ["one"]),
        (("--where", "metadata.level=3"), ["three"]),
        (("--where", "metadata.places=lyon"), ["two"]),
        (("--where", "metadata.intent=refund", "--where", "metadata.owner=bo"), ["two"]),
        (("--owner", "ana", "--tag", "billing", "--tier", "smoke"), ["one"]),
    ],
)
def test_the_list_is_narrowed(shop: Repo, arguments: tuple[str, ...], ids: list[str]) -> None:
    assert listed(shop, *arguments) == ids


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tag", "refund"), "none of the 4 cases is tagged 'refund'"),
        (("--where", "intent"), "--where 'intent' cannot be read; write it as: metadata.intent=refund"),
        (("--owner", "nobody"), "none of the 4 cases is owned by nobody"),
        (("--changed", "HEAD"), "no commit 'HEAD' to compare with"),
    ],
)
def test_a_list_of_nothing_says_why(shop: Repo, arguments: tuple[str, ...], said: str) -> None:
    done = shop.run("list", *arguments)
    assert (done.code, said in done.err) == (2, True), done


def planned(repo: Repo, *arguments: str) -> list[str]:
    return [item["case"] for item in repo.run("run", "--dry-run", "--json", *arguments).json["plan"]]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (("--case", "t*"), ["three", "two"]),
        (("--case", "*E"), ["one", "three"]),
        (("--case", "[ot]?[eo]"), ["one", "two"]),
        (("--case", "one", "--case", "says-*"), ["one", "says-hello"]),
        (("--case", "*", "--tag", "billing"), ["one", "two"]),
    ],
)
def test_cases_are_named_by_patterns_too(shop: Repo, arguments: tuple[str, ...], ids: list[str]) -> None:
    assert sorted(planned(shop, *arguments)) == ids


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--case", "refund-*"), "no case ID is like 'refund-*'"),
        (("--case", "one", "--case", "x?"), "no case ID is like 'x?'"),
        (("--case", "on"), "no case 'on'; did you mean 'one'?"),
        (("--case", "t*", "--owner", "nobody"), "none of the 4 cases is called t* and owned by nobody"),
        (("--sample", "5"), "--sample 5: only 4 cases are selected"),
        (("--sample", "0"), "'--sample': 0 is not in the range x>=1"),
        (("--failed", "latest"), "there is no finished run"),
        (("--failed", "nobody"), "'nobody' is no run ID, `latest`, `previous`, folder of a run, or git ref"),
    ],
)
def test_a_run_of_nothing_is_a_usage_error(shop: Repo, arguments: tuple[str, ...], said: str) -> None:
    done = shop.run("run", *arguments)
    assert (done.code, said in done.err, shop.runs()) == (2, True, []), done


def test_what_did_not_pass_can_be_run_again(shop: Repo) -> None:
    """A case that failed and one that was never graded; one that has gone since is left out."""
    shop.case("two", GOOD_CASE.replace("contains: hello", "contains: goodbye"))
    shop.case("three", GOOD_CASE + "system_prompt: x\ntrajectory: {max_repeats: 1}\nlimits: {tokens: 5}\n")
    shop.case("gone", GOOD_CASE.replace("contains: hello", "contains: bye") + "system_prompt: y\n")
    assert shop.run("run").code == 1
    (shop.root / "cases/gone.yaml").unlink()
    assert sorted(planned(shop, "--failed", "latest")) == ["three", "two"]
    assert planned(shop, "--failed", shop.runs()[0].name, "--case", "tw*") == ["two"]
    shop.case("two")
    (shop.root / "cases/three.yaml").unlink()
    assert shop.run("run", "--failed", "latest").code == 0
    done = shop.run("run", "--failed", "latest")
    assert done.code == 2
    assert "nothing selected: none of the 3 cases is failed in run latest" in done.err


def test_a_sample_is_drawn_by_the_seed(repo: Repo) -> None:
    for number in range(12):
        repo.case(f"case-{number:02}", GOOD_CASE + f"system_prompt: s{number}\n")
    drawn = {tuple(planned(repo, "--sample", "4", "--seed", str(seed))) for seed in range(4)}
    assert len(drawn) > 1
    assert all(len(ids) == 4 and list(ids) == sorted(ids) for ids in drawn)
    assert planned(repo, "--sample", "4", "--seed", "3") == planned(repo, "--sample", "4", "--seed", "3")
    every = repo.run("run", "--sample", "13", "--dry-run", "--json", "--seed", "1").json
    assert len(every["plan"]) == 13
    assert every["seed"] == 1


@given(st.lists(st.integers(0, 99), unique=True, min_size=1), st.data())
def test_a_sample_does_not_depend_on_the_order_of_files(numbers: list[int], data: st.DataObject) -> None:
    cases = [LoadedCase(case(id=f"case-{number}"), Digests("1:", "1:", "1:")) for number in numbers]
    size = data.draw(st.integers(1, len(cases)))
    drawn = sampled(cases, size, 7)
    mixed = sampled(data.draw(st.permutations(cases)), size, 7)
    assert len(drawn) == size
    assert {each.case.id for each in drawn} == {each.case.id for each in mixed}
    assert [each for each in cases if each in drawn] == drawn


def test_changed_cases_are_those_whose_digests_differ(shop: Repo) -> None:
    shop.write("given.txt", "one")
    shop.write("fixtures/shop.yaml", "schema: 1\nid: shop-tools\ntools: [{name: look}]\n")
    shop.case("with-file", GOOD_CASE + "files: [given.txt]\n")
    shop.case("with-tools", GOOD_CASE + "system_prompt: x\ntools: [{use: shop-tools}]\n")
    shop.commit()
    assert shop.run("list", "--changed", "HEAD").code == 2
    shop.case(
        "one", "# a comment\n" + (shop.root / "cases/one.yaml").read_text(encoding="utf-8") + "title: New title\n"
    )
    shop.git("mv", "cases/two.yaml", "cases/moved.yaml")
    shop.case("three", GOOD_CASE + "  - not_contains: zebra\nsystem_prompt: three\n")
    shop.case("new", GOOD_CASE + "system_prompt: new\n")
    shop.write("given.txt", "two")
    shop.write("fixtures/shop.yaml", "schema: 1\nid: shop-tools\ntools: [{name: look, description: around}]\n")
    assert sorted(listed(shop, "--changed", "HEAD")) == ["new", "three", "with-file", "with-tools"]
    plan = shop.run("run", "--changed", "main", "--tag", "not billing", "--dry-run", "--json").json["plan"]
    assert {item["case"] for item in plan} == {"new", "three", "with-file", "with-tools"}


def test_a_ref_that_a_shallow_clone_lacks_comes_with_the_command_that_brings_it(shop: Repo) -> None:
    shop.commit("one")
    shop.commit("two")
    clone = shop.root.parent / "clone"
    shop.git("clone", "--quiet", "--depth=1", f"file://{shop.root}", str(clone))
    done = shop.run("list", "--changed", "HEAD~1", cwd=clone)
    assert (done.code, "the clone is shallow: `git fetch --unshallow`" in done.err) == (2, True)


def test_show_resolves_fixtures_and_tells_the_history_of_the_file(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop-tools\ntools: [{name: look, description: Look around}]\n")
    repo.case(
        "says-hello",
        GOOD_CASE + "tools: [{use: shop-tools}]\nvariables: [{name: who, value: Ada}]\nsystem_prompt: 'Hi {{who}}'\n",
    )
    repo.commit("the first one")
    repo.git("mv", "cases/says-hello.yaml", "cases/moved.yaml")
    repo.commit("moved")
    shown = repo.run("show", "says-hello", "--json").json
    assert shown["case"]["tools"] == [{"name": "look", "description": "Look around"}]
    assert shown["case"]["system_prompt"] == "Hi Ada"
    assert [entry["subject"] for entry in shown["history"]] == ["moved", "the first one"]
    assert "the first one" in repo.run("show", "says-hello").out


def test_a_schema_can_be_printed_and_editors_be_told(repo: Repo) -> None:
    printed = repo.run("schema", "case").json
    assert printed == json.loads((ROOT / "schemas" / "case.schema.json").read_text(encoding="utf-8"))
    repo.write(".vscode/settings.json", '{"editor.rulers": [120], "yaml.schemas": {"x": "y"}}')
    done = repo.run("schema", "--install")
    assert "wrote .agenteval/schemas/case.schema.json" in done.out
    settings = json.loads((repo.root / ".vscode/settings.json").read_text(encoding="utf-8"))
    assert settings["editor.rulers"] == [120]
    assert settings["yaml.schemas"]["x"] == "y"
    assert settings["yaml.schemas"]["./.agenteval/schemas/config.schema.json"] == "agenteval.yaml"
    assert repo.run("schema", "nothing").code == 2


def test_editor_settings_with_comments_are_left_alone(repo: Repo) -> None:
    path = repo.write(".vscode/settings.json", "// mine\n{}\n")
    done = repo.run("schema", "--install")
    assert path.read_text(encoding="utf-8") == "// mine\n{}\n"
    assert "was left alone; add these settings to it" in done.err
    assert json.loads(done.out[done.out.index("{") :])["yaml.yamlVersion"] == "1.2"


def test_the_page_about_rules_is_what_the_rules_say() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    rows = [
        f"| `{rule.name}` | {rule.severity} | {rule.summary} | {rule.why} |".replace("||", "|")
        for rule in RULES.values()
    ]
    missing = [row for row in rows if row not in page]
    assert missing == []
