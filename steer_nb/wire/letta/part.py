"""What every typed piece of Letta's wire has: strict and lenient reading, unknown fields kept."""

from __future__ import annotations

from typing import Any, ClassVar, Final, TypeAlias, TypeVar, get_args

import msgspec

from steer_nb.errors import InvalidInput
from steer_nb.wire.jsonio import joined, shown

__all__ = ["Fault", "Head", "Part", "Parts", "content_text", "read"]

_Part = TypeVar("_Part", bound="Part")
Head: TypeAlias = tuple[str, str] | None
Parts: TypeAlias = dict[str, tuple[Any, ...]]


class Fault(msgspec.Struct, frozen=True):
    """A field that is not as Letta's schema says.

    Attributes
    ----------
    field : str
        Its path, such as ``approvals[0].approve``.
    rule : str
        What the schema says, and what stands there.
    value : object
        What stands there.
    """

    field: str
    rule: str
    value: Any = None


class Unreadable(Exception):
    """A piece without which its whole would say something that nobody said."""


class Part(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A typed piece of Letta's wire. Its fields are those of the schema, under the same names.

    Attributes
    ----------
    extra : dict
        What the schema does not know, and what is not as it says: kept as it came.
    """

    # `read` sets this one always, so a server's key of that name is only one more unknown field.
    extra: dict[str, Any] = msgspec.field(default_factory=dict, name="(extra)")

    _parts: ClassVar[Parts] = {}
    """Fields that hold pieces themselves, and of which kinds."""
    _head: ClassVar[Head] = None
    """The field that says what it is, and its word."""
    _nulls: ClassVar[bool] = False
    """Whether the service writes fields that are null."""

    @classmethod
    def from_dict(cls: type[_Part], value: Any) -> _Part:
        """Read one from a JSON object, strictly.

        Parameters
        ----------
        value : dict
            As it stands in a message or a request. Unknown fields are kept in `extra`.

        Raises
        ------
        InvalidInput
            A field is missing or not as the schema says; names the field, the value and the rule.
        """
        faults: list[Fault] = []
        if not isinstance(value, dict):
            fault = Fault("", "is no JSON object", value)
            raise _refused(cls, fault)
        try:
            found = read(cls, value, faults)
        except Unreadable:
            found = None
        if found is None or faults:
            raise _refused(cls, faults[0])
        return found

    def to_dict(self, *, nulls: bool | None = None) -> dict[str, Any]:
        """Give it as a JSON object: what the schema knows, then what was unknown.

        Parameters
        ----------
        nulls : bool, optional
            Whether to write fields that are null. By default as the service does: in all that it
            writes itself, but for the pieces of a ``tool_call_message`` in token mode (chapter 2).
        """
        if nulls is None:
            nulls = self._nulls
        head = {} if self._head is None else dict((self._head,))
        fields = {
            field.encode_name: _plain(getattr(self, field.name), nulls)
            for field in msgspec.structs.fields(self)
            if field.name != "extra"
        }
        if not nulls:
            fields = {name: value for name, value in fields.items() if value is not None}
        return {**head, **fields, **self.extra}

    def faults(self) -> tuple[Fault, ...]:
        """Say what its type alone does not hold: what the schema says of several fields."""
        return ()


def read(cls: type[_Part], value: dict[str, Any], faults: list[Fault], path: str = "") -> _Part:
    """Read a piece as far as it can be read; what is not as the schema says is put into `faults`.

    Raises
    ------
    Unreadable
        A flag that decides something is missing: nothing is put in its place.
    """
    head = cls._head
    named = head is None or value.get(head[0]) in (None, head[1])
    try:
        found = msgspec.convert(value, cls)
    except (msgspec.ValidationError, RecursionError):
        found = _field_by_field(cls, value, faults, path)
    else:
        own = _names(cls)
        extra = {key: held for key, held in value.items() if key not in own}
        msgspec.structs.force_setattr(found, "extra", extra)
        for name, kinds in cls._parts.items():
            if value.get(name) is not None:
                again = _pieces(value[name], kinds, [], "")
                msgspec.structs.force_setattr(found, name, again)
    if not named and head is not None:
        faults.append(Fault(joined(path, head[0]), f"is not {head[1]!r}", value[head[0]]))
    prefix = f"{path}." if path else ""
    faults += [Fault(prefix + one.field, one.rule, one.value) for one in found.faults()]
    return found


def _names(cls: type[Part]) -> frozenset[str]:
    known = _NAMES.get(cls)
    if known is None:
        head = () if cls._head is None else cls._head[:1]
        names = (field.encode_name for field in msgspec.structs.fields(cls))
        known = _NAMES[cls] = frozenset((*names, *head)) - {"(extra)"}
    return known


_NAMES: Final[dict[type[Part], frozenset[str]]] = {}


def _field_by_field(
    cls: type[_Part], value: dict[str, Any], faults: list[Fault], path: str
) -> _Part:
    own = _names(cls)
    fields: dict[str, Any] = {}
    extra = {key: held for key, held in value.items() if key not in own}
    for field in msgspec.structs.fields(cls):
        name = field.encode_name
        if field.name == "extra":
            continue
        if name not in value:
            if field.required:
                faults.append(Fault(joined(path, name), "is missing"))
                fields[field.name] = _blank(field.type)
            continue
        held, kinds = value[name], cls._parts.get(name)
        try:
            if kinds is not None and held is not None:
                fields[field.name] = found = None
                if type(held) in _shapes(field.type):
                    fields[field.name] = found = _pieces(held, kinds, faults, joined(path, name))
                else:
                    shapes = " nor ".join(_SHAPES[shape] for shape in _shapes(field.type))
                    faults.append(Fault(joined(path, name), f"is no {shapes}", held))
                if found is None:
                    extra[name] = held
            else:
                fields[field.name] = msgspec.convert(held, field.type)
        except (msgspec.ValidationError, RecursionError) as error:
            faults.append(_fault(error, joined(path, name), held))
            extra[name] = held
            if field.required:
                fields[field.name] = _blank(field.type)
    return cls(**fields, extra=extra)


def _pieces(held: Any, kinds: tuple[type[Part], ...], faults: list[Fault], path: str) -> Any:
    if isinstance(held, dict):
        return _piece(held, kinds, faults, path)
    found = (_piece(one, kinds, faults, f"{path}[{at}]") for at, one in enumerate(held))
    return tuple(one for one in found if one is not None)


def _piece(held: Any, kinds: tuple[type[Part], ...], faults: list[Fault], path: str) -> Part | None:
    if not isinstance(held, dict):
        faults.append(Fault(path, "is no object", held))
        return None
    kind = kinds[0] if len(kinds) == 1 else _kind_of(held, kinds)
    if kind is None:
        words = " or ".join(repr(one._head[1]) for one in kinds if one._head is not None)
        faults.append(Fault(joined(path, "type"), f"is not {words}", held.get("type")))
        return None
    try:
        return read(kind, held, faults, path)
    except Unreadable:
        return None


def _kind_of(held: dict[str, Any], kinds: tuple[type[Part], ...]) -> type[Part] | None:
    """Which kind a piece is, by its own word; by its fields where it has none."""
    for kind in kinds:
        if kind._head is not None and held.get(kind._head[0]) == kind._head[1]:
            return kind
    if any(kind._head is not None and kind._head[0] in held for kind in kinds):
        return None
    fits = [kind for kind in kinds if all(f.name in held for f in _required(kind))]
    return fits[0] if len(fits) == 1 else None


def _required(cls: type[Part]) -> list[msgspec.structs.FieldInfo]:
    return [field for field in msgspec.structs.fields(cls) if field.required]


def _blank(kind: Any) -> Any:
    """What stands for a field that is missing, where nothing is claimed by it."""
    if kind is bool:
        raise Unreadable
    return {} if kind == dict[str, Any] else () if _is_list(kind) else ""


_SHAPES: Final[dict[type, str]] = {list: "list", dict: "object"}


def _shapes(kind: Any) -> list[type]:
    """In which shapes a field may hold pieces: a list of them, an object that is one, or both."""
    args = (kind, *get_args(kind))
    listed = any(map(_is_list, args))
    alone = any(isinstance(one, type) and issubclass(one, Part) for one in args)
    return [shape for shape, there in ((list, listed), (dict, alone)) if there]


def _is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is tuple


def _fault(error: Exception, path: str, value: Any) -> Fault:
    text, _, place = str(error).partition(" - at `$")
    # What is nested deeper, the message names in its own words.
    return Fault(
        path + place.rstrip("`"), f"is {shown(value)}: {text[:1].lower()}{text[1:]}", value
    )


def _refused(cls: type[Part], fault: Fault) -> InvalidInput:
    name = cls.__name__ if cls._head is None else cls._head[1]
    kind = f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
    where = f"{fault.field} of {kind}" if fault.field else f"What should be {kind}"
    msg = f"{where} {fault.rule}. Give what Letta's schema says for {cls.__name__}."
    return InvalidInput(msg, field=fault.field, value=fault.value, rule=fault.rule)


def _plain(value: Any, nulls: bool) -> Any:
    if isinstance(value, Part):
        return value.to_dict(nulls=nulls)
    if isinstance(value, tuple | list):
        return [_plain(one, nulls) for one in value]
    return value


def content_text(content: Any) -> str:
    """The text of a content value: a string, or the text parts of a list.

    Examples
    --------
    >>> content_text([{"type": "text", "text": "a"}, {"type": "image"}])
    'a'
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
