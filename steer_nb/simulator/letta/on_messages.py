"""Endpoints about messages and conversations (chapter 1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steer_nb.simulator.letta import sending
from steer_nb.simulator.letta.asked import Answer
from steer_nb.simulator.letta.listing import messages_of, page
from steer_nb.simulator.letta.requests import read_resume, read_sent
from steer_nb.simulator.letta.stored import letta_messages
from steer_nb.simulator.letta.trouble import Refused, not_found

if TYPE_CHECKING:
    from steer_nb.simulator.letta.asked import Asked, Reply


__all__ = [
    "cancel",
    "cancel_talk",
    "change_conversation",
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
    "talk",
]


def history(asked: Asked, agent_id: str) -> Reply:
    """List what was said in an agent's conversation, the default one if none is named."""
    agent = asked.service.agent(agent_id)
    named = asked.query.text("conversation_id")
    talk = agent.own if named is None else asked.service.conversation(named, agent_id)
    return Answer(messages_of(talk.messages, asked.query, order="desc"))


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
    made = asked.service.add_conversation(agent, asked.object.get("summary"))
    return Answer(made.to_dict())


def conversation(asked: Asked, conversation_id: str) -> Reply:
    """Give one conversation."""
    return Answer(asked.service.conversation(conversation_id).to_dict())


def change_conversation(asked: Asked, conversation_id: str) -> Reply:
    """Change what a conversation is said to be about."""
    talk = asked.service.conversation(conversation_id)
    if "summary" in asked.object:
        talk.summary = asked.object["summary"]
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
    return Answer(messages_of(talk.messages, asked.query, order="desc"))


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


def cancel_talk(asked: Asked, conversation_id: str) -> Reply:
    """Cancel what goes on in a conversation (3.4)."""
    agent_id = asked.query.text("agent_id") or asked.object.get("agent_id")
    talk = asked.service.conversation(conversation_id, agent_id)
    return Answer(sending.cancel_conversation(asked.service, talk, connection=asked.connection))
