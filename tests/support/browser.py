"""One Chromium for all tests that follow each other, with a context of its own for each."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Browser", "chromium", "needs_browser"]


def chromium() -> str | None:
    """The system's own browser."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def needs_browser(*packages: str) -> pytest.MarkDecorator:
    """The mark of a test that drives a Chromium, with these packages beside Playwright."""
    needed = ("playwright", *packages)
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    missing += [] if chromium() else ["a Chromium on the PATH"]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


class Browser:
    """Begins when a page is asked for, and anew when it has died.

    As long as it is there, the event loop that drives it counts as running in its thread: nothing
    else may run one there.
    """

    def __init__(self) -> None:
        self._playwright: Any = None
        self._browser: Any = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._playwright is not None:
            self._playwright.stop()
        self._playwright = self._browser = None

    @contextlib.contextmanager
    def page(self, **options: Any) -> Iterator[Any]:
        """A page in a context that shares nothing with any other, and is gone afterwards."""
        context = self._context(options)
        browser = context.browser
        try:
            yield context.new_page()
        finally:
            for one in browser.contexts if browser.is_connected() else ():
                one.close()  # a test may have made others

    def _context(self, options: dict[str, Any]) -> Any:
        from playwright.sync_api import Error, sync_playwright

        if self._browser is not None:
            with contextlib.suppress(Error):  # where it has died
                return self._browser.new_context(**options)
        self.close()
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox"]
        )
        return self._browser.new_context(**options)
