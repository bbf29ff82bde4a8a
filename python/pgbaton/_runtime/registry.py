"""Which jobs and keys handlers of this process are at, so that no two run one key at once.

The server sees to that while leases hold. When one is lost, its handler may still run while the
server gives the key's next job, or the same job again, to this very process.
"""

from __future__ import annotations

from threading import Lock

from pgbaton._runtime.running import Run
from pgbaton.models import ClaimedJob

Place = tuple[object, ...]


class Registry:
    """What runs in this process, by database; all workers of the process share one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[Place, list[Run]] = {}

    def enter(self, database: Place, run: Run) -> list[Run]:
        """Notes a run, unless others of its job or key are there: then it returns those."""
        with self._lock:
            others = self._others(database, run.job)
            if not others:
                self._note(database, run)
            return others

    def enter_beside(self, database: Place, run: Run) -> None:
        """Notes a run that may be there together with others of its key."""
        with self._lock:
            self._note(database, run)

    def leave(self, database: Place, run: Run) -> None:
        with self._lock:
            for place in _places(database, run.job):
                runs = self._runs[place]
                runs.remove(run)
                if not runs:
                    del self._runs[place]

    def _others(self, database: Place, job: ClaimedJob) -> list[Run]:
        return [run for place in _places(database, job) for run in self._runs.get(place, ())]

    def _note(self, database: Place, run: Run) -> None:
        for place in _places(database, run.job):
            self._runs.setdefault(place, []).append(run)


def _places(database: Place, job: ClaimedJob) -> list[Place]:
    places: list[Place] = [(database, job.id)]
    if job.singleton_key is not None:
        places.append((database, job.queue, job.singleton_key))
    return places


REGISTRY = Registry()
