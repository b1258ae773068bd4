"""What a simulator can be told to do differently, in one place.

The questions that OpenAI's documents leave open (chapter 5.8 of the protocol notes, letters a to j)
are options here, each with the documented or likeliest answer as its default. A client should bear
every setting. Letter k, whether a successor names the steers that it carries, is none: no schema
has a field for it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, get_origin, get_type_hints

from steer_nb.errors import InvalidInput
from steer_nb.simulator.values import broken_rule, pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DEFAULT_MODEL", "OptionInfo", "OptionSet", "Options", "list_options", "option"]

DEFAULT_MODEL = "gpt-6-astra"


def option(default: Any, help: str, question: str = "") -> Any:  # noqa: A002 - the word people know
    """Make an option of a default, a sentence, and the open question that it settles."""
    return field(default=default, metadata={"help": help, "question": question})


@dataclass(frozen=True, kw_only=True)
class OptionSet:
    """What the options of every dialect have in common: how they are given."""

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Make options of keyword arguments.

        Raises
        ------
        InvalidInput
            For an unknown name, or a value that is not among the allowed ones.
        """
        hints = get_type_hints(cls)
        for name, value in values.items():
            if name not in hints:
                raise cls._unknown(name, value)
            rule = broken_rule(value, hints[name])
            if rule is not None:
                msg = f"Simulator option {name} must be {rule}, not {value!r}."
                raise InvalidInput(msg, field=name, value=value, rule=rule)
        return cls(**values)

    @classmethod
    def read(cls, texts: Iterable[str]) -> dict[str, Any]:
        """Read ``NAME=VALUE`` as people type it, into keyword arguments for `of`.

        Words are texts, ``none``, ``true`` and ``false`` what they say, numbers numbers; where an
        option takes several words, they stand with commas between them.

        Raises
        ------
        InvalidInput
            A text is no ``NAME=VALUE``, or a name is given twice; and all that `of` says.

        Examples
        --------
        >>> Options.read(["acknowledge=after_terminal", "lane_limit=4", "steerable_models=a,b"])
        {'acknowledge': 'after_terminal', 'lane_limit': 4, 'steerable_models': ('a', 'b')}
        """
        values = pairs(texts, get_type_hints(cls), "Simulator option", cls._unknown)
        cls.of(values)
        return values

    @classmethod
    def _unknown(cls, name: str, value: Any) -> InvalidInput:
        close = difflib.get_close_matches(name, get_type_hints(cls), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        msg = f"The simulator has no option {name!r}.{hint}"
        return InvalidInput(msg, field=name, value=value, rule="a known option")


@dataclass(frozen=True, kw_only=True)
class Options(OptionSet):
    """Limits and open questions of one simulator.

    Examples
    --------
    >>> Options().max_pending_steers
    8
    >>> Options(steer_completed="accept").steer_completed
    'accept'
    """

    # Limits (1.3, 1.4)
    connection_limit_s: float = option(3600.0, "Age in seconds at which a connection is ended.")
    limit_close_code: int | None = option(
        1001, "Close code after the age limit's error event; None leaves the socket open."
    )
    lane_limit: int = option(32, "Distinct stream_ids that one connection may ever use.")
    in_flight_limit: int = option(16, "Responses of one connection that run at once.")
    max_pending_steers: int = option(8, "Steers that may wait on one response.")
    max_message_bytes: int = option(128 * 2**20, "Largest message that is read.")
    stored_responses: int = option(10_000, "Responses kept for previous_response_id (store true).")
    connection_lost: Literal["stop", "go_on"] = option(
        "stop",
        "A stored response that is being written when its connection ends: it stops and is "
        "cancelled, or goes on to its end. What was queued behind it is lost in both cases.",
    )
    input_items: Literal["own", "history"] = option(
        "own", "What GET /responses/{id}/input_items lists: its own input, or all that led to it."
    )

    # Requests (2)
    default_model: str | None = option(
        DEFAULT_MODEL, "Model of a create that names none; None refuses such a create."
    )
    unknown_parameters: Literal["refuse", "ignore"] = option(
        "refuse", "What to do with a create that has a field nobody documents."
    )
    lane_queued: Literal["silent", "event"] = option(
        "silent",
        "A create that waits, in its lane or for a place among those that run: response.queued, "
        "with its response's id, says so at once, or nothing does.",
        "3",
    )
    done_event: bool = option(False, "Send the undocumented response.done after each terminal.")

    # Steering (5)
    steerable_models: tuple[str, ...] = option(
        ("gpt-6",), "Beginnings of the model names that can be steered."
    )
    steer_waiting: Literal["accept", "refuse"] = option(
        "accept", "A steer for a completed response that still waits for the client's results.", "a"
    )
    steer_completed: Literal["accept", "refuse"] = option(
        "refuse", "A steer for a completed response that waits for nothing.", "b"
    )
    steer_limited: Literal["successor", "fail"] = option(
        "successor", "Queued steers of a response that ended at a token or content limit.", "c"
    )
    steer_failed: Literal["fail", "successor"] = option(
        "fail", "Queued steers of a response that failed.", "d"
    )
    successor_order: Literal["first", "tail"] = option(
        "first", "Where an automatic successor goes among creates already queued on its lane.", "e"
    )
    several_steers: Literal["one", "each"] = option(
        "one",
        "Automatic successors of a response with several steers: one carries all of them, or each "
        "steer has its own, one after another.",
        "f",
    )
    missing_output: Literal["keep", "fail"] = option(
        "keep",
        "Queued steers when a continuation lacks a result: kept for a retry, or failed.",
        "g",
    )
    wrong_lane: Literal["error", "fork"] = option(
        "error", "A continuation of a steered parent that names another lane.", "h"
    )
    unknown_target_sequence: int = option(
        0, "sequence_number of response.steer.failed when no response has that id.", "i"
    )
    acknowledge: Literal["at_once", "after_terminal", "after_successor"] = option(
        "at_once", "When response.steer.accepted is written, relative to the parent's end.", "j"
    )
    empty_steer: Literal["refuse", "accept"] = option("refuse", "A steer with empty text.", "5.2")
    async_calls: Literal["free", "block"] = option(
        "free", "Whether unanswered asynchronous calls hold a successor back.", "5.7"
    )
    cut_between_calls: bool = option(
        False, "End a steered response right after its first client-owned call, not after its last."
    )
    steered_reasoning: Literal["finish", "interrupt"] = option(
        "finish",
        "A steer while a reasoning summary is written: it is finished, or broken off, incomplete.",
        "5.4",
    )

    # Several agents (7)
    agents_waiting: Literal["hold", "complete"] = option(
        "hold",
        "A response whose agents all wait for the client: stays open for injects, or completes.",
        "7",
    )
    inject_acknowledge: Literal["at_once", "after_terminal"] = option(
        "at_once", "When response.inject.created is written, relative to the response's end.", "7"
    )
    malformed_inject_close: int | None = option(
        None, "Close code after the error event of a malformed inject; None leaves it open.", "7"
    )

    # Time
    most_deltas: int = option(
        0, "Deltas that one text comes in at most; 0: one for each word, as a model writes."
    )
    replay_patience_s: float = option(
        2.0, "Real seconds that a recording waits where its client steered, for this one to steer."
    )
    fork_start_s: float = option(
        0.0, "Real seconds before a create that continues another lane's response starts."
    )
    breath_s: float = option(
        0.001, "Real seconds at each item boundary when speed is 0, so that a steer can arrive."
    )


@dataclass(frozen=True)
class OptionInfo:
    """One option: its name, default, meaning, allowed words, and the open question it settles."""

    name: str
    default: Any
    help: str
    question: str
    choices: tuple[str, ...]


def list_options(kind: type[OptionSet] = Options) -> list[OptionInfo]:
    """Describe every option, of the Responses dialect or of another.

    Examples
    --------
    >>> [one.name for one in list_options() if one.question == "e"]
    ['successor_order']
    """
    hints = get_type_hints(kind)
    return [
        OptionInfo(
            name=one.name,
            default=one.default,
            help=one.metadata["help"],
            question=one.metadata["question"],
            choices=get_args(hints[one.name]) if get_origin(hints[one.name]) is Literal else (),
        )
        for one in fields(kind)
    ]
