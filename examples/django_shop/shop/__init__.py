"""A shop that confirms orders by mail."""
