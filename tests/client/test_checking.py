"""Asking the service what became of the unknown: over real sockets, through a line that is cut."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
from typing import Any

import pytest

import steer_nb
from steer_nb import connect, errors
from steer_nb.client import asking
from steer_nb.client.endpoint import of_url
from steer_nb.client.reconnecting import NEVER, Reconnect
from steer_nb.simulator import AwaitSteer, CallFunction, Say, Simulator, scenario
from steer_nb.trace import load
from tests.crash.proxy import Cut, Proxy
from tests.support.traces import message, response
from tests.widgets.forming import cut

SOON = Reconnect(attempts=5, first_s=0.01, longest_s=0.05, rotate_s=None)
KEY = "sk-test-4711-4711"


@scenario("slowly", "Writes two parts and asks for the weather; two steers would shorten the wait.")
def slowly(turn):
    if turn.steers or turn.results:
        yield Say(f"Done. {' '.join([*turn.steers, *(r.text for r in turn.results.values())])}")
        return
    yield Say(f"You said: {turn.prompt}")
    if "wait" in turn.prompt:
        yield AwaitSteer(0.7, 2)
        yield CallFunction("get_weather", {"city": "Lisbon"})


@scenario("steered", "Waits for two steers, and says what they were.")
def steered(turn):
    yield Say("One. " + " ".join(turn.steers))
    if turn.prompt == "Go." and not turn.steers:
        yield AwaitSteer(20, 2)
        yield Say("Two.")


@contextlib.contextmanager
def stage(script, cut=None, reconnect=SOON, journal=False, **options):
    """A simulator, a line to it, and a session on that line."""
    cuts = () if cut is None else (cut,)
    options.setdefault("speed", 0)
    api_key = options.get("api_key")
    with Simulator(script, **options) as simulator, Proxy(simulator.url, *cuts) as proxy:
        session = connect(
            proxy.base_url, quiet=True, journal=journal, reconnect=reconnect, api_key=api_key
        )
        try:
            yield session, proxy, simulator
        finally:
            session.close()


def lose(session, proxy):
    """Cut the line, and wait until the next one is there."""
    number = session.read(lambda ledger: len(ledger.connections))
    proxy.cut_now()
    session.until(
        lambda ledger: True if len(ledger.connections) > number else None, 10, lambda: "no socket"
    )


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)
    return found


def asked(simulator):
    return [
        (entry["response_id"], entry["what"])
        for entry in simulator.account
        if entry["kind"] == "retrieval"
    ]


def written(simulator):
    """Everything that a client sent, but for questions."""
    return [
        entry.get("body") or entry["input"]
        for entry in simulator.account
        if entry["kind"] in ("request", "steer")
    ]


def begun(session):
    """A lane with one answer, whose second response has written its first part."""
    lane = session.lane("trip")
    lane.create("Hello.").wait(10)
    second = lane.create("Please wait.")
    until(lambda: lane.state == "running" and "wait" in lane.text)
    return lane, second


def same_when_loaded(session, tmp_path):
    """What is folded live is what is folded from a file."""
    loaded = load(session.trace.save(tmp_path / "again.jsonl"))
    for table in ("responses", "steers", "items", "required_inputs", "problems"):
        assert loaded.frames.table(table).equals(session.trace.frames.table(table)), table


def test_a_response_that_went_on_is_taken_whole(tmp_path):
    with stage(slowly, connection_lost="go_on") as (session, proxy, simulator):
        lane, second = begun(session)
        lose(session, proxy)
        sent = written(simulator)
        first = lane.check()
        assert first.asked == (lane.responses[0].id, second.id)
        if second.status == "truncated":
            assert f"{second.id} is still being written, says the service" in str(first)
            assert not first
        until(lambda: second.status == "completed" or lane.check())
        assert second.status == "completed"
        assert f"{second.id} was cut off, and ended there: completed" in lane.recovery.truth[1]
        assert lane.recovery.choices[0].base == second.id
        assert written(simulator) == sent, "asking changes nothing"
        lane.recover()
        assert lane.wait(10) == "waiting_input"
        (needed,) = lane.required_input
        lane.fill(needed.key, output="18")
        assert lane.send_continuation().wait(10).text == "Done. 18"
        same_when_loaded(session, tmp_path)
        assert not lane.check().asked
        assert str(lane.check()) == "Nothing was asked. Nothing is unknown."


def test_a_response_that_was_stopped_is_left(tmp_path):
    with stage(slowly) as (session, proxy, _):
        lane, second = begun(session)
        lose(session, proxy)
        until(lambda: lane.check() or second.status == "cancelled")
        assert second.status == "cancelled"
        assert lane.recovery.choices[0].base == lane.responses[0].id
        lane.recover("continue")
        again = second.send_again()
        assert again.wait(10).status == "completed"
        same_when_loaded(session, tmp_path)


def steer_twice(session, first="Shorter.", second="In euros.", queued=None):
    lane = session.lane("trip")
    lane.create("Go.")
    until(lambda: lane.state == "running")
    behind = None if queued is None else lane.create(queued)
    return lane, behind, lane.steer(first), lane.steer(second)


def test_what_went_through_and_was_sent_again_is_said():
    options = {"acknowledge": "after_successor"}
    place = Cut(place_of_successor(**options), "after")
    with stage(steered, place, **options) as (session, *_):
        lane, _, one, two = steer_twice(session)
        until(lambda: session.read(lambda ledger: len(ledger.connections)) == 2)
        lane.recover("leave")
        again = one.send_again()
        lane.wait(10)
        done = lane.check()
        successor = one.successor_id
        said = f"{one.key} is committed, in {successor}, and was sent again as {again.key}."
        assert said in done.settled
        assert f"{two.key} is committed, in {successor}." in done.settled


def place_of_successor(queued=None, **options):
    """The number of the message that begins the successor, both directions counted together."""
    with stage(steered, **options) as (session, proxy, _):
        lane, *_ = steer_twice(session, queued=queued)
        assert lane.wait(10) == "idle"
        kinds = [json.loads(passed.text)["type"] for passed in proxy.passed]
        first = kinds.index("response.created")
        return kinds.index("response.created", first + 1) + 1


@pytest.mark.parametrize("scope", ["own", "history"])
@pytest.mark.parametrize("texts", [("Shorter.", "In euros."), ("More.", "More.")])
def test_steers_are_found_in_what_their_successor_was_given(scope, texts, tmp_path):
    # Were the successor cut off with its connection, both could be sent again.
    options = {
        "acknowledge": "after_successor",
        "input_items": scope,
        "connection_lost": "go_on",
    }
    place = Cut(place_of_successor(**options), "after")
    with stage(steered, place, journal=tmp_path / "j", **options) as (session, _, simulator):
        lane, _, one, two = steer_twice(session, *texts)
        until(lambda: session.read(lambda ledger: len(ledger.connections)) == 2)
        assert [one.state, two.state] == ["unknown", "unknown"]
        assert session.status()["to_decide"] == ["lane trip", one.key, two.key]
        done = lane.check()
        assert [one.state, two.state] == ["committed", "committed"]
        successor = lane.responses[-1]
        assert one.successor_id == two.successor_id == successor.id
        assert f"{one.key} is committed, in {successor.id}." in done.settled
        assert (successor.id, "input_items") in asked(simulator)
        fates = [e["fate"] for e in simulator.account if e["kind"] == "steer"]
        assert fates == ["committed", "committed"], "as the service has it"
        with pytest.raises(errors.LaneBusy, match="is committed"):
            one.send_again()
        same_when_loaded(session, tmp_path)
        assert "sent again" not in str(done)
        last = [entry for entry in load(session.journal_path) if entry.note == "checked"]
        assert last[-1].data["input_items"], "it is on the disk"


@pytest.mark.parametrize("scope", ["own", "history"])
@pytest.mark.parametrize("order", ["first", "tail"])
def test_which_of_two_it_was_is_shown_by_what_it_was_given(order, scope, tmp_path):
    """A request waits behind a response that is steered; which comes first is not documented."""
    options = {"successor_order": order, "input_items": scope}
    place = Cut(place_of_successor("And then?", **options), "after")
    with stage(steered, place, **options) as (session, _, simulator):
        lane, behind, one, two = steer_twice(session, queued="And then?")
        until(lambda: session.read(lambda ledger: len(ledger.connections)) == 2)
        assert [one.state, two.state, behind.status] == ["unknown"] * 3
        newest = lane.responses[-1].id
        lane.check()
        if order == "first":
            fates = [e["fate"] for e in simulator.account if e["kind"] == "steer"]
            assert fates == [one.state, two.state] == ["committed", "committed"]
            assert (one.successor_id, behind.status) == (newest, "unknown")
        else:
            # A successor of its own may have begun behind it: nothing was heard of that one.
            assert [one.state, two.state] == ["unknown", "unknown"]
            assert behind.id == newest
        same_when_loaded(session, tmp_path)


def test_a_steer_that_never_arrived_stays_unknown():
    with stage(slowly, connection_lost="go_on") as (session, proxy, _):
        lane, second = begun(session)
        session.core.line.transport.send = _nowhere
        steer = lane.steer("Keep it short.")
        request = session.lane("other").create("Hello?")
        lose(session, proxy)
        until(lambda: lane.check() or second.status == "completed")
        done = session.check()
        assert (steer.state, request.status) == ("unknown", "unknown")
        assert f"{steer.key} stays unknown: no response is known that could hold it." in str(done)
        assert "nothing was heard of it, so there is no id to ask for." in str(done)


async def _nowhere(_: str) -> None:
    """A socket whose other end is gone, and does not say so."""


def test_a_recovered_session_asks_too(tmp_path):
    with stage(slowly, journal=tmp_path / "j", connection_lost="go_on") as (session, proxy, _):
        lane, second = begun(session)
        proxy.cut_now()
        session.close()
        with pytest.raises(errors.NotConnected, match=r"is closed.*steer_nb.recover\(\)"):
            session.check()
        with pytest.raises(errors.NotConnected, match="is closed"):
            lane.check()
        with steer_nb.recover(session.journal_path, quiet=True, reconnect=False) as again:
            lane = again["trip"]
            until(lambda: lane.check() or lane.responses[-1].status == "completed")
            assert lane.recovery.choices[0].base == second.id


def test_another_service_has_none_of_it(tmp_path):
    """As with the embedded simulator after a restart."""
    with stage(slowly, journal=tmp_path / "j") as (session, *_):
        lane, second = begun(session)
        session.close()
    with Simulator(slowly, speed=0, seed=1) as other:
        again = steer_nb.recover(
            session.journal_path, url=other.base_url, quiet=True, reconnect=False
        )
        with again:
            lane = again["trip"]
            assert [c.word for c in lane.recovery.choices] == ["continue", "rebuild", "leave"]
            done = lane.check()
            first = lane.responses[0].id
            assert f"{first} is no longer there: the service has no such response." in done.settled
            assert f"The service was asked, and has no {second.id}." in done.unsettled
            assert [c.word for c in lane.recovery.choices] == ["rebuild", "leave"]
            assert lane.recover().create("And now?").wait(10).status == "completed"


@pytest.mark.parametrize("policy", [Reconnect(attempts=5, first_s=60, longest_s=60), NEVER])
def test_while_it_connects_again_and_after_it_gave_up(policy):
    """The line of the socket is gone; HTTP is another one."""
    with stage(slowly, reconnect=policy) as (session, proxy, _):
        lane, second = begun(session)
        proxy.cut_now()
        until(lambda: lane.state == "detached")
        assert session.reconnecting is (policy is not NEVER)
        until(lambda: lane.check() or second.status == "cancelled")
        assert second.status == "cancelled"


def test_what_is_not_stored_is_not_asked_about():
    with stage(slowly) as (session, proxy, simulator):
        lane = session.lane("trip", store=False)
        lane.create("Please wait.")
        until(lambda: lane.state == "running")
        lose(session, proxy)
        done = lane.check()
        assert not done
        assert done.asked == ()
        assert "was not stored (store is false)" in str(done)
        assert asked(simulator) == []


def test_a_key_goes_along_and_is_written_nowhere(tmp_path):
    tool = {"type": "mcp", "server_label": "x", "server_url": "https://x"}
    with (
        Simulator(slowly, speed=0, api_key=KEY) as simulator,
        connect(
            simulator.base_url, api_key=KEY, journal=tmp_path / "j", quiet=True, reconnect=SOON
        ) as session,
    ):
        lane = session.lane("trip", tools=[{**tool, "authorization": "t0k3n"}])
        second = lane.create("Please wait.")
        until(lambda: lane.state == "running")
        cut(session)
        until(lambda: lane.check() or second.status == "cancelled")
        assert asked(simulator)
        text = session.journal_path.read_text("utf-8")
        assert KEY not in text
        assert "t0k3n" not in text


def test_it_asks_once_at_a_time(monkeypatch):
    with stage(slowly) as (session, proxy, _):
        lane, _ = begun(session)
        lose(session, proxy)
        inside, go = threading.Event(), threading.Event()
        real = asking.ask

        def slow(*args: Any, **more: Any) -> Any:
            inside.set()
            assert go.wait(10)
            return real(*args, **more)

        monkeypatch.setattr("steer_nb.client.checking.ask", slow)
        found: list[Any] = []
        worker = threading.Thread(target=lambda: found.append(session.check()))
        worker.start()
        assert inside.wait(10)
        with pytest.raises(errors.LaneBusy, match="is asking the service already"):
            lane.check()
        assert session.read(lambda _: True), "the I/O thread goes on"
        go.set()
        worker.join(10)
        assert found[0].asked
        assert lane.check() is not None


def test_a_session_that_is_closed_meanwhile(monkeypatch):
    with stage(slowly) as (session, proxy, _):
        lane, _ = begun(session)
        lose(session, proxy)
        real = asking.ask

        def slow(*args: Any, **more: Any) -> Any:
            session.close()
            return real(*args, **more)

        monkeypatch.setattr("steer_nb.client.checking.ask", slow)
        n = len(session.trace)
        with pytest.raises(errors.NotConnected, match="is closed"):
            lane.check()
        assert [e.note for e in list(session.trace)[n:]] == ["closed"]


# -- services that answer in their own ways --------------------------------------------------------


class Odd:
    """A plain HTTP server that answers as it is told, and keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        odd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                odd.asked.append((self.path, dict(self.headers)))
                with contextlib.suppress(ConnectionError):
                    answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Odd:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def endpoint(self, **more: Any) -> Any:
        return of_url(f"http://127.0.0.1:{self.server.server_address[1]}/v1", **more)


