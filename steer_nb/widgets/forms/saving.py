"""Saving what a form shows: a valid answer as an answer, what is not complete as a draft.

What is saved is what is shown: an answer that a person takes apart again is taken back.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from steer_nb.client.drafts import keep_fields
from steer_nb.errors import InvalidInput, SteerError
from steer_nb.widgets.drafting import Keeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, RequiredInput
    from steer_nb.widgets.forms.section import Section

__all__ = ["Saving"]


class Saving:
    """Saves the sections of one form, each after a quiet moment, never two at a time.

    Parameters
    ----------
    lane : Lane
        The lane.
    parent_id : str
        The response that waits.
    closed : callable
        Says whether nothing may be saved now.
    gone : callable
        Called where a section is not asked for any more.
    """

    def __init__(
        self,
        lane: Lane,
        parent_id: str,
        *,
        closed: Callable[[], bool],
        gone: Callable[[], object],
    ) -> None:
        self._lane = lane
        self._parent_id = parent_id
        self._closed = closed
        self._gone = gone
        self._keepers: dict[str, Keeper] = {}
        self._one = threading.Lock()

    def add(self, section: Section) -> None:
        """Take a section that is new in the form."""

        def keep() -> int:
            self.save(section)
            return section.size

        self._keepers[section.key] = Keeper(keep)

    def touched(self, section: Section) -> None:
        """A person changed something there."""
        self._keepers[section.key].touched()

    def now(self) -> None:
        """Save what was changed, in all of them."""
        for keeper in tuple(self._keepers.values()):
            keeper.now()

    def refresh(self, section: Section, asked: RequiredInput, version: int) -> None:
        """Show a section the session's word, unless that was read before it was saved last."""
        with self._one:
            if version >= section.as_of:
                section.refresh(asked)

    def save(self, section: Section) -> bool:
        """Save what a section shows, as its answer or as a draft; False where that failed."""
        # One at a time, and reading within: an older text must never be saved after a newer one.
        with self._one:
            dirty, section.dirty = section.dirty, False  # before: what is typed meanwhile counts
            item, fields = section.item(), section.fields()
            if not dirty and (section.saved is not None or item is None):
                return True
            try:
                if self._closed():
                    section.dirty = True
                    return True
                if not self.still_asked(section.key):
                    self._gone()
                elif fields is None:
                    self._keep(section)
                    return True
                else:
                    self._fill(section, item, fields)
                    return True
            except SteerError as error:
                section.complain(str(error))
            section.dirty = True
            return False

    def _fill(self, section: Section, item: dict[str, Any] | None, fields: dict[str, Any]) -> None:
        if item != section.saved or section.kept is not None:
            try:
                self._lane.fill(section.key, by="user", **fields)
            except InvalidInput:
                self._keep(section)  # only the session knows what is wrong with it
                raise
        self._saved(section)
        section.mark_saved(item)

    def _keep(self, section: Section) -> None:
        """Keep what is not complete, in the place of an answer that was saved."""
        values, instead = section.draft(), section.saved is not None
        kept = keep_fields(self._lane, self._parent_id, section.key, values, instead=instead)
        self._saved(section)
        section.mark_kept(kept)

    def let_go(self, section: Section) -> None:
        """What is half typed gives way to something else."""
        self._keepers[section.key].forget()
        with self._one:
            if section.kept is not None or section.saved is not None:
                instead = section.saved is not None
                keep_fields(self._lane, self._parent_id, section.key, None, instead=instead)
                self._saved(section)
            section.give_up()

    def _saved(self, section: Section) -> None:
        section.as_of = self._lane.session.read(lambda ledger: ledger.version)

    def still_asked(self, key: str) -> bool:
        """Whether the response still waits for it."""
        # Keys are unique within a response only: a later one may use the same again.
        return any(
            asked.key == key and asked.parent_id == self._parent_id
            for asked in self._lane.required_input
        )
