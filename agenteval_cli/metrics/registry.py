"""The metrics by name, in a registry you can read. docs/metrics.md has them all."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agenteval_cli.metrics import (
    answer_relevancy,
    bias,
    coherence,
    conciseness,
    context_retention,
    contextual_precision,
    contextual_recall,
    contextual_relevancy,
    conversation_coherence,
    conversation_resolution,
    correctness,
    faithfulness,
    first_wrong_step,
    hallucination,
    plan_adherence,
    plan_quality,
    retrieval_completeness,
    semantic_similarity,
    task_completion,
    tool_arguments,
    tool_result_use,
    tool_selection,
    topic_drift,
    toxicity,
    trajectory_optimality,
)
from agenteval_cli.metrics.interface import Metric

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        module.METRIC.name: module.METRIC
        for module in (
            answer_relevancy,
            correctness,
            faithfulness,
            hallucination,
            contextual_precision,
            contextual_recall,
            contextual_relevancy,
            retrieval_completeness,
            conciseness,
            coherence,
            toxicity,
            bias,
            semantic_similarity,
            tool_selection,
            tool_arguments,
            tool_result_use,
            task_completion,
            plan_quality,
            plan_adherence,
            trajectory_optimality,
            first_wrong_step,
            conversation_coherence,
            context_retention,
            topic_drift,
            conversation_resolution,
        )
    }
)
