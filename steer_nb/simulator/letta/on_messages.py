"""Endpoints about messages and conversations (chapter 1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta import sending
from steer_nb.simulator.letta.asked import Answer
from steer_nb.simulator.letta.listing import messages_of, page
from steer_nb.simulator.letta.requests import read_resume, read_sent
from steer_nb.simulator.letta.stored import letta_messages
from steer_nb.simulator.letta.trouble import Refused, not_found
from steer_nb.simulator.letta.validating import checked

if TYPE_CHECKING:
    from steer_nb.simulator.letta.asked import Asked, Reply
    from steer_nb.simulator.letta.state import Conversation


__all__ = [
    "cancel",
    "cancel_talk",
    "change_conversation",
    "compact_talk",
    "conversation",
    "conversations",
    "drop_conversation",
    "history",
    "make_conversation",
    "message",
    "resume_talk",
    "send",
    "send_async",
    "send_stream",
    "send_talk",
    "summarize",
    "talk",
]


def history(asked: Asked, agent_id: str) -> Reply:
    """List what was said in an agent's conversation, the default one if none is named."""
    agent = asked.service.agent(agent_id)
    named = asked.query.text("conversation_id")
    talk = agent.own if named is None else asked.service.conversation(named, agent_id)
    return Answer(messages_of(talk.listed, asked.query, order="desc"))


def send(asked: Asked, agent_id: str) -> Reply:
    """Send to an agent: JSON, or a stream for clients of version 1 (1)."""
    agent = asked.service.agent(agent_id)
    sent = read_sent(asked.body, streaming=False)
    if sent.options["streaming"] and asked.service.options.sdk_header and not _is_sdk(asked):
        raise Refused(422, "streaming=true is only supported for SDK v1.0+ clients.")
    return sending.send(asked.service, agent.own, sent, named=False, connection=asked.connection)


def send_stream(asked: Asked, agent_id: str) -> Reply:
    """Send to an agent; the answer is a stream whatever the body says."""
    agent = asked.service.agent(agent_id)
    body = asked.body
    if isinstance(body, dict):
        body = {**body, "streaming": True}
    sent = read_sent(body, streaming=True)
    return sending.send(asked.service, agent.own, sent, named=False, connection=asked.connection)


def send_async(asked: Asked, agent_id: str) -> Reply:
    """Send to an agent; the answer is the run, which goes on."""
    agent = asked.service.agent(agent_id)
    body = asked.body
    if isinstance(body, dict):  # what the endpoint does not look at
        body = {name: value for name, value in body.items() if name != "client_tools"}
    sent = read_sent(body, streaming=False)
    return sending.send(
        asked.service,
        agent.own,
        sent,
        named=False,
        connection=asked.connection,
        kind="send_message_async",
    )


def _is_sdk(asked: Asked) -> bool:
    """The header gate: an SDK of version 1 says so, and so may a client without any name (1)."""
    agent = asked.headers.get("user-agent")
    if "x-stainless-package-version" in asked.headers or agent is None:
        return True
    return re.search(r"letta-client/[1-9]", agent) is not None


def cancel(asked: Asked, agent_id: str) -> Reply:
    """Cancel runs of an agent (3.4)."""
    agent = asked.service.agent(agent_id)
    run_ids = asked.object.get("run_ids")
    return Answer(sending.cancel_agent(asked.service, agent, run_ids, connection=asked.connection))


def message(asked: Asked, message_id: str) -> Reply:
    """Give one message: a list of Letta's messages."""
    for agent in asked.service.agents.values():
        for talk in agent.everything:
            for one in talk.messages:
                if one.id == message_id:
                    return Answer(letta_messages(one))
    raise not_found(message_id, kind="Message")


def conversations(asked: Asked) -> Reply:
    """List conversations, the newest first."""
    query = asked.query
    agent_id = query.text("agent_id")
    rows = list(asked.service.conversations.values())
    rows = [one for one in rows if agent_id in (None, one.agent.id)]
    chosen, _ = page(rows, query, limit=50, order="desc")
    return Answer([one.to_dict() for one in chosen])


def make_conversation(asked: Asked) -> Reply:
    """Make a conversation of an agent."""
    agent_id = asked.query.text("agent_id")
    if agent_id is None:
        raise Refused(422, "agent_id is required")
    agent = asked.service.agent(agent_id)
    given, player = asked.object, asked.service.player
    known = None if player is None else player.made(agent)
    if known is not None:
        return Answer(known)
    made = asked.service.add_conversation(agent, given.get("summary"), _model_in(given))
    return Answer(made.to_dict())


