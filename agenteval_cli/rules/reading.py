"""Rules that the reader and the schema apply: here they have their names and their reasons."""

from __future__ import annotations

from agenteval_cli.rules.interface import Rule

RULES = (
    Rule(
        name="file",
        summary="a file that cannot be read",
        why="A case that is left out unseen would be a case that nobody misses.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-syntax",
        summary="not YAML",
        why="The place is where the parser could not go on; the mistake is often on the line above.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-empty",
        summary="an empty file",
        why="An empty file is no case. Delete it or write one.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-size",
        summary="a file of more than 10 MB",
        why="Cases are read by people. Give large inputs to the agent with `files`.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-encoding",
        summary="bytes that are not UTF-8",
        why="Another encoding would be read as other characters than those that were written.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-separator",
        summary="an unusual line separator: U+0085, U+2028, U+2029, U+FEFF within the file, a lone carriage return",
        why='Editors and parsers disagree on whether it ends a line. Write it as an escape in "double quotes".',
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-directive",
        summary="a %YAML directive other than 1.2, or a %TAG directive",
        why="They change what the rest of the file means.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-documents",
        summary="a second document in the file",
        why="One case per file: a second one is easily counted by one tool and dropped by another.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-duplicate-key",
        summary="a key that its mapping has already",
        why="Only one of the two can count: half of a case's checks would vanish. Keys are text: 1 and '1' are one.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-merge",
        summary="<< with something that is not a mapping",
        why="A merge key takes over the keys of mappings; there is nothing else it could mean.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-tag",
        summary="a tag other than those of plain data, or one that its value does not fit",
        why="Tags make parsers build objects. Only text, numbers, booleans, null, lists and mappings are read.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-range",
        summary="a number that JSON does not have",
        why="Infinity and NaN equal nothing that an agent could answer. Quote it where text is meant.",
        leaves_no_document=True,
    ),
    Rule(
        name="yaml-number",
        summary="a number that was probably meant as text",
        why="04817 is read as 4817 and 2.10 as 2.1. Quote postcodes, versions and amounts.",
        severity="warning",
    ),
    Rule(
        name="conflict-markers",
        summary="merge conflict markers",
        why="Inside a quoted text they are valid YAML and would become part of the prompt. A case that is about them "
        "says so in a comment: # agenteval: conflict-markers-intended",
        leaves_no_document=True,
    ),
    Rule(
        name="schema",
        summary="not what schemas/case.schema.json allows",
        why="Unknown keys are errors at every level: a misspelt key would be a check that never runs.",
    ),
    Rule(
        name="config",
        summary="something in agenteval.yaml that its schema cannot say is wrong",
        why="A default agent that is not there, or a pattern that is none, would be found only when it is needed.",
    ),
    Rule(
        name="missing-file",
        summary="a file for the agent that is not there, or outside the repository",
        why="The attempt could not be laid out. Paths are relative to the repository root.",
    ),
    Rule(
        name="unknown-fixture",
        summary="a shared fixture, or a tool of one, that is not there",
        why="The agent would be offered other tools than the case was written for.",
    ),
    Rule(
        name="unknown-agent",
        summary="an agent that agenteval.yaml does not have",
        why="The case could not run.",
    ),
)
