"""Lanes that wait for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.widgets.forming import get_weather, waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session


@pytest.fixture
def weather() -> Iterator[tuple[Session, Lane]]:
    session, lane = waiting("weather", tools=[get_weather])
    yield session, lane
    session.close()


@pytest.fixture
def seven() -> Iterator[tuple[Session, Lane]]:
    session, lane = waiting("seven", tools=[get_weather])
    yield session, lane
    session.close()
