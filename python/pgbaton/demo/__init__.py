"""The demo: a year of flights through Spark and the queue, in order per aircraft."""


class Stuck(RuntimeError):
    """A worker died or nothing moves any more; the message is one sentence."""
