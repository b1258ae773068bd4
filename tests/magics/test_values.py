"""Notebook objects through --vars."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from IPython.core.error import UsageError
from matplotlib.figure import Figure
from PIL import Image

from steer_nb.client.inputs import create_input
from tests.magics.test_magics import cell, line, sent


def test_each_is_sent_as_create_sends_it(shell: Any, session: Any, tmp_path: Any) -> None:
    (tmp_path / "notes.txt").write_text("x")
    figure = Figure(figsize=(1, 1))
    figure.subplots()
    names = {
        "figure": figure,
        "picture": Image.new("RGB", (2, 2)),
        "rows": pd.DataFrame({"city": ["Lisbon"]}),
        "notes": tmp_path / "notes.txt",
        "raw": b"GIF89a",
    }
    shell.user_ns.update(names, both=[figure, "beside", b"GIF89a"], plain=["a", 1])
    line(shell, "open trip")
    cell(shell, f"trip --vars {','.join(names)},both,plain --wait", "Look:\n")
    assert sent(session)[0]["input"] == create_input(
        ["Look:", *names.values(), figure, "beside", b"GIF89a", '["a", 1]']
    )


def test_what_cannot_be_sent_is_said_in_one_line(shell: Any, session: Any) -> None:
    line(shell, "open trip")
    shell.user_ns.update(odd=[b"GIF89a", 3], empty=pd.DataFrame(), thing=object())
    for name, said in (
        ("odd", r"odd\[1\] is a int"),
        ("empty", "is empty"),
        ("thing", "which cannot be sent; give text"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            cell(shell, f"trip --vars {name}", "Look:\n")
        assert "\n" not in str(caught.value)
    assert not sent(session)
