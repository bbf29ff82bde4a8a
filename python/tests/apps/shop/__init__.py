"""A Django app for tests."""
