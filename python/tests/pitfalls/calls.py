"""What the pitfall tests do again and again."""

from __future__ import annotations

from sessions import Session


def run_all(worker: Session, queue: str = "q") -> list[int]:
    """Claims and completes one job after the other until nothing is handed out."""
    ran: list[int] = []
    while claimed := worker.claim(queue, 1):
        assert worker.complete(claimed) == ["ok"]
        ran += claimed
    return ran


def fail(worker: Session, claimed: dict[int, int], **options: object) -> str:
    """Fails the only job of a claim and returns the state it has then."""
    ((job, token),) = claimed.items()
    return worker.one(
        "select pgbaton.fail_job(%(job)s, 'no', %(token)s, %(retryable)s, %(retry_in)s)",
        job=job,
        token=token,
        **({"retryable": True, "retry_in": None} | options),
    )


def state(db: Session, job: int) -> str:
    return db.one("select state::text from pgbaton.jobs where id = %s", job)
