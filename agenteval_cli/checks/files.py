"""files: what the attempt left in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from agenteval_cli import matchers
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.extraction import strict
from agenteval_cli.file_facts import FileFact
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding


def files(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Each file is there, or is not, and what is in it matches. Without a listing there is no evidence."""
    listing = evidence.transcript.files
    if listing is None:
        return Finding(NO_EVIDENCE, "nothing tells which files the attempt left", check.expected)
    by_path = {normalize("NFC", fact.path): fact for fact in listing}
    unsure: Finding | None = None
    for path, wanted in check.expected.items():
        finding = _of_file(path, wanted, by_path)
        if finding.result == FAILED:
            return finding
        unsure = finding if finding.result == NO_EVIDENCE and unsure is None else unsure
    return unsure or OK


def _of_file(path: str, wanted: Any, by_path: Mapping[str, FileFact]) -> Finding:
    fact = by_path.get(normalize("NFC", path))
    inside = None if fact else next((each for each in by_path if each.startswith(f"{normalize('NFC', path)}/")), None)
    if inside is not None:
        return Finding(FAILED, f"{path} is a folder; it has {inside}", wanted, None)
    if wanted is False:
        return OK if fact is None else Finding(FAILED, f"{path} is there, with {fact.size:,} bytes", wanted, fact.size)
    if fact is None:
        return Finding(FAILED, f"{path} is not there; {_there_are(by_path)}", wanted, None)
    return OK if wanted is True else _content(path, wanted, fact)


def _content(path: str, wanted: Mapping[str, Any], fact: FileFact) -> Finding:
    if "size" in wanted and (difference := matchers.mismatch(wanted["size"], fact.size)):
        return Finding(FAILED, f"{path}: size in bytes: {difference}", wanted["size"], fact.size)
    if "text" not in wanted and "json" not in wanted:
        return OK
    if fact.text is None:
        return Finding(NO_EVIDENCE, f"{path}: its {fact.size:,} bytes are no text, or too many to be kept", wanted)
    if "text" in wanted and (difference := matchers.mismatch(wanted["text"], fact.text)):
        return Finding(FAILED, f"{path}: {difference}", wanted["text"], fact.text[:300])
    return _json(path, wanted, fact.text) if "json" in wanted else OK


def _json(path: str, wanted: Mapping[str, Any], text: str) -> Finding:
    try:
        data = strict(text)
    except ValueError as error:
        return Finding(FAILED, f"{path} is not JSON: {error}", wanted["json"], text[:300])
    difference = matchers.mismatch(wanted["json"], data)
    return Finding(FAILED, f"{path}: {difference}", wanted["json"], data) if difference else OK


def _there_are(by_path: Mapping[str, FileFact]) -> str:
    if not by_path:
        return "the folder is empty"
    names = sorted(by_path)
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}"


def _faults(item: Mapping[str, Any]) -> Faults:
    for path, wanted in item["files"].items():
        if not {"", ".", ".."}.isdisjoint(path.split("/")):
            yield ("files", path), f"'{path}' is not a path from the attempt's folder, as out/report.json"
        for key, matcher in wanted.items() if isinstance(wanted, Mapping) else ():
            yield from matchers.faults(matcher, ("files", path, key))


KINDS = {
    "files": Kind(
        files,
        "the attempt left these files in its folder (`false`: it did not), and what is in them matches",
        frozenset(),
        _faults,
        "bad-matcher",
    )
}
