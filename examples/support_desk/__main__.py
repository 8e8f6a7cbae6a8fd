"""Command line: one JSON request on stdin, one JSON response on stdout, talk on stderr."""

import argparse
import json
import sys
import time

from support_desk.desk import respond
from support_desk.playbook import load_playbook, playbook_names
from support_desk.protocol import BadRequestError, parse_request


def main() -> int:
    options = _options()
    started = time.perf_counter()
    try:
        request = parse_request(sys.stdin.buffer.read())
    except BadRequestError as error:
        print(f"support_desk: bad request: {error}", file=sys.stderr)
        return 2
    response = respond(request, load_playbook(options.playbook))
    response["latency_ms"] = round((time.perf_counter() - started) * 1000, 3)
    print(f"support_desk: answered with playbook {options.playbook}", file=sys.stderr)
    sys.stdout.buffer.write(json.dumps(response, ensure_ascii=False).encode() + b"\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="support_desk", description=__doc__)
    parser.add_argument("--playbook", choices=playbook_names(), default="v1")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
