"""A lane: one conversation, its requests one after another, beside others on one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.checking import check
from steer_nb.client.handles import Response, Steer
from steer_nb.client.injects import Inject
from steer_nb.client.inputs import answer_fields, create_input, steer_input, user_items
from steer_nb.client.io import io_thread
from steer_nb.client.lane_facts import LaneFacts
from steer_nb.client.opening import close
from steer_nb.client.recovering import recover
from steer_nb.client.sending import Overrides
from steer_nb.client.settling import settled_word
from steer_nb.client.starting import soon

if TYPE_CHECKING:
    from steer_nb.client.checking import Check
    from steer_nb.client.required import RequiredInput
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.state import LaneWord

__all__ = ["Lane"]


class Lane(LaneFacts):
    """One lane of a session; `Session.lane` makes it.

    Everything can be called from any thread, and returns without waiting for the service, except
    what is named ``wait``. An idle lane's `create` continues from its last response.

    Examples
    --------
    >>> import steer_nb
    >>> session = steer_nb.connect(simulate="weather", journal=False, quiet=True)
    >>> lane = session.lane("trip")
    >>> response = lane.create("What is the weather in Lisbon?")
    >>> lane.wait(timeout=30)
    'waiting_input'
    >>> needed = lane.required_input[0]
    >>> lane.fill(needed.key, output="18 C and sunny").state
    'filled'
    >>> lane.send_continuation().wait(timeout=30).status
    'completed'
    >>> session.close()
    """

    # -- sending -----------------------------------------------------------------------------

    def create(self, input: Any = None, **overrides: Any) -> Response:  # noqa: A002
        """Send a request for a response; returns at once.

        It carries the lane's settings and continues from the lane's last response.

        Parameters
        ----------
        input : object
            What to say; see `steer_nb.client.inputs.create_input`.
        **overrides
            Fields of `response.create` for this request alone. None leaves a field out;
            ``previous_response_id=None`` begins a new conversation.

        Raises
        ------
        LaneBusy
            If the lane cannot take it now, with the reason.
        InvalidInput, InvalidLane, NotConnected, UnknownLane, TraceError
            Nothing was sent.
        """
        value, changes = create_input(input), Overrides(overrides)
        sender = self._session.core.sender
        key = soon(
            self._session, self.stream_id, lambda: sender.create(self._settings, value, changes)
        )
        return Response(self._session, key)

    def steer(self, input: Any) -> Steer:  # noqa: A002
        """Send input into the response that is being written; returns once it is on its way.

        Where a response was asked for and has not begun, this waits up to five seconds for its
        beginning: a steer has to name it. A Letta server takes nothing meanwhile: there it is kept
        here, ``queued_here``, and goes out with the lane's next request, behind the answers.

        Parameters
        ----------
        input : object
            What to say; it goes out exactly as written.

        Raises
        ------
        LaneBusy
            If nothing is being written, with the reason.
        InvalidInput, NotConnected, UnknownLane, TraceError
            Nothing was sent.
        """
        value = steer_input(input)
        sender = self._session.core.sender
        key = soon(self._session, self.stream_id, lambda: sender.steer(self._settings, value))
        return Steer(self._session, key)

    def send(self, input: Any, **overrides: Any) -> Response | Steer:  # noqa: A002
        """Steer the response that is being written, or create the next one.

        Returns
        -------
        Steer or Response
            Which of the two it did.

        Raises
        ------
        LaneBusy, InvalidInput, NotConnected, UnknownLane, TraceError
            As for `create` and `steer`.
        """
        value, changes = steer_input(input), Overrides(overrides)
        sender = self._session.core.sender
        kind, key = soon(
            self._session, self.stream_id, lambda: sender.send(self._settings, value, changes)
        )
        handle = Steer if kind == "steer" else Response
        return handle(self._session, key)

    def cancel(self) -> Response:
        """At a Letta server: stop what the agent writes, or release it from what it waits for.

        This waits for the server's answer; how the response ended is known with its stream's end.
        A run that had ended before is none that is cancelled. An agent that waits for answers is
        released in its default conversation, where the server denies its calls; in a conversation
        of its own it goes on waiting, whatever a server says of its run: there `cancel_all` and
        `send_continuation` deny them. What is queued here is held until something else is sent, or
        `Steer.send_again` says that it goes out.

        Returns
        -------
        Response
            What it was about.

        Raises
        ------
        InvalidInput
            If it is no Letta server: the Responses API cancels nothing on a WebSocket.
        LaneBusy
            If there is nothing that a cancel stops, with the reason.
        ServerRefused, ConnectionFailed, NotConnected, UnknownLane, TraceError
            It goes on, as far as is known.

        Examples
        --------
        >>> import steer_nb
        >>> session = steer_nb.connect(simulate="story", letta=True, journal=False, quiet=True)
        >>> with session:
        ...     response = session.lane("a").create("Tell me a story.")
        ...     session.lanes["a"].cancel().wait(timeout=30).status
        'cancelled'
        """
        sender = self._session.core.sender
        work = soon(self._session, self.stream_id, lambda: sender.cancel(self._settings))
        return Response(self._session, io_thread.run(work))

    # -- required input ----------------------------------------------------------------------

    def fill(self, key: str, *, by: str = "user", **fields: Any) -> RequiredInput:
        """Give a required input its value; it is on the disk when this returns, and not sent.

        Filling again replaces the value until it is sent.

        Parameters
        ----------
        key : str
            Its `call_id` or `approval_request_id`.
        by : {"user", "code", "policy"}
            Where the value comes from, for the record.
        **fields
            The wire's own names: `output`, `tools`, `status`, `approve`, `reason`,
            `acknowledged_safety_checks` … An `output` may be what `create` takes, too: a DataFrame
            (as CSV), a figure, a picture, a `pathlib.Path`, bytes, or a list of these with text;
            see `steer_nb.client.inputs.answer_fields`.

        Raises
        ------
        InvalidInput
            Names field, value and rule; or says why nothing takes a value under that key.
        TraceError
            If the disk refuses it: then it was not taken.
        """
        answers = self._session.core.answers
        stub = self._session.act(lambda: answers.open_input(self._settings, key)[1].stub)
        given = answer_fields(stub, fields)  # here: a figure belongs to the thread that drew it
        self._session.act(lambda: answers.fill(self._settings, key, by, given))
        return self._required(key)

    def clear(self, key: str) -> RequiredInput:
        """Take back a value that was not sent yet.

        Raises
        ------
        InvalidInput
            If nothing takes a value under that key any more.
        """
        answers = self._session.core.answers
        self._session.act(lambda: answers.clear(self._settings, key))
        return self._required(key)

    def cancel_all(self) -> tuple[RequiredInput, ...]:
        """Answer everything that is open as cancelled by the user; nothing is sent yet.

        Returns
        -------
        tuple of RequiredInput
            What was answered by this.
        """
        answers = self._session.core.answers
        keys = self._session.act(lambda: answers.cancel_all(self._settings))
        return tuple(self._required(key) for key in keys)

    def run_tool(self, key: str) -> RequiredInput:
        """Run one's own function for a call, on a worker thread, and wait for its end.

        The result is saved and fills the required input; it is not sent. A function that raises
        gives an error text, to be seen and edited with `fill`. A call's function runs once: asked
        again, the saved result is given back.

        Raises
        ------
        ToolFailed
            If there is no function for it, its policy is ``never``, or it was begun once and its
            end was never seen.
        InvalidInput
            If nothing takes a value under that key any more.
        """
        runner = self._session.core.runner
        place = self._session.act(lambda: runner.start(self._settings, key))
        if place is not None:
            self._session.until(
                lambda _: None if place in runner.running else True, None, lambda: ""
            )
        return self._required(key)

    def preview_continuation(self, input: Any = None, **overrides: Any) -> str:  # noqa: A002
        """Return the exact message that `send_continuation` would send now, as JSON text.

        Only credentials of MCP tools are hidden in it.

        Raises
        ------
        NothingToContinue
            If nothing waits.
        """
        items, changes = user_items(input), Overrides(overrides)
        sender = self._session.core.sender
        return self._session.read(lambda _: sender.preview(self._settings, items, changes))

    def inject(self) -> Inject:
        """Send what is filled into the response that is still being written.

        That is for multi-agent responses: an agent that waits for its answers goes on, while the
        others write. What is not filled yet can follow; each answer goes out once. The service
        takes all of it or nothing; where the response ended first, the answers stay filled and go
        out with the continuation.

        Raises
        ------
        NothingToContinue
            If no multi-agent response is being written, or nothing of it is filled.
        NotConnected, UnknownLane, TraceError
            Nothing was sent.

        Examples
        --------
        >>> import steer_nb
        >>> session = steer_nb.connect(
        ...     simulate="agents", multi_agent=True, journal=False, quiet=True
        ... )
        >>> lane = session.lane("team", multi_agent={"enabled": True})
        >>> response = lane.create("Compare Lisbon and Porto.")
        >>> while lane.wait(timeout=30) == "waiting_input":
        ...     for needed in lane.required_input:
        ...         _ = lane.fill(needed.key, output="18 C and sunny")
        ...     _ = lane.inject()
        >>> response.status
        'completed'
        >>> session.close()
        """
        sender = self._session.core.sender
        key = self._session.act(lambda: sender.inject(self._settings))
        return Inject(self._session, key)

    def send_continuation(
        self,
        input: Any = None,  # noqa: A002
        **overrides: Any,
    ) -> Response | Inject:
        """Send the one continuation of the response that waits.

        While several agents still write the response, this is `inject`, which takes neither new
        input nor settings.

        It goes to the same lane, names that response, holds the filled stubs in the order they
        were asked for (and new input, if given), and carries the lane's settings. Steers that are
        queued are not sent again: the service puts them in front by itself.

        Parameters
        ----------
        input : object, optional
            New input to follow the answers.
        **overrides
            Fields of `response.create` for this request alone.

        Raises
        ------
        RequiredInputOpen
            While something is unanswered; its `keys` say what.
        NothingToContinue
            If nothing waits, or the continuation was sent already.
        LaneBusy, InvalidInput, NotConnected, UnknownLane, TraceError
            Nothing was sent.
        """
        items, changes = user_items(input), Overrides(overrides)
        sender = self._session.core.sender
        kind, key = soon(
            self._session, self.stream_id, lambda: sender.answer(self._settings, items, changes)
        )
        handle = Inject if kind == "inject" else Response
        return handle(self._session, key)

    # -- after a lost connection ---------------------------------------------------------------

    def recover(self, choice: str | None = None) -> Lane:
        """Say how the lane goes on after its connection was lost.

        Parameters
        ----------
        choice : {"continue", "rebuild", "leave"}, optional
            Continue from the response that the service has stored; begin a new chain whose first
            request repeats the conversation; or leave it, so that what is said next begins anew.
            By default the first that `recovery` offers.

        Returns
        -------
        Lane
            This lane.

        Raises
        ------
        InvalidInput
            If that is not offered, with what is.
        LaneBusy
            If the lane did not lose its connection.

        Examples
        --------
        >>> import steer_nb
        >>> with steer_nb.connect(simulate="planner", journal=False, quiet=True) as session:
        ...     session.lane("a").recovery is None
        True
        """
        self._session.act(lambda: recover(self._session.core, self._settings, choice))
        return self

    def check(self) -> Check:
        """Ask the service what became of what is unknown on this lane.

        See `Session.check`, which asks about all lanes. A response that was cut off takes its real
        end, and a steer is committed where the service shows that a response was given it; what
        cannot be proven stays unknown. What was sent with ``store`` false cannot be asked about.

        Returns
        -------
        Check
            What was settled, and what stays unknown.

        Raises
        ------
        ServerRefused, ConnectionFailed, LaneBusy, NotConnected, TraceError
            As for `Session.check`.

        Examples
        --------
        >>> import steer_nb
        >>> with steer_nb.connect(simulate="planner", journal=False, quiet=True) as session:
        ...     session.lane("a").check()
        Nothing was asked. Nothing is unknown.
        """
        return check(self._session, (self.stream_id,))

    # -- the rest ----------------------------------------------------------------------------

    def fork(self, name: str, response: Response | str | None = None, **settings: Any) -> Lane:
        """Open another lane that continues from a response of this one.

        With ``store`` false the service keeps only a lane's newest response: once the fork's first
        request is sent, this lane's next one waits up to five seconds until that has started.

        Parameters
        ----------
        name : str
            The new lane. One that is open may be named as long as nothing was said on it.
        response : Response or str, optional
            A response that has ended, or its id; the lane's last one by default.
        **settings
            What the new lane's requests carry differently.

        Raises
        ------
        LaneBusy, RequiredInputOpen, NothingToContinue
            If there is nothing yet that could be continued, or the lane of that name has a
            conversation of its own, with the reason.
        """
        return self._session.open_fork(name, self._settings, response, settings)

    def _settled_word(self, _: Ledger) -> LaneWord | None:
        return settled_word(self._session.core, self._settings)

    def wait(self, timeout: float | None = None) -> LaneWord:
        """Wait until the lane is idle, waits for a person's input, failed or is detached.

        It never waits for a click. A tool with policy ``auto`` is no person: while it works, the
        lane is not settled.

        Parameters
        ----------
        timeout : float, optional
            Seconds.

        Returns
        -------
        str
            The lane's state.

        Raises
        ------
        WaitTimeout
            When the time is over, naming what still goes on.
        """
        return self._session.until(self._settled_word, timeout, self._going_on)

    async def settled(self) -> LaneWord:
        """Await what `wait` waits for; interrupting it leaves everything running."""
        return await self._session.until_async(self._settled_word)

    def close(self) -> None:
        """Close the lane here. What it still gets is recorded; the service knows no closing."""
        self._session.act(lambda: close(self._session.core, self._settings))
