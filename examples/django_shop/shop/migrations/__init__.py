"""Of the shop."""
