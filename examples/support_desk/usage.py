"""What an answer used: one token for every four characters begun, priced by the playbook."""

import json
from decimal import Decimal

from support_desk.playbook import Prices
from support_desk.protocol import Json, Request


def tokens_in(text: str) -> int:
    return -(-len(text) // 4)


def usage_of(request: Request, prompt: str, output: str, calls: list[Json]) -> dict[str, int]:
    """Read: prompts, messages, documents, tools and results. Written: the answer and the calls."""
    said = [message.content for message in request.messages]
    results = [json.dumps(call["result"], ensure_ascii=False) for call in calls]
    read = [prompt, request.system_prompt, *said, *request.context, request.tools_text, *results]
    made = [json.dumps([call["name"], call["arguments"]], ensure_ascii=False) for call in calls]
    taken = sum(map(tokens_in, read))
    given = sum(map(tokens_in, [output, *made]))
    return {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}


def cost_of(usage: dict[str, int], prices: Prices) -> str:
    cost = usage["input_tokens"] * prices.input_per_1000
    cost += usage["output_tokens"] * prices.output_per_1000
    return str((cost / 1000).quantize(Decimal("0.000001")))
