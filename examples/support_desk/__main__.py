"""Command line: one JSON request on stdin, one JSON response on stdout, talk on stderr."""

import argparse
import json
import os
import sys
import time

from support_desk.desk import respond
from support_desk.offices import office_for
from support_desk.playbook import load_playbook, playbook_names
from support_desk.protocol import BadRequestError, parse_request
from support_desk.tools import ToolError


def main() -> int:
    options = _options()
    started = time.perf_counter()
    try:
        request = parse_request(sys.stdin.buffer.read())
    except BadRequestError as error:
        print(f"support_desk: bad request: {error}", file=sys.stderr)
        return 2
    try:
        office = office_for(request, os.environ, over_mcp=options.mcp)
    except ToolError as error:
        print(f"support_desk: the tool server cannot be used: {error}", file=sys.stderr)
        return 1
    response = respond(request, load_playbook(options.playbook), office)
    response["latency_ms"] = round((time.perf_counter() - started) * 1000, 3)
    print(f"support_desk: answered with playbook {options.playbook}", file=sys.stderr)
    sys.stdout.buffer.write(json.dumps(response, ensure_ascii=False).encode() + b"\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="support_desk", description=__doc__)
    parser.add_argument("--playbook", choices=playbook_names(), default="v1")
    parser.add_argument("--mcp", action="store_true", help="use a tool server as an MCP server, not over plain HTTP")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
