"""Django's tasks: part of Django since 6.0, before that the package django-tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "BaseTaskBackend",
    "InvalidTaskBackend",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskOf",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "normalize_json",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]

if TYPE_CHECKING:
    from django.tasks import task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import InvalidTaskBackend, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started

    TaskOf = Task

    def normalize_json(value: Any) -> Any: ...
else:
    try:
        import django.tasks  # noqa: F401
    except ImportError:
        try:
            from django_tasks import task_backends
        except ImportError as error:
            raise ImportError(
                "Django's tasks are part of Django since 6.0: before, pip install django-tasks"
            ) from error
        from django_tasks.backends.base import BaseTaskBackend
        from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django_tasks.exceptions import InvalidTaskBackendError as InvalidTaskBackend
        from django_tasks.exceptions import TaskResultDoesNotExist
        from django_tasks.signals import task_enqueued, task_finished, task_started
        from django_tasks.utils import normalize_json
    else:
        from django.tasks import task_backends
        from django.tasks.backends.base import BaseTaskBackend
        from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
        from django.tasks.exceptions import InvalidTaskBackend, TaskResultDoesNotExist
        from django.tasks.signals import task_enqueued, task_finished, task_started
        from django.utils.json import normalize_json

    class _Same:
        """Of Django's own Task only type checkers know that it is generic."""

        def __getitem__(self, _: object) -> type[Task]:
            return Task

    TaskOf = _Same()
