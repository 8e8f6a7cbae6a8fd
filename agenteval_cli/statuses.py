"""How an attempt can end: the one table of what each status means for the case and the run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Status(msgspec.Struct, frozen=True):
    """`counts`: it counts against the case. `incomplete`: it leaves the run incomplete. `retry`: it may be retried."""

    counts: bool
    incomplete: bool
    retry: bool


STATUSES: Mapping[str, Status] = MappingProxyType(
    {
        "passed": Status(counts=False, incomplete=False, retry=False),
        "failed": Status(counts=True, incomplete=False, retry=False),
        "agent_error": Status(counts=True, incomplete=False, retry=True),
        "timeout": Status(counts=True, incomplete=False, retry=True),
        "over_limit": Status(counts=True, incomplete=False, retry=False),
        "ungraded": Status(counts=False, incomplete=True, retry=True),
        "harness_error": Status(counts=False, incomplete=True, retry=True),
        "cancelled": Status(counts=False, incomplete=True, retry=True),
        "skipped": Status(counts=False, incomplete=True, retry=True),
    }
)

GRADED = frozenset(name for name, status in STATUSES.items() if not status.incomplete)
