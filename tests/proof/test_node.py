"""The official Node SDK (`openai` with `ws`, from npm) runs its own suite against the simulator.

The suite is in ``node/``, in JavaScript. Each of its tests is one here. What passed on the wire is
checked strictly afterwards, against the types of both SDKs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from steer_nb.simulator import Say, Simulator, scenario
from tests.proof.checks import check_tap, code_of, is_refusal
from tests.proof.fields import FIELDS
from tests.proof.node_sdk import SUITE, need, version_of
from tests.proof.scripts import MURMUR, UNKNOWN, calls_and_waits_for_two, hangs_up, waits_long
from tests.proof.sdk import KEY
from tests.proof.typescript import check_types
from tests.proof.typescript import errors as compiler_errors
from tests.simulator.scripts import waits
from tests.support.tap import Tap

pytestmark = [pytest.mark.node, pytest.mark.slow]

NAMES = [
    name
    for file in sorted(SUITE.glob("*.test.mjs"))
    for name in re.findall(r"^test\('(.+?)', async", file.read_text("utf-8"), re.MULTILINE)
]

# What the suite sends on purpose although its SDK has no type for it.
RAW = ["{", '{"type":"response.cancel","response_id":"resp_1"}']

# And what some simulators send on purpose although no SDK has a type for it.
UNKNOWN_TO_SDKS = {"murmur": {UNKNOWN}, "done": {"response.done"}}

BETA = {"agents", "waiting agents"}


@scenario("hour", "Lets an hour pass when it is told so.")
def hour(turn):
    yield Say(f"You said: {turn.prompt}")
    if turn.prompt == "An hour passes.":
        hour_simulator.advance(3600)


hour_simulator = Simulator(hour, speed=0, api_key=KEY)


def simulators():
    options = {"speed": 0, "api_key": KEY}
    scenarios = ["planner", "weather", "custom", "computer", "shell", "patch", "tools", "approval"]
    made = {name: Simulator(name, **options) for name in (*scenarios, "seven", "failures")}
    made["wait"] = Simulator(waits, **options)
    made["patient"] = Simulator(waits_long, **options)
    made["two"] = Simulator(calls_and_waits_for_two, **options)
    made["hang up"] = Simulator(hangs_up, **options)
    made["one steer"] = Simulator("weather", max_pending_steers=1, **options)
    closed = "refuse_handshake at=2"
    made["one closed door"] = Simulator(hangs_up, faults=[closed], **options)
    made["closed doors"] = Simulator(hangs_up, faults=[f"{closed} times=none"], **options)
    made["small messages"] = Simulator("planner", max_message_bytes=10_000, **options)
    made["murmur"] = Simulator(hangs_up, faults=[MURMUR], **options)
    made["done"] = Simulator("planner", done_event=True, **options)
    made["agents"] = Simulator("agents", **options)
    made["waiting agents"] = Simulator("agents", agents_waiting="complete", **options)
    made["hour"] = hour_simulator
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run the suite once: `outcomes` by name, the `taps`, and the refusals it `expected`."""
    node, modules = need()
    place = tmp_path_factory.mktemp("node")
    for file in SUITE.glob("*.mjs"):
        shutil.copy(file, place)
    (place / "node_modules").symlink_to(modules)
    refused, report = place / "refused", place / "report"
    refused.touch()
    with contextlib.ExitStack() as stack:
        taps = {
            name: stack.enter_context(Tap(stack.enter_context(simulator)))
            for name, simulator in simulators().items()
        }
        done = subprocess.run(
            [
                str(node),
                "--test",
                "--test-timeout=60000",
                "--test-reporter=./report.mjs",
                f"--test-reporter-destination={report}",
                *sorted(file.name for file in SUITE.glob("*.test.mjs")),
            ],
            cwd=place,
            env={
                "PATH": os.environ["PATH"],
                "KEY": KEY,
                "FIELDS": json.dumps(FIELDS),
                "REFUSED": str(refused),
                "SIMULATORS": json.dumps({name: tap.base_url for name, tap in taps.items()}),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    outcomes = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    print(f"openai {version_of('openai', modules)} from npm, {node}")
    return SimpleNamespace(
        node=node,
        modules=modules,
        taps=taps,
        outcomes={outcome["name"]: outcome for outcome in outcomes},
        expected=[str(json.loads(line)) for line in refused.read_text("utf-8").splitlines()],
        output=done.stdout + done.stderr,
    )


@pytest.mark.parametrize("name", NAMES)
def test_suite(run, name):
    assert name in run.outcomes, run.output
    error = run.outcomes[name]["error"]
    assert error is None, error


def test_nothing_else_ran(run):
    assert sorted(run.outcomes) == sorted(NAMES)


def test_events_and_requests_are_as_the_python_sdk_says(run):
    """Strictly; and nothing was refused but what the suite expected."""
    refused = list(run.expected)
    events = 0
    for name, tap in run.taps.items():
        received = [event for link in tap.links for event in link.received]
        codes = [code_of(event) for event in received if is_refusal(event)]
        unknown = UNKNOWN_TO_SDKS.get(name, ())
        events += check_tap(tap, refused=codes, raw=RAW, unknown=unknown, beta=name in BETA)
        for code in codes:
            assert code in refused, code
            refused.remove(code)
    assert refused == []
    assert events > 2000


def test_events_and_requests_are_as_the_node_sdk_says(run, tmp_path):
    """By its own TypeScript declarations, excess fields included."""
    for beta in (False, True):
        taps = [tap for name, tap in run.taps.items() if (name in BETA) is beta]
        links = [link for tap in taps for link in tap.links]
        known = set().union(*UNKNOWN_TO_SDKS.values())
        events = [e for link in links for e in link.received if e["type"] not in known]
        requests = [json.loads(text) for link in links for text in link.sent if text not in RAW]
        place = tmp_path / ("beta" if beta else "ga")
        place.mkdir()
        check_types(run.node, run.modules, place, events=events, requests=requests, beta=beta)


def test_what_is_wrong_is_found_by_the_compiler(run, tmp_path):
    link = max(run.taps["planner"].links, key=lambda link: len(link.sent))
    created = next(event for event in link.received if event["type"] == "response.created")
    request = json.loads(link.sent[0])
    wrong = [
        {**created, "surprise": 1},
        {**created, "sequence_number": "0"},
        {**created, "response": {**created["response"], "surprise": 1}},
        {**created, "response": {**created["response"], "status": "going"}},
        {name: value for name, value in created.items() if name != "response"},
        {**created, "type": "response.going"},
    ]
    errors = compiler_errors(
        run.node, run.modules, tmp_path, events=wrong, requests=[{**request, "surprise": 1}]
    )
    lines = {line.split(",")[0] for line in errors.splitlines() if line.startswith("messages.mts(")}
    assert len(lines) == len(wrong) + 1, errors
