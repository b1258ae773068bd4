"""Endpoints about runs (chapter 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta import sending
from steer_nb.simulator.letta.asked import Answer
from steer_nb.simulator.letta.listing import messages_of, page
from steer_nb.simulator.letta.models import described
from steer_nb.simulator.letta.requests import read_resume
from steer_nb.simulator.letta.state import ORGANIZATION

if TYPE_CHECKING:
    from steer_nb.simulator.letta.asked import Asked, Reply
    from steer_nb.simulator.letta.run import Run


__all__ = [
    "active_runs",
    "resume_run",
    "run",
    "run_messages",
    "run_steps",
    "run_usage",
    "runs",
]


def runs(asked: Asked) -> Reply:
    """List runs, the newest first; the query chooses."""
    query = asked.query
    active = query.flag("active")
    statuses = query.texts("statuses") or ([] if not active else ["created", "running"])
    agents = query.texts("agent_ids") or query.texts("agent_id")
    talk, background = query.text("conversation_id"), query.flag("background")
    rows = [
        one
        for one in asked.service.runs.values()
        if (not statuses or one.status in statuses)
        and (agents is None or one.agent.id in agents)
        and talk in (None, one.conversation.name)
        and background in (None, one.background)
        and query.text("stop_reason") in (None, one.stop_reason)
    ]
    chosen, _ = page(rows, query, limit=100, order="desc")
    return Answer([one.to_dict() for one in chosen])


def active_runs(asked: Asked) -> Reply:
    """List the runs that are at work."""
    return Answer([one.to_dict() for one in asked.service.runs.values() if one.active])


def run(asked: Asked, run_id: str) -> Reply:
    """Give one run."""
    return Answer(asked.service.run(run_id).to_dict())


def run_messages(asked: Asked, run_id: str) -> Reply:
    """List what a run said, and what it was told."""
    run = asked.service.run(run_id)
    rows = [one for one in run.conversation.listed if one.run_id == run.id]
    return Answer(messages_of(rows, asked.query, order="asc"))


def run_usage(asked: Asked, run_id: str) -> Reply:
    """Give what a run cost."""
    usage = asked.service.run(run_id).usage
    return Answer(
        {
            "completion_tokens": usage.completion,
            "prompt_tokens": usage.prompt,
            "total_tokens": usage.completion + usage.prompt,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
        }
    )


def run_steps(asked: Asked, run_id: str) -> Reply:
    """List the calls of the model that a run made."""
    run = asked.service.run(run_id)
    chosen, _ = page(run.steps, asked.query, limit=100, order="desc")
    return Answer([_step(run, one) for one in chosen])


def _step(run: Run, step: Any) -> dict[str, Any]:
    config = described(step.model, run.agent.window)["llm_config"]
    return {
        "id": step.id,
        "origin": None,
        "organization_id": ORGANIZATION,
        "provider_id": None,
        "run_id": run.id,
        "agent_id": run.agent.id,
        "provider_name": "openai",
        "provider_category": config["provider_category"],
        "model": config["model"],
        "model_handle": config["handle"],
        "model_endpoint": config["model_endpoint"],
        "context_window_limit": config["context_window"],
        "completion_tokens": step.completion,
        "prompt_tokens": step.prompt,
        "total_tokens": step.prompt + step.completion,
        "cached_input_tokens": None,
        "cache_write_tokens": None,
        "reasoning_tokens": None,
        "completion_tokens_details": None,
        "prompt_tokens_details": None,
        "stop_reason": step.stop_reason,
        "tags": [],
        "tid": None,
        "trace_id": None,
        "request_id": None,
        "messages": [],
        "feedback": None,
        "project_id": None,
        "error_type": None,
        "error_data": None,
        "status": step.status,
    }


def resume_run(asked: Asked, run_id: str) -> Reply:
    """Read a background run again, from behind a frame (5.3)."""
    wanted = read_resume(asked.body)
    return sending.resume(asked.service, wanted, run_id=run_id, connection=asked.connection)
