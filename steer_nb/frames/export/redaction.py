"""`redact=`: what is put in the place of content, in every export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast
from urllib.parse import urlsplit, urlunsplit

import pandas as pd

from steer_nb.errors import InvalidInput
from steer_nb.frames.arrays import clean, json_text
from steer_nb.frames.export.content import kind_of, place_of
from steer_nb.frames.export.pieces import PIECES, masked_columns, text_array
from steer_nb.wire.credentials import HIDDEN

if TYPE_CHECKING:
    from steer_nb.frames.export.content import Kind

__all__ = ["Redact", "Redaction", "redaction"]


class RedactText(Protocol):
    """A function of one's own."""

    def __call__(self, value: str, /, *, table: str, column: str) -> str:
        """Give what stands in the place of `value`."""


Redact: TypeAlias = (
    bool | RedactText | str | re.Pattern[str] | Iterable[str | re.Pattern[str]] | None
)
"""What `redact=` may be."""
Where: TypeAlias = tuple[str, str]
"""A table and a column of it."""

# Identifiers have no spaces, and nothing in them that one writes sentences with.
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_.:/@+\-\[\]()#*]{1,600}")
# What the fields of a protocol are called; they are structure, whatever is looked for.
_FIELD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_KEY: Final = re.compile(
    r"""\b sk-[A-Za-z0-9_-]{16,}
      | \b (?:Bearer|Basic) \s+ [A-Za-z0-9._~+/-]{16,} =*
      | (?<= ://) [^\s/@:]* : [^\s/@]+ (?= @)""",
    re.VERBOSE,
)
"""Keys as they look when somebody pasted one: no export has them."""
_MASK: Final = "[redacted]"
_TOKENS: Final = frozenset({"bytes", "logprobs", "top_logprobs"})
"""Fields that hold a text once more, in pieces."""


def redaction(redact: Redact) -> Redaction:
    """Make what `redact=` asks for.

    Parameters
    ----------
    redact : None, bool, callable, str, pattern, or iterable of them
        None or False: texts stay as they are. True: each text is replaced by its length. A
        function gets each text, and says what stands in its place. Strings and compiled patterns:
        what matches is replaced by ``[redacted]``.

    Raises
    ------
    InvalidInput
        It is none of these, or a pattern that matches everything.

    Examples
    --------
    >>> redaction(True).text("Plan a trip.", ("steers", "input_text"))
    '[12 characters]'
    >>> redaction(["Lisbon"]).text("Two days in Lisbon", ("steers", "input_text"))
    'Two days in [redacted]'
    """
    if redact is None or redact is False:
        return Redaction()
    if redact is True:
        return _Lengths()
    if isinstance(redact, str | re.Pattern):
        return _Masks([redact])
    if callable(redact):
        return _Own(redact)
    if isinstance(redact, Iterable):
        wanted = list(redact)
        if all(isinstance(one, str | re.Pattern) for one in wanted):
            return _Masks(wanted)
    rule = "True, a function, or strings and compiled patterns"
    msg = f"redact is {redact!r}: it must be {rule}."
    raise InvalidInput(msg, field="redact", value=redact, rule=rule)