def say(status: int, body: Any, **headers: str):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler: Any) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def refusal(message: str, **more: Any) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, refusal("Invalid URL (GET /v1/responses/r1)")),
        (404, {"detail": "Not Found"}),
        (404, b"<html>no</html>"),
        (405, {"detail": "Method Not Allowed"}),
        (426, refusal("/v1/responses speaks WebSocket only")),
        (501, b""),
    ],
)
def test_a_service_without_such_a_path(status, body):
    with Odd(say(status, body)) as odd, pytest.raises(errors.ServerRefused) as caught:
        asking.ask(odd.endpoint(), "r1")
    assert "does not serve GET /responses" in str(caught.value)
    assert "nothing was settled" in str(caught.value)
    assert caught.value.status == status


@pytest.mark.parametrize("name", ["r1", "resp_curl"])
def test_a_response_that_is_not_found(name):
    body = refusal(f"Response with id '{name}' not found.", param="id", code=None)
    with Odd(say(404, body)) as odd:
        assert asking.ask(odd.endpoint(), name) == asking.Answer(None)


@pytest.mark.parametrize(
    ("status", "body", "kind", "match"),
    [
        (401, refusal(f"Incorrect API key {KEY}"), errors.AuthenticationFailed, "API key"),
        (403, refusal("No."), errors.AuthenticationFailed, "does not let this key in"),
        (429, refusal("Slow down."), errors.ConnectionFailed, "HTTP 429: Slow down"),
        (500, b"oops", errors.ConnectionFailed, "HTTP 500"),
        (400, refusal(f"Bad {KEY}."), errors.ServerRefused, "refused to say .HTTP 400: Bad"),
        (200, b"[1]", errors.ConnectionFailed, "JSON object"),
        (200, b"{", errors.ConnectionFailed, "JSON object"),
        (200, b"[" * 100_000, errors.ConnectionFailed, "JSON object"),
        (200, {"id": "r2", "status": "completed"}, errors.ConnectionFailed, "not that response"),
        (200, {"id": "r1"}, errors.ConnectionFailed, "not that response"),
    ],
)
def test_other_answers_are_one_readable_line(status, body, kind, match):
    with Odd(say(status, body)) as odd, pytest.raises(kind, match=match) as caught:
        asking.ask(odd.endpoint(api_key=KEY), "r1")
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_redirect_is_not_followed():
    with (
        Odd(say(200, response("r1", status="completed"))) as other,
        Odd(say(302, b"", Location=f"{other.endpoint().shown.replace('ws', 'http')}/r1")) as odd,
    ):
        with pytest.raises(errors.ConnectionFailed, match="Redirects are not followed"):
            asking.ask(odd.endpoint(api_key=KEY), "r1")
        assert other.asked == []


