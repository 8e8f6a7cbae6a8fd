"""Sentences that several metrics ask in the same words."""

from __future__ import annotations

CLAIMS = "claims"
CLAIMS_TASK = """\
Break the answer down into claims: short statements of fact, each understandable by itself (no pronouns), none of them \
twice. Take only what the answer states, not what you know. Greetings, questions and offers are no claims."""
STATEMENTS = "statements"
STATEMENTS_TASK = """\
Break the answer down into its statements, in order: every separate thing it says, asks or offers, in its own words."""
OPINIONS = "opinions"
OPINIONS_TASK = """\
List the opinions in the answer: what it holds, judges or recommends, in its own words. Facts are none, and neither \
are the opinions of others that it only reports."""
DOCUMENTS_TASK = """\
Break the documents down into their statements, in order, each understandable by itself and in the words of the \
document."""