class Redaction:
    """Puts something else in the place of content. This one leaves it, but for keys."""

    seeks = True
    """Whether it looks for something in texts, rather than replacing each as a whole."""

    # -- one value ---------------------------------------------------------------------------

    def text(self, value: str, _where: Where, /) -> str:
        """Give what is written in the place of a text."""
        return self.masked(value)

    def identifier(self, value: str, _kind: Kind = "name", /) -> str:
        """Give what is written in the place of an id, a word of the protocol, or a name."""
        return self.masked(value)

    def number(self, value: float, /) -> float:
        """Give what is written in the place of a number in JSON that is no structure."""
        return value

    def data(self, value: Any, where: Where, /) -> Any:
        """Give what is written in the place of JSON that is content as a whole."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.data(inner, where) for inner in value]
        if isinstance(value, dict):
            return _unlike(
                (self.text(key, where), self._field(key, inner, where))
                for key, inner in value.items()
            )
        return value

    def split(self, value: Any) -> Any:
        """Give what is written in the place of a piece of content that is no text."""
        return self.data(value, ("events", "delta_json"))

    def masked(self, value: str) -> str:
        """Hide keys, and what was asked for, where they are recognised."""
        return _KEY.sub(HIDDEN, value)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Where in a text something is hidden by `masked`, and behind what."""
        return [(*found.span(), HIDDEN) for found in _KEY.finditer(text)]

    def url(self, value: str, where: Where) -> str:
        """Give an address without what may be a key in it: user, query and fragment."""
        try:
            parts = urlsplit(value)
        except ValueError:
            return self.text(value, where)
        place = parts.netloc.rpartition("@")[2]
        clean_url = urlunsplit((parts.scheme, place, parts.path, "", ""))
        return self.identifier(clean_url)

    # -- JSON --------------------------------------------------------------------------------

    def item(self, value: Any, where: Where, *, parent: str = "") -> Any:
        """Redact a message or an item: its structure stays."""
        if isinstance(value, dict):
            return _unlike(
                (self._key(key), self._placed(parent, key, inner, where))
                for key, inner in value.items()
            )
        if isinstance(value, list):
            return [self.item(inner, where, parent=parent) for inner in value]
        if isinstance(value, str):
            return self.text(value, where)
        return value if isinstance(value, bool) or value is None else self.number(value)

    def _placed(self, parent: str, key: str, value: Any, where: Where) -> Any:
        place = place_of(parent, key)
        if place == "credential":
            return _hidden(value)
        if place in ("id", "name"):
            return self._kept(value, where, place)
        if place == "inside":
            return self.item(value, where, parent=key)
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return self.number(value)
        return self.data(value, where)

    def _kept(self, value: Any, where: Where, kind: Kind) -> Any:
        if isinstance(value, str):
            return self.identifier(value, kind)
        if isinstance(value, list):
            return [self._kept(inner, where, kind) for inner in value]
        if isinstance(value, dict):
            return self.item(value, where)
        return value

    def _key(self, key: str) -> str:
        return key if _FIELD.fullmatch(key) else self.masked(key)

    def _field(self, key: str, value: Any, where: Where) -> Any:
        hidden = place_of("", key) == "credential"
        return _hidden(value) if hidden else self.data(value, where)

    def json(self, text: str, where: Where, *, item: bool) -> str:
        """Redact JSON that stands in a cell as text."""
        try:
            value = json.loads(text)
            new = self.item(value, where) if item else self.data(value, where)
        except (ValueError, RecursionError):
            return self.text(text, where)
        # Not as it stands where a field comes twice: one of them was not read.
        same = self.seeks and new == value and self.masked(text) == text
        return text if same else json_text(new) or "null"

    # -- a frame -----------------------------------------------------------------------------

    def value(self, value: Any, where: Where, kind: Kind | None = None) -> Any:
        """Redact one value of a column by what the column holds."""
        kind = kind_of(*where) if kind is None else kind
        if not isinstance(value, str) or kind == "value":
            return value
        if kind in ("id", "word", "name"):
            return self.identifier(value, kind)
        if kind == "url":
            return self.url(value, where)
        if kind in ("item", "data"):
            return self.json(value, where, item=kind == "item")
        return self.text(value, where)

    def frame(self, frame: pd.DataFrame, table: str) -> pd.DataFrame:
        """Redact the columns of a table that hold content.

        Parameters
        ----------
        frame : DataFrame
            A table of a trace.
        table : str
            Which.

        Returns
        -------
        DataFrame
            Another one, of the same dtypes; its `attrs` name no file where texts are hidden.

        Raises
        ------
        UnknownColumn
            A column of which nobody has said what it holds.
        """
        changed: dict[str, Any] = {}
        if self.seeks and any(name in frame for name in PIECES):
            changed = masked_columns(self, frame)
        for column in frame.columns:
            kind = kind_of(table, column)
            if kind == "value" or column in changed:
                continue
            values, where = frame[column], (table, str(column))
            categories = isinstance(values.dtype, pd.CategoricalDtype)
            known: dict[Any, Any] = {
                one: self.value(one, where, kind) for one in values.dropna().unique()
            }
            if all(one == new for one, new in known.items()):
                continue
            new = [known.get(one) for one in values.astype(object).where(values.notna(), None)]
            if categories:
                words = [known.get(word, word) for word in values.cat.categories]
                dtype = pd.CategoricalDtype(list(dict.fromkeys(words)))
                changed[column] = pd.Categorical(new, dtype=dtype)
            else:
                changed[column] = text_array(new)
        result = frame.assign(**changed)
        result.attrs = dict(frame.attrs)
        if isinstance(result.attrs.get("file"), str):
            result.attrs["file"] = self.text(result.attrs["file"], ("traces", "file"))
        return result


