"""The table of server events against the official SDK's union."""

from __future__ import annotations

import re

import pytest

from steer_nb.wire import FAMILIES, FAMILY, SERVER_EVENT_TYPES, TERMINAL_TYPES, Event
from steer_nb.wire.catalogue import DONE_FIELD, EXTRA_FAMILY
from tests.support.strict import server_event_classes

BETA = server_event_classes(beta=True)
CLASSES = {**BETA, **server_event_classes()}


def test_every_type_of_the_unions_is_in_the_table_and_no_other() -> None:
    assert frozenset(CLASSES) == SERVER_EVENT_TYPES


def test_the_beta_has_two_events_more_and_an_agent_on_nearly_every_one() -> None:
    assert BETA.keys() - server_event_classes().keys() == {
        "response.inject.created",
        "response.inject.failed",
    }
    without = {kind for kind, cls in BETA.items() if "agent" not in cls.model_fields}
    assert all(kind.startswith(("response.steer.", "response.inject.")) for kind in without)
    assert "agent" in Event.__struct_fields__


def test_families_are_of_the_closed_list() -> None:
    assert set(FAMILY.values()) | {"unknown"} == set(FAMILIES)
    assert set(EXTRA_FAMILY.values()) <= set(FAMILIES)
    assert not EXTRA_FAMILY.keys() & FAMILY.keys()


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_events_carry_every_id_and_index_that_the_sdk_declares(kind: str) -> None:
    fields = CLASSES[kind].model_fields
    named = {name for name in fields if re.search(r"(_id|_index|_number)$", name)}
    carried = named | ({"delta"} & fields.keys())
    carried |= {"response", "item", "part", "error", "steer"} & fields.keys()
    assert carried <= set(Event.__struct_fields__)


@pytest.mark.parametrize("kind", sorted(DONE_FIELD.keys() & CLASSES.keys()))
def test_the_field_with_the_whole_text_is_one_of_the_sdk(kind: str) -> None:
    assert CLASSES[kind].model_fields[DONE_FIELD[kind]].annotation is str


def test_every_delta_of_the_union_has_a_done_with_its_text() -> None:
    deltas = {kind.removesuffix(".delta") for kind in CLASSES if kind.endswith(".delta")}
    without_text = {
        "response.audio",
        "response.audio.transcript",
        "response.shell_call_output_content",
    }
    assert {kind.removesuffix(".done") for kind in DONE_FIELD} >= deltas - without_text


def test_terminal_types() -> None:
    endings = {kind for kind in CLASSES if kind in TERMINAL_TYPES}
    assert endings == {"response.completed", "response.failed", "response.incomplete"}
    assert TERMINAL_TYPES - endings == {"response.done"}
