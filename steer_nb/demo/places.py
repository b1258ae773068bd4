"""Where the notebook is, and where its results go."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import steer_nb
from steer_nb.errors import SteerError

__all__ = ["NOTEBOOK", "notebook_path", "package_directory", "result_directory"]

NOTEBOOK = "01_first_lane"


def package_directory() -> Path:
    """Return the folder of the installed package."""
    return Path(steer_nb.__file__).parent


def notebook_path(name: str = NOTEBOOK) -> Path:
    """Find a notebook that comes with the package: inside it, or beside it in a checkout.

    Parameters
    ----------
    name : str
        Without its ending.

    Raises
    ------
    SteerError
        It is in neither place.
    """
    package = package_directory()
    # In a checkout the one beside the package is what people edit; a wheel has only the other.
    places = [package.parent / "notebooks", package / "_notebooks"]
    for place in places:
        path = place / f"{name}.ipynb"
        if path.is_file():
            return path
    where = " and ".join(str(place) for place in places)
    msg = f"The notebook {name}.ipynb is missing: looked in {where}. Reinstall steer-nb."
    raise SteerError(msg)


def result_directory(out: str | Path | None, name: str = NOTEBOOK) -> Path:
    """Make the folder for the results; nothing that exists is overwritten.

    Parameters
    ----------
    out : str, Path or None
        The folder asked for. None: a new one under the current one, named after the time.
    name : str
        The notebook's name, without its ending.

    Raises
    ------
    SteerError
        The folder cannot be made or written into, or holds results already.
    """
    if out is None:
        stem = datetime.now().astimezone().strftime("steer-demo-%Y%m%d-%H%M")
        candidates = [Path(stem), *(Path(f"{stem}-{n}") for n in range(2, 100))]
        path = next((one for one in candidates if not one.exists()), candidates[-1])
    else:
        path = Path(out)
    taken = [path / f"{name}{ending}" for ending in (".ipynb", ".html")]
    there = next((one for one in taken if one.exists()), None)
    if there is not None:
        msg = f"{there} exists already, and nothing is overwritten: choose another folder (--out)."
        raise SteerError(msg)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"The folder {path} cannot be made ({error.strerror}): choose another with --out."
        raise SteerError(msg) from error
    try:  # now, rather than when all is done and nothing can be kept
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        msg = f"Nothing can be written into {path} ({error.strerror}): choose another with --out."
        raise SteerError(msg) from error
    return path
