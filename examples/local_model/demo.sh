#!/usr/bin/env bash
# Thirteen cases, five attempts each, through a model of 135 million parameters that answers, judges, and in one case is
# the user of a conversation, on this machine.
set -euo pipefail
cd "$(dirname "$0")"
: "${AGENTEVAL:=agenteval}" "${PYTHON:=python3}"

log=$(mktemp)
"$PYTHON" serve.py --port 18135 >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$log"' EXIT
for _ in $(seq 100); do
  grep -q '^http' "$log" && break
  kill -0 "$server" 2>/dev/null || { cat "$log" >&2; exit 3; }
  sleep 0.1
done

set +e
"$AGENTEVAL" run "$@"
code=$?
set -e
if [ "$code" -gt 1 ]; then exit "$code"; fi
echo
echo "The model is weak: failures are what it is for. Run it again and see with \`agenteval diff -C examples/local_model\`"
echo "which cases moved, and that none of it is more than noise."
