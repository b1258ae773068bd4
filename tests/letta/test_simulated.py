"""A Letta server that the session starts itself."""

from __future__ import annotations

import pytest

import steer_nb
from steer_nb import errors
from steer_nb.simulator.letta import LettaSimulator
from tests.letta.stage import PATIENCE


def connect(**options):
    return steer_nb.connect(letta=True, journal=False, quiet=True, **options)


@pytest.mark.parametrize(
    ("wanted", "scenario"), [(True, "files"), ("parallel", "parallel"), (None, "story")]
)
def test_it_is_started_and_ends_with_the_session(wanted, scenario):
    given = LettaSimulator("story", speed=0) if wanted is None else wanted
    with connect(simulate=given) as session:
        simulator = session.simulator
        assert simulator.running
        assert simulator.scenario.name == scenario
        assert scenario in repr(session)
        assert "None" not in session._repr_html_()
        assert session.url == simulator.base_url
    assert not simulator.running


@pytest.mark.parametrize("wanted", ["files", LettaSimulator("story"), LettaSimulator().scenario])
def test_one_that_plays_letta_is_asked_for_with_letta(wanted):
    with pytest.raises(errors.ScenarioError, match="plays a Letta server: connect with letta=True"):
        steer_nb.connect(simulate=wanted, journal=False, quiet=True)


def test_a_lane_speaks_with_its_agent_where_it_names_none(monkeypatch):
    monkeypatch.setenv("LETTA_BASE_URL", "http://letta.example.org")
    monkeypatch.setenv("LETTA_API_KEY", "sk-let-secret")
    with connect(simulate=LettaSimulator(speed=0)) as session:
        agent = session.simulator.agent_id
        lane, own = session.lane("a"), session.lane("own", conversation="default")
        assert lane.settings["agent"] == own.settings["agent"] == agent
        talk = lane.settings["conversation"]
        lane.close()
        lane = session.lane("again", conversation=talk)
        assert lane.settings["agent"] == agent
        lane.create("delete /srv/old.log")
        assert lane.wait(PATIENCE) == "waiting_input"
        asked = [one for one in session.simulator.account if one["kind"] == "request"]
        assert asked
        assert "secret" not in str(asked)


def test_a_server_that_is_not_played_names_its_agents(serve):
    session, _ = serve()
    with pytest.raises(errors.InvalidInput, match="has no agent"):
        session.lane("a")


@pytest.mark.parametrize("more", [{"url": "http://x"}, {"client": object()}])
def test_it_goes_with_no_other_place(more):
    with pytest.raises(errors.InvalidInput, match="do not go together"):
        connect(simulate=True, **more)


def test_a_url_is_not_played():
    with pytest.raises(errors.InvalidInput, match="simulate and letta do not go together"):
        steer_nb.connect(letta="http://127.0.0.1:9", simulate=True, journal=False)


def test_it_is_played_again_after_a_recovery(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    simulator = LettaSimulator("parallel", speed=0)
    session = steer_nb.connect(letta=True, simulate=simulator, quiet=True)
    session.lane("old")
    session.close()
    again = steer_nb.recover(quiet=True)
    assert again.simulator.scenario.name == "parallel"
    assert again.lane("new").settings["agent"] == again.simulator.agent_id
    again.lanes["new"].create("Tidy up.")
    assert again.lanes["new"].wait(PATIENCE) == "waiting_input"
    again.close()
