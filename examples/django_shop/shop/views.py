"""What the pages do."""

from __future__ import annotations

import json

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from shop.models import Order
from shop.tasks import confirm, handle


@csrf_exempt
@transaction.atomic
def place_order(request: HttpRequest) -> JsonResponse:
    """The order and its jobs: all of them, or none."""
    order = Order.objects.create(email=json.loads(request.body)["email"])
    result = confirm.enqueue(order_id=order.id)
    handle.enqueue(order.id, step="pack")
    handle.enqueue(order.id, step="send")
    return JsonResponse({"order_id": order.id, "result_id": result.id}, status=201)


def look(request: HttpRequest, result_id: str) -> JsonResponse:
    return JsonResponse({"status": confirm.get_result(result_id).status})
