"""Through the JDBC driver of PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import hint_for, in_our_words, raise_database_error

DRIVER = "org.postgresql.Driver"
HOW_TO_GET_ONE = (
    "set spark.jars.packages to org.postgresql:postgresql:42.7.14, or PGBATON_JDBC_JAR to a jar, "
    "or install libpostgresql-jdbc-java"
)
DEBIAN_JAR = Path("/usr/share/java/postgresql.jar")
# How many rows are sent at once. A statement has at most 128 of them; in drivers newer than June
# 2026 (pull request 4207 of pgjdbc) all.
BATCH_SIZE = "1024"


def load_driver(spark: SparkSession) -> str | None:
    """Makes sure that the session has the driver; says why it has not, None if it has."""
    if is_connect(spark):
        return "Spark Connect does not say whether its server has the JDBC driver"
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(DRIVER)
        return None
    except Py4JJavaError:
        jar = find_jar()
    if jar is None:
        return f"no PostgreSQL JDBC driver ({HOW_TO_GET_ONE})"
    try:
        # ADD JAR would do for the work, but then Spark cannot read the driver's exceptions.
        loader.addURL(spark._jvm.java.io.File(str(jar)).toURI().toURL())
        spark.sparkContext._jsc.addJar(str(jar))
        loader.loadClass(DRIVER)
    except Py4JError:
        return f"this Spark session cannot load {jar}: set spark.jars to it"
    return None


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, without a JVM of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def jar_path() -> str:
    """Where the JDBC driver of PostgreSQL is on this machine, for `spark.jars`.

    That of PGBATON_JDBC_JAR, else the one that Debian's libpostgresql-jdbc-java installs.

    Returns:
        str: path of the jar.

    Raises:
        FileNotFoundError: there is none; the message says how to get one.
        ValueError: PGBATON_JDBC_JAR names a file that is not there.
    """
    jar = find_jar()
    if jar is None:
        raise FileNotFoundError(f"no PostgreSQL JDBC driver: {HOW_TO_GET_ONE}")
    return str(jar)


def find_jar() -> Path | None:
    if wanted := os.environ.get("PGBATON_JDBC_JAR"):
        if not Path(wanted).is_file():
            raise ValueError(f"PGBATON_JDBC_JAR is {wanted}: no such file")
        return Path(wanted)
    return DEBIAN_JAR if DEBIAN_JAR.is_file() else None


def write(rows: DataFrame, target: Target) -> None:
    writer = _configured(rows.write.format("jdbc"), target)
    try:
        writer.option("dbtable", "pgbaton.enqueue_inbox").mode("append").save()
    except Py4JJavaError as error:
        _raise_as_ours(error)
    except PySparkException as error:
        first_line = str(error).splitlines()[0]
        raise RuntimeError(f"Spark did not write the jobs: {first_line}") from None


def jdbc_options(dsn: str) -> dict[str, str]:
    """Options for `format("jdbc")` with which Spark reaches the database of a DSN.

    With user and password: keep them out of logs. To enqueue, append with them to the table
    `pgbaton.enqueue_inbox`.

    Args:
        dsn (str): connection string or URL, as psycopg takes it.

    Returns:
        dict[str, str]: url, driver, user, password if there is one, and how Spark is to write.

    Raises:
        ValueError: JDBC cannot reach it, for example through a unix socket.
    """
    target = Target.resolve(dsn)
    if obstacle := target.jdbc_obstacle():
        raise ValueError(obstacle)
    return options(target)


def options(target: Target) -> dict[str, str]:
    """What Spark's JDBC source needs to connect."""
    found = {
        "url": target.jdbc_url(),
        "driver": DRIVER,
        "user": target.user,
        "batchsize": BATCH_SIZE,
        # Spark's default has another name in PostgreSQL, and FIFO keys want this one.
        "isolationLevel": "READ_COMMITTED",
    }
    if target.password:
        found["password"] = target.password
    return found


def _configured(way: Any, target: Target) -> Any:
    return way.options(**options(target))


def _raise_as_ours(error: Py4JJavaError) -> NoReturn:
    """What the database said, without Java's stack and without the rows that Spark prints."""
    for cause in _causes(error):
        if cause.getClass().getName() == "org.postgresql.util.PSQLException":
            said = cause.getServerErrorMessage()
            message = said.getMessage() if said else cause.getMessage()
            hint = said.getHint() if said else None
            state = cause.getSQLState()
            raise_database_error(state, in_our_words(state, message), hint_for(state, hint))
    first_line = (error.java_exception.getMessage() or str(error)).splitlines()[0]
    raise RuntimeError(f"Spark did not write the jobs: {first_line}") from None


def _causes(error: Py4JJavaError) -> Iterator[Any]:
    cause = error.java_exception
    while cause is not None:
        yield cause
        cause = cause.getCause()
