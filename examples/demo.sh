#!/usr/bin/env bash
# The main job from end to end: validate the cases, run two versions of an agent, see what the change broke.
set -euo pipefail
cd "$(dirname "$0")/.."
agenteval=${AGENTEVAL:-agenteval}

step() { printf '\n$ agenteval %s\n' "$*"; }
# A run whose cases fail ends with 1: here that is the point, and anything above 1 is not.
may_fail() { "$agenteval" "$@" || { code=$?; [ "$code" -eq 1 ] || exit "$code"; }; }

step validate
"$agenteval" validate
step run --tier smoke
"$agenteval" run --tier smoke
step "run                        # all cases, version 1 of the agent"
may_fail run
step "run --agent support-v2     # the same cases, version 2: \"shorter answers, more checks, less memory\""
may_fail run --agent support-v2
step diff
may_fail diff

cat <<'END'

That was a change of a prompt: it mended some cases and broke others. Type next:

  .venv/bin/agenteval show order-of-a-neighbour --run latest      what the agent said and did
  .venv/bin/agenteval run --case order-of-a-neighbour --attempts 10   is it noise?
  .venv/bin/agenteval init ~/my-cases                            start your own
END
