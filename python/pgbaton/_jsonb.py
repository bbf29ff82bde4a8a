"""The binary form of jsonb[], as the server's array_recv reads it.

A head, then of each element the length of what follows, a version and the JSON text; of a null
only a length, -1. In the text of an array every quote would be escaped.
"""

from __future__ import annotations

import struct

from psycopg.postgres import types

ARRAY_OID = types["jsonb"].array_oid
VERSION = 1
NULL = struct.pack("!i", -1)

_JSONB = types["jsonb"].oid


def array_head(count: int) -> bytes:
    """Of one dimension, counted from 1, that may hold nulls; an empty array has no dimension."""
    if count == 0:
        return struct.pack("!iiI", 0, 0, _JSONB)
    return struct.pack("!iiIii", 1, 1, _JSONB, count, 1)
