"""The pages of the shop."""

from __future__ import annotations

from django.urls import path

from shop import views

urlpatterns = [
    path("orders", views.place_order),
    path("results/<result_id>", views.look),
]