def _model_in(given: dict[str, Any]) -> str | None:
    """Read a conversation's own model."""
    model = given.get("model")
    if not model:
        return None
    provider, _, name = str(model).partition("/")
    if not (provider and name):
        msg = "INVALID_ARGUMENT: The model handle should be in the format provider/model-name"
        raise Refused(400, msg)
    return str(model)


def conversation(asked: Asked, conversation_id: str) -> Reply:
    """Give one conversation."""
    player = asked.service.player
    known = None if player is None else player.seen(conversation_id)
    if known is not None:
        return Answer(known)
    return Answer(asked.service.conversation(conversation_id).to_dict())


def change_conversation(asked: Asked, conversation_id: str) -> Reply:
    """Change what a conversation is said to be about."""
    talk = asked.service.conversation(conversation_id)
    given = asked.object
    if "summary" in given:
        talk.summary = given["summary"]
    if "model" in given:
        talk.model = _model_in(given)
    talk.updated = asked.service.now()
    return Answer(talk.to_dict())


def drop_conversation(asked: Asked, conversation_id: str) -> Reply:
    """Delete a conversation."""
    talk = asked.service.conversation(conversation_id)
    del asked.service.conversations[conversation_id]
    del talk.agent.conversations[conversation_id]
    return Answer(None)


def talk(asked: Asked, conversation_id: str) -> Reply:
    """List what was said in a conversation."""
    talk = asked.service.conversation(conversation_id, asked.query.text("agent_id"))
    return Answer(messages_of(talk.listed, asked.query, order="desc"))


def send_talk(asked: Asked, conversation_id: str) -> Reply:
    """Send in a conversation: a stream unless the body says otherwise."""
    sent = read_sent(asked.body, streaming=True)
    talk = asked.service.conversation(conversation_id, sent.options["agent_id"])
    return sending.send(asked.service, talk, sent, named=True, connection=asked.connection)


def resume_talk(asked: Asked, conversation_id: str) -> Reply:
    """Read a background run of a conversation again, by run_id, otid, or the active one (5.3)."""
    wanted = read_resume(asked.body)
    talk = asked.service.conversation(conversation_id, wanted.agent_id)
    return sending.resume(asked.service, wanted, conversation=talk, connection=asked.connection)


def summarize(asked: Asked, agent_id: str) -> Reply:
    """Compact an agent's own conversation; where there is nothing to compact, say what is there."""
    talk = asked.service.agent(agent_id).own
    if all(one.role in ("system", "summary") for one in talk.context):
        known = [one.summary for one in talk.context if one.summary is not None]
        if not known:  # the server's own answer does not bear that there is none
            raise Refused(500, "An unknown error occurred")
        many = len(talk.context)
        return Answer(
            {"summary": known[0], "num_messages_before": many, "num_messages_after": many}
        )
    return Answer(_compacted(asked, talk))


def compact_talk(asked: Asked, conversation_id: str) -> Reply:
    """Compact a conversation (2)."""
    given = asked.object
    if conversation_id == "default" and given.get("agent_id") is None:
        raise not_found(conversation_id, kind="Conversation")
    talk = asked.service.conversation(conversation_id, given.get("agent_id"))
    if not talk.context:
        raise Refused(400, "No in-context messages found for this conversation.")
    return Answer(_compacted(asked, talk))


def _compacted(asked: Asked, talk: Conversation) -> dict[str, Any]:
    given = asked.object.get("compaction_settings")
    checked({} if given is None else given, {})
    done = asked.service.compact(talk, given or {})
    if done is None:
        msg = (
            "Summarization failed to reduce the number of messages. You may not have enough "
            "messages to compact or need to use a different CompactionSettings (e.g. using `all` "
            "mode)."
        )
        raise Refused(400, msg)
    summary, before, after = done
    return {"summary": summary, "num_messages_before": before, "num_messages_after": after}


def cancel_talk(asked: Asked, conversation_id: str) -> Reply:
    """Cancel what goes on in a conversation (3.4)."""
    agent_id = asked.query.text("agent_id") or asked.object.get("agent_id")
    talk = asked.service.conversation(conversation_id, agent_id)
    return Answer(sending.cancel_conversation(asked.service, talk, connection=asked.connection))
