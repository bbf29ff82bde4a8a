"""A libpq DSN as other programs need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgbaton.client import Client

# What libpq and the JDBC driver both know, by the driver's name.
JDBC_NAMES = {
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
}
# Settled by the connection that resolved the DSN, or without meaning for the driver.
SETTLED = {
    *("host", "port", "dbname", "user", "password", "passfile", "service", "servicefile"),
    *("client_encoding", "fallback_application_name", "gssencmode", "load_balance_hosts"),
    *("keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval"),
    *("target_session_attrs", "tcp_user_timeout"),
}


@dataclass(frozen=True)
class Target:
    """One database, with all that libpq took from the environment, service and password files."""

    host: str
    port: int
    dbname: str
    user: str
    password: str = field(repr=False)
    options: Mapping[str, str]

    @classmethod
    def resolve(cls, dsn: str, password: str | None = None) -> Target:
        conninfo = make_conninfo(dsn, password=password) if password else dsn
        with connected(conninfo) as connection:
            info = connection.info
            Client(connection=connection).version()  # raises if it is another one, or none
            # From the environment only what matters: libpq lists a dozen more.
            found = {k: v for k, v in info.get_parameters().items() if k in JDBC_NAMES}
            given = {**found, **conninfo_to_dict(dsn)}
            options = {k: str(v) for k, v in given.items() if k not in SETTLED}
            return cls(info.host, info.port, info.dbname, info.user, info.password, options)

    def conninfo(self, with_password: bool = True) -> str:
        return make_conninfo(
            host=self.host,
            port=self.port,
            dbname=self.dbname,
            user=self.user,
            password=(with_password and self.password) or None,
            **self.options,
        )

    def connect(self) -> psycopg.Connection[Any]:
        """Under READ COMMITTED whatever the default is: a higher level only fails more often."""
        connection = connected(self.conninfo())
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connection

    def jdbc_obstacle(self) -> str | None:
        """Why JDBC cannot reach this database; None if it can."""
        if self.host.startswith(("/", "@")) or not self.host:
            return "JDBC cannot use a unix socket (pgbaton db dsn --tcp prints another DSN)"
        if strange := sorted(set(self.options) - set(JDBC_NAMES)):
            return f"JDBC does not know {', '.join(strange)} of this DSN"
        return None

    def jdbc_url(self) -> str:
        """Without user and password, since a URL ends up in logs."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        given = {JDBC_NAMES[name]: value for name, value in self.options.items()}
        # Statements of many rows instead of one, and text that becomes what the column is.
        given |= {"reWriteBatchedInserts": "true", "stringtype": "unspecified"}
        # What the server adds to an error is the row, and Spark logs it.
        given |= {"logServerErrorDetail": "false"}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
        return f"jdbc:postgresql://{host}:{self.port}/{quote(self.dbname, safe='')}?{query}"


def connected(conninfo: str) -> psycopg.Connection[Any]:
    """In UTF-8, as Spark's texts are, whatever the role or the environment have set."""
    return psycopg.connect(conninfo, client_encoding="UTF8", fallback_application_name="pgbaton")
