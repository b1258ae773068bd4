"""Tasks as Dask takes them: what the partitions are made of, and tables of them.

A task is a function of this package with names and numbers bound to it, and the keys of the tasks
whose results it takes. So a graph holds no data, and two tables that are computed together have the
tasks in common that decode the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from steer_nb.extras import extra
from steer_nb.frames.arrays import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import dask.dataframe as dd
    import pandas as pd
    from dask.delayed import Delayed

    from steer_nb.frames.columns import Column

__all__ = ["Graph", "dask_frames", "meta_of", "token_of"]


T = TypeVar("T")


def dask_frames() -> Any:
    """Import Dask's DataFrames.

    Raises
    ------
    MissingExtra
        They are not installed.
    """
    return extra("dask.dataframe", "dask", "Dask DataFrames need dask")


def token_of(*values: object) -> str:
    """Name values, so that the same ones have the same name."""
    from dask.base import tokenize

    return str(tokenize(*values))


def meta_of(columns: Sequence[Column]) -> pd.DataFrame:
    """Give the empty frame that tells Dask the dtypes.

    Which words an open column has, only reading tells: Dask is told that they are not known yet.
    """
    from dask.dataframe.utils import clear_known_categories

    cols = [column.name for column in columns if column.open]
    clear: Any = clear_known_categories
    meta: pd.DataFrame = clear(frame_of(columns, {}), cols=cols)
    return meta


class Graph:
    """Tasks that make the partitions; more are added for each table.

    Parameters
    ----------
    token : str
        Names them.
    tasks : mapping
        By key.
    parts : sequence
        The keys of those that give a `Part` each.
    """

    def __init__(self, token: str, tasks: Mapping[Any, Any], parts: Sequence[Any]) -> None:
        self._token = token
        self._tasks = dict(tasks)
        self.parts = tuple(parts)

    def each(
        self, name: str, makes: Sequence[Callable[[Any], pd.DataFrame]], meta: pd.DataFrame
    ) -> dd.DataFrame:
        """Give a frame with a partition for each part.

        Parameters
        ----------
        name : str
            What the tasks are called.
        makes : sequence of callable
            Make a partition of a part. Of several, the partitions of each stand one behind the
            other.
        meta : DataFrame
            The empty frame.
        """
        key = f"steer-{name}-{token_of(self._token, makes)}"
        tasks = {
            (key, at): (make, part)
            for at, (make, part) in enumerate((make, part) for make in makes for part in self.parts)
        }
        return self._frame(name, tasks, list(tasks), meta)

    def whole(
        self,
        name: str,
        make: Callable[[Any], Any],
        together: Callable[[Sequence[Any]], pd.DataFrame],
        meta: pd.DataFrame,
    ) -> dd.DataFrame:
        """Give a frame of one partition, which is made of something of each part.

        Parameters
        ----------
        name : str
            What the tasks are called.
        make : callable
            Makes of a part what is needed of it.
        together : callable
            Makes the frame of all that, in the order of the parts.
        meta : DataFrame
            The empty frame.
        """
        tasks, key = self._joint(name, make, together)
        return self._frame(name, tasks, [key], meta)

    def value(
        self, name: str, make: Callable[[Any], T], together: Callable[[Sequence[T]], T]
    ) -> Delayed:
        """Give something else that is made of something of each part; see `whole`."""
        from dask.delayed import Delayed

        tasks, key = self._joint(name, make, together)
        delayed: Any = Delayed
        found: Delayed = delayed(key, {**self._tasks, **tasks})
        return found

    def _joint(
        self, name: str, make: Callable[[Any], Any], together: Callable[[Sequence[Any]], Any]
    ) -> tuple[dict[Any, Any], Any]:
        token = token_of(self._token, make)
        tasks: dict[Any, Any] = {
            (f"steer-{name}-of-part-{token}", at): (make, part)
            for at, part in enumerate(self.parts)
        }
        key = (f"steer-{name}-{token_of(token, together)}", 0)
        tasks[key] = (together, list(tasks))
        return tasks, key

    def _frame(
        self, name: str, tasks: dict[Any, Any], keys: list[Any], meta: pd.DataFrame
    ) -> dd.DataFrame:
        frame: dd.DataFrame = dask_frames().from_graph(
            {**self._tasks, **tasks}, meta, (None,) * (len(keys) + 1), keys, f"steer-{name}"
        )
        return frame
