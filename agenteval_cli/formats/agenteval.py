"""agenteval: our own response document, as the json protocol has it."""

from __future__ import annotations

from agenteval_cli.formats.source import Source
from agenteval_cli.protocols.json_protocol import one_reading, transcript_in
from agenteval_cli.transcript import Transcript

# Documents of other makers that have an `output` as well: a Responses object, the result of a run of smolagents.
_FOREIGN = ("object", "token_usage", "timing")


class AgentevalFormat:
    """As strict as the json protocol, with the same words for what is wrong."""

    name = "agenteval"

    def detect(self, source: Source) -> bool:
        document = source.document
        return isinstance(document, dict) and "output" in document and not any(key in document for key in _FOREIGN)

    def read(self, source: Source) -> Transcript:
        return transcript_in(one_reading(source.text), bytes_replaced=source.bytes_replaced)


FORMAT = AgentevalFormat()
