"""A stand-in for your agent: it answers questions about shops' opening hours. Put your own in its place."""

import json
import sys

HOURS = {"bergen": "9 to 17", "lyon": "10 to 19"}


def answer(question: str) -> dict[str, object]:
    """The answer to one question, with the tool calls that led to it."""
    city = next((name for name in HOURS if name in question.lower()), None)
    if "open" not in question.lower() and "hours" not in question.lower():
        return {"output": "Hello! Ask me when a shop is open.", "tool_calls": []}
    words = question.rstrip("?.!").split()
    call = {"name": "get_opening_hours", "arguments": {"city": city or words[-1].lower()}}
    if city is None:
        output = "I do not know that shop. We have shops in Bergen and Lyon."
        return {"output": output, "tool_calls": [{**call, "error": {"message": "no such shop"}}]}
    output = f"The shop in {city.capitalize()} is open from {HOURS[city]}."
    return {"output": output, "tool_calls": [{**call, "result": HOURS[city]}]}


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)["input"]), sys.stdout)
