"""What has to hold of injects after every crash."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from steer_nb.wire import stub_key

if TYPE_CHECKING:
    from steer_nb import Ledger

__all__ = ["injects_broken"]


def injects_broken(account: list[dict[str, Any]], ledger: Ledger) -> list[str]:
    """Say what is untrue of the injects, by the service's account and the client's ledger.

    An answer is committed once; the client sends it a second time only where the first was refused,
    or a person said so; what the client says became of an inject is what the service did with it.
    """
    faults: list[str] = []
    received = [entry for entry in account if entry["kind"] == "inject"]
    committed = Counter(
        (entry["response_id"], stub_key(item))
        for entry in received
        for item in entry["input"]
        if entry["fate"] == "created"
    )
    faults += [f"{key} was committed {n} times" for (_, key), n in committed.items() if n > 1]
    faults += [
        f"the service refused an inject: {entry['error_message']}"
        for entry in received
        if entry["fate"] == "refused"
    ]
    carried: dict[tuple[str, str], list[Any]] = {}
    for inject in ledger.injects.values():
        for item in inject.answers:
            carried.setdefault((inject.parent_id, stub_key(item)), []).append(inject)
    for (_, key), injects in carried.items():
        standing = [i.key for i in injects if i.state != "failed" and i.decision is None]
        if len(standing) > 1:
            faults.append(f"{key} was injected by {', '.join(standing)}")
    for inject in ledger.injects.values():
        same = [
            entry
            for entry in received
            if entry["response_id"] == inject.parent_id and entry["input"] == list(inject.answers)
        ]
        fates = {entry["fate"] for entry in same}
        if inject.state == "created" and "created" not in fates:
            faults.append(f"{inject.key} was not committed: {fates or 'never received'}")
        elif inject.state == "failed" and inject.error_code != "not_sent" and not fates:
            faults.append(f"{inject.key} failed, and the service knows nothing of it")
        elif inject.state == "sent":
            faults.append(f"{inject.key} never got a final state")
        elif inject.undecided:
            faults.append(f"{inject.key} was left undecided")
    return faults
