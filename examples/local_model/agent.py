"""The agent: what it is asked goes to the model with temperature 0.7, so that no two attempts need be the same."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any


def main() -> None:
    request = json.load(sys.stdin)
    messages = [{"role": message["role"], "content": str(message["content"])} for message in request["messages"]]
    if request.get("system_prompt"):
        messages.insert(0, {"role": "system", "content": request["system_prompt"]})
    said = completion({"messages": messages, "temperature": 0.7, "seed": request["seed"], "max_tokens": 60})
    usage = said["usage"]
    answer = {
        "output": said["choices"][0]["message"]["content"],
        "tool_calls": [],
        "model": said["model"],
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }
    json.dump(answer, sys.stdout)


def completion(body: dict[str, Any]) -> Any:
    url = f"{os.environ['MODEL_URL']}/chat/completions"
    raw = json.dumps({"model": "smollm2-135m", **body}).encode()
    request = urllib.request.Request(url, raw, {"content-type": "application/json"})  # noqa: S310  # our own URL
    with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310  # the same
        return json.load(response)


if __name__ == "__main__":
    main()
