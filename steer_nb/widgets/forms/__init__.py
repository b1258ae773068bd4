"""Forms for required input: one for each response that waits, built from the stub and the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets.forms.pending import NothingPending, PendingForms, pending_forms

if TYPE_CHECKING:
    from steer_nb.widgets.forms.form import ContinuationForm

__all__ = ["ContinuationForm", "NothingPending", "PendingForms", "pending_forms"]


def __getattr__(name: str) -> Any:
    # ipywidgets takes its time to load; saying that nothing waits needs none of it.
    if name == "ContinuationForm":
        from steer_nb.widgets.forms.form import ContinuationForm

        return ContinuationForm
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