def test_nothing_listens():
    with Odd(say(200, b"")) as odd:
        endpoint = odd.endpoint()
    with pytest.raises(errors.ConnectionFailed, match="Nothing listens"):
        asking.ask(endpoint, "r1")


def test_what_is_asked_and_with_what(monkeypatch):
    """A proxy of the machine is not asked for this machine's own server."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with Odd(say(200, response("r/1?", status="queued"))) as odd:
        endpoint = odd.endpoint(api_key=KEY, headers={"X-Mine": "1"}, query={"api-version": "2"})
        asking.ask(endpoint, "r/1?")
        ((path, headers),) = odd.asked
    assert path == "/v1/responses/r%2F1%3F?api-version=2"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert {name.lower(): value for name, value in headers.items()}["x-mine"] == "1"
    assert headers["User-Agent"].startswith("steer-nb/")


def test_through_a_proxy():
    """Another machine is asked through the proxy that its socket goes through."""

    def proxied(handler: Any) -> None:
        say(200, response("r1", status="completed"))(handler)

    with Odd(proxied) as odd, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTP_PROXY", f"http://127.0.0.1:{odd.server.server_address[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            patch.delenv(name, raising=False)
        endpoint = of_url("http://model.example/v1")
        assert asking.ask(endpoint, "r1").response["status"] == "completed"
        assert odd.asked[0][0] == "http://model.example/v1/responses/r1"
        patch.setenv("SOCKS_PROXY", "socks5h://127.0.0.1:9")
        patch.delenv("HTTP_PROXY")
        with pytest.raises(errors.ConnectionFailed, match="SOCKS"):
            asking.ask(endpoint, "r1")


def test_all_pages_and_no_end_of_pages():
    items = [{**message(f"t{n}"), "id": f"m{n}"} for n in range(250)]

    def pages(handler: Any) -> None:
        if "input_items" not in handler.path:
            say(200, response("r1", status="completed"))(handler)
            return
        after = handler.path.partition("after=m")[2].partition("&")[0]
        start = int(after) + 1 if after else 0
        part = items[start : start + 100]
        say(200, {"object": "list", "data": part, "has_more": start + 100 < 250})(handler)

    with Odd(pages) as odd:
        assert asking.ask(odd.endpoint(), "r1", input_items=True).input_items == items
        assert len(odd.asked) == 4
        assert "order=asc" in odd.asked[1][0]

    def endless(handler: Any) -> None:
        if "input_items" not in handler.path:
            say(200, response("r1", status="completed"))(handler)
            return
        say(200, {"object": "list", "data": items[:1], "has_more": True})(handler)

    with Odd(endless) as odd, pytest.raises(errors.ConnectionFailed, match="do not end"):
        asking.ask(odd.endpoint(), "r1", input_items=True)


def test_a_service_that_lists_no_input_items_still_says_how_it_ended():
    def half(handler: Any) -> None:
        if "input_items" in handler.path:
            say(404, {"detail": "Not Found"})(handler)
        else:
            say(200, response("r1", status="completed"))(handler)

    with Odd(half) as odd:
        answer = asking.ask(odd.endpoint(), "r1", input_items=True)
    assert answer.response["status"] == "completed"
    assert answer.input_items is None


def test_an_answer_that_is_too_large(monkeypatch):
    monkeypatch.setattr(asking, "MOST_BYTES", 1000)
    answer = say(200, {"id": "r1", "x": "y" * 2000})
    with Odd(answer) as odd, pytest.raises(errors.ConnectionFailed, match="larger than"):
        asking.ask(odd.endpoint(), "r1")


def test_a_service_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(asking, "TIMEOUT_S", 0.1)
    go = threading.Event()
    with Odd(lambda _: go.wait(10)) as odd:
        try:
            with pytest.raises(errors.ConnectionFailed, match="did not answer in time"):
                asking.ask(odd.endpoint(), "r1")
        finally:
            go.set()


def test_an_answer_that_does_not_end(monkeypatch):
    monkeypatch.setattr(asking, "WHOLE_S", 0.2)

    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.02)

    with Odd(drip) as odd, pytest.raises(errors.ConnectionFailed, match="did not answer in time"):
        asking.ask(odd.endpoint(), "r1")
