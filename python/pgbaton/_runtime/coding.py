"""Handlers behind the decoder and before the encoder of their worker."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pgbaton._codec import CodecError, Encode, Encoder
from pgbaton._runtime.outcomes import Cancelled, Fail, Retry, Snooze, message_of
from pgbaton._runtime.running import Handler, RunningJob

Decode: TypeAlias = Callable[[RunningJob], Any]
"""Makes of a job what its handler finds as payload."""


@dataclass(frozen=True)
class Coding:
    """The functions of a worker; None leaves payloads or results as they are."""

    encode: Encode | None
    decode: Decode | None

    def around(self, handler: Handler) -> Handler:
        """The handler, which is given what `decode` makes, and of whose result `encode` is made.

        Raises:
            TypeError: the handler's process could not import the functions.
        """
        if self.encode is None and self.decode is None:
            return handler
        if handler.kind == "async":
            return replace(handler, function=AsyncCoded(handler.function, self))
        if handler.kind == "process":
            self._check_process()
        return replace(handler, function=Coded(handler.function, self))

    @contextmanager
    def decoded(self, job: RunningJob) -> Iterator[None]:
        """Hooks see the payload as it is stored, before and after."""
        stored = job.payload
        _set_payload(job, self._decoded(job))
        try:
            yield
        finally:
            _set_payload(job, stored)

    def result(self, job: RunningJob, result: Any) -> Any:
        """As JSON."""
        return Encoder(self.encode).checked_result(result, job.id)

    def _decoded(self, job: RunningJob) -> Any:
        if self.decode is None:
            return job.payload
        try:
            return self.decode(job)
        except (Cancelled, Fail, Retry, Snooze):
            raise
        except Exception as error:
            kind = f" of type {job.job_type}" if job.job_type else ""
            raise CodecError(
                f"the payload of job {job.id}{kind} cannot be decoded: {message_of(error)}"
            ) from error

    def _check_process(self) -> None:
        try:
            pickle.dumps((self.encode, self.decode))
        except Exception as error:
            raise TypeError(
                f"encode and decode of a process must be functions of a module: {error}"
            ) from error


@dataclass(frozen=True)
class Coded:
    """A plain function between the two."""

    function: Callable[[RunningJob], Any]
    coding: Coding

    def __call__(self, job: RunningJob) -> Any:
        with self.coding.decoded(job):
            result = self.function(job)
        return self.coding.result(job, result)


@dataclass(frozen=True)
class AsyncCoded:
    """An `async def` between the two."""

    function: Callable[[RunningJob], Any]
    coding: Coding

    async def __call__(self, job: RunningJob) -> Any:
        with self.coding.decoded(job):
            result = await self.function(job)
        return self.coding.result(job, result)


def _set_payload(job: RunningJob, payload: Any) -> None:
    object.__setattr__(job, "payload", payload)
