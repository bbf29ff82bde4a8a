"""For Django."""