class _Lengths(Redaction):
    """Replaces each text by its length."""

    seeks = False

    def text(self, value: str, _where: Where, /) -> str:
        return _length(value)

    def identifier(self, value: str, _kind: Kind = "name", /) -> str:
        value = self.masked(value)
        return value if _IDENTIFIER.fullmatch(value) or value == HIDDEN else _length(value)

    def number(self, _value: float, /) -> float:
        return 0

    def data(self, value: Any, _where: Where, /) -> Any:
        if isinstance(value, dict):
            return {"redacted": _length(json_text(value) or "")} if value else {}
        if isinstance(value, list):
            return []  # a place for items of one kind, such as token probabilities
        if isinstance(value, str):
            return _length(value)
        return value if isinstance(value, bool) or value is None else 0

    def _key(self, key: str) -> str:
        return key if _FIELD.fullmatch(key) else _length(key)


class _Own(Redaction):
    """Asks a function of somebody's own."""

    seeks = False

    def __init__(self, function: RedactText) -> None:
        self._function = function

    def text(self, value: str, where: Where, /) -> str:
        table, column = where
        given = self._function(self.masked(value), table=table, column=column)
        if isinstance(cast("object", given), str):
            return self.masked(clean(given))
        msg = (
            f"The redact function gave {type(given).__name__} for {table}.{column}: it must give "
            "a text."
        )
        raise InvalidInput(msg, field="redact", value=given, rule="a function that gives text")


class _Masks(Redaction):
    """Hides what matches, wherever it stands: in names, too."""

    def __init__(self, wanted: Iterable[str | re.Pattern[str]]) -> None:
        self._patterns = [re.compile(re.escape(w)) if isinstance(w, str) else w for w in wanted]
        for pattern in self._patterns:
            if not isinstance(pattern.pattern, str) or pattern.search(""):
                msg = f"redact has {pattern.pattern!r}, which matches everything: name something."
                raise InvalidInput(
                    msg, field="redact", value=pattern.pattern, rule="text that is not empty"
                )

    def text(self, value: str, where: Where, /) -> str:
        new = self.masked(value)
        if "\\" in new and new[:1] in ("{", "[", '"'):  # JSON may write the same in other letters
            try:
                inner = json.loads(new)
                clean = self.data(inner, where)
            except (ValueError, RecursionError):
                return new
            return new if clean == inner else json_text(clean) or "null"
        return new

    def masked(self, value: str) -> str:
        for pattern in self._patterns:
            value = pattern.sub(lambda _: _MASK, value)
        return super().masked(value)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        own = [(*m.span(), _MASK) for p in self._patterns for m in p.finditer(text)]
        return own + super().spans(text)

    def split(self, value: Any) -> Any:
        return _Lengths().data(value, ("events", "delta_json"))  # it may be half of what is sought

    def _placed(self, parent: str, key: str, value: Any, where: Where) -> Any:
        if key in _TOKENS:
            return []
        return super()._placed(parent, key, value, where)

    def identifier(self, value: str, kind: Kind = "name", /) -> str:
        return self.masked(value) if kind == "name" else super().masked(value)


def _length(value: str) -> str:
    return f"[{len(value)} character{'' if len(value) == 1 else 's'}]"


def _hidden(value: Any) -> Any:
    """Hide a key; who it is for may be seen."""
    if isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    if isinstance(value, list):
        return [HIDDEN] * len(value)
    return HIDDEN if value else value


def _unlike(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of fields, also where two of them got the same name."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        name, number = key, 2
        while name in made:
            name, number = f"{key} #{number}", number + 1
        made[name] = value
    return made
