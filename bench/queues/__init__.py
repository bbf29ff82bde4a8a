"""The queues that bench/peers.py compares, each behind the same few calls."""

from .base import Queue
from .node_peers import GraphileWorker, PgBoss
from .own import Pgbaton
from .pgq import PgQ
from .python_peers import Absurd, PgQueuer, Procrastinate
from .textbook import Textbook

QUEUES: dict[str, type[Queue]] = {
    queue.name: queue
    for queue in (Pgbaton, Textbook, Procrastinate, PgQueuer, GraphileWorker, PgBoss, Absurd, PgQ)
}
