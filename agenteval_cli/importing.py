"""Documents of other tools made into case files: all of them checked before one is written, none ever overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli import writing, yaml_reader, yaml_writer
from agenteval_cli.authoring import Shelf, refusal
from agenteval_cli.checking import Facts, check
from agenteval_cli.compare import same
from agenteval_cli.composing import refuse_place
from agenteval_cli.document_files import Placed
from agenteval_cli.errors import UsageError
from agenteval_cli.forms import FORMS, Form, Wishes, form_of
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.rules import across
from agenteval_cli.sources import Source

Data = dict[str, Any]

_MOST_SHOWN = 20
# What two documents of one case may differ in: what was observed, and where it comes from.
_BESIDE_THE_CASE = ("recording", "metadata", "provenance", "title")


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A document as a case file: `place` is where the document stands, `file` where the case will."""

    place: str
    form: str
    id: str
    file: str
    data: Data
    raw: bytes


class There(msgspec.Struct, frozen=True, kw_only=True):
    """A document whose case is there already; `differs` where its file says something else by now."""

    place: str
    id: str
    file: str
    differs: bool


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is the same case as one before it, at `first`."""

    place: str
    id: str
    first: str


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What an import comes to; `warnings` are those of the new files."""

    made: tuple[Made, ...]
    there: tuple[There, ...]
    repeated: tuple[Repeated, ...]
    warnings: tuple[Problem, ...]


def import_of(shelf: Shelf, documents: Sequence[Placed], wishes: Wishes, form: str | None, folder: str) -> Import:
    """The case files of the documents, in `folder`, a path from the root; `form` None is told by each one's keys.

    Writes nothing. Raises UsageError with what is wrong with any of them.
    """
    desk = _Desk(shelf, wishes, form, folder)
    for place, document in documents:
        try:
            desk.take(place, document)
        except (TypeError, ValueError, UsageError) as error:
            desk.faults.append(f"{place}: {error}")
    problems = list(_problems_of(shelf, desk.made))
    places = {made.file: made.place for made in desk.made}
    faults = desk.faults + [_told(places[each.file], each) for each in problems if each.severity == "error"]
    if faults:
        more = [f"and {len(faults) - _MOST_SHOWN} more"] if len(faults) > _MOST_SHOWN else []
        raise UsageError("\n  ".join(("nothing was imported:", *faults[:_MOST_SHOWN], *more)))
    warnings = tuple(in_reading_order(problems))
    return Import(made=tuple(desk.made), there=tuple(desk.there), repeated=tuple(desk.repeated), warnings=warnings)


def carry_out(shelf: Shelf, order: Import) -> None:
    """Write the new files. Raises UsageError where one has come to be meanwhile."""
    for made in order.made:
        writing.create(shelf.repository.root / made.file, made.raw)


class _Desk:
    """The documents taken one by one, held against the cases there are and against each other."""

    def __init__(self, shelf: Shelf, wishes: Wishes, form: str | None, folder: str) -> None:
        self.made: list[Made] = []
        self.there: list[There] = []
        self.repeated: list[Repeated] = []
        self.faults: list[str] = []
        self._shelf = shelf
        self._past = msgspec.structs.replace(shelf, facts=())  # those there are now are looked up by ID
        self._holders = {facts.id.casefold(): facts for facts in shelf.facts if facts.id}
        self._wishes = wishes
        self._form = FORMS[form] if form else None
        self._folder = folder
        self._first: dict[str, tuple[str, Data]] = {}

    def take(self, place: str, document: Any) -> None:
        """Raises TypeError, ValueError and UsageError where the document makes no case of this repository."""
        form = self._form or form_of(document)
        data = form.to_case(document, self._wishes)
        folded = data["id"].casefold()
        first = self._first.setdefault(folded, (place, data))
        if first[1] is not data:
            self.repeated.append(_repeat(place, data, first))
        elif folded in self._holders:
            self.there.append(_there(self._shelf.source, place, data, self._holders[folded], form))
        else:
            self.made.append(self._new(place, data, form))

    def _new(self, place: str, data: Data, form: Form) -> Made:
        words = refusal(self._past, data["id"])
        if words is not None:
            raise ValueError(words)
        name = f"{self._folder}/{data['id']}.yaml"
        if (self._shelf.repository.root / name).exists():
            raise ValueError(f"{name} is there already, and is not this case; rename that file")
        refuse_place(self._shelf, name)
        raw = yaml_writer.document(data).encode()
        return Made(place=place, form=form.name, id=data["id"], file=name, data=data, raw=raw)


def _repeat(place: str, data: Data, first: tuple[str, Data]) -> Repeated:
    mine, other = ({k: v for k, v in each.items() if k not in _BESIDE_THE_CASE} for each in (data, first[1]))
    if not same(mine, other):
        raise ValueError(
            f"it has the ID '{data['id']}' of {first[0]}, and is another case; give one of them another ID"
        )
    return Repeated(place=place, id=data["id"], first=first[0])


def _there(source: Source, place: str, data: Data, holder: Facts, form: Form) -> There:
    """A case that was imported before may have been edited since; any other with the ID must be this very one."""
    document = yaml_reader.read(holder.file, source.raw(holder.file)).document
    there = document.data if document is not None and isinstance(document.data, dict) else {}
    differs = not same(data, there)
    provenance = there.get("provenance")
    imported = isinstance(provenance, dict) and provenance.get("source") == form.name
    is_another = there.get("id") != data["id"]  # services tell IDs apart by case
    if differs and document is not None and (is_another or not imported):
        raise ValueError(f"the ID '{data['id']}' is that of {holder.file}, which is another case; IDs are unique")
    return There(place=place, id=data["id"], file=holder.file, differs=differs)


# ---- what `agenteval validate` would say of the new files


def _problems_of(shelf: Shelf, made: Sequence[Made]) -> Iterator[Problem]:
    known: list[Facts] = []
    for each in made:
        facts, document = check(shelf.context, each.file, each.raw)
        known.append(facts)
        yield from facts.problems
        if document is not None and not same(document.data, each.data):
            yield _changed_by_yaml(each.file)
    source = _With(shelf.source, {each.file: each.raw for each in made})
    yield from across.problems_of(source, [*shelf.facts, *known], {each.file for each in made})


def _changed_by_yaml(file: str) -> Problem:
    words = "it cannot be written as a case file without being changed"
    return Problem(file=file, line=1, column=1, rule="file", message=words)


def _told(place: str, problem: Problem) -> str:
    return f"{place}: this makes no valid case: {f'{problem.path}: ' if problem.path else ''}{problem.message}"


class _With:
    """A source with more files, which are not written yet."""

    def __init__(self, source: Source, files: Mapping[str, bytes]) -> None:
        self._source, self._files = source, files

    def raw(self, name: str) -> bytes:
        return self._files[name] if name in self._files else self._source.raw(name)

    def has(self, name: str) -> bool:
        return name in self._files or self._source.has(name)
