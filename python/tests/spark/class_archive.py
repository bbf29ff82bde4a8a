"""Writes an archive of Spark's classes to a path: JVMs that are told of it start faster."""

from __future__ import annotations

import sys

from drivers import new_session, steps

from pgbaton.demo._java import java_for_spark

if __name__ == "__main__":
    # Only the driver's: the JVM that Spark asks for the command has other classes.
    archiving = f"-XX:ArchiveClassesAtExit={sys.argv[1]} -Xlog:disable"
    with java_for_spark():
        spark = new_session("local[2]", {"spark.driver.extraJavaOptions": archiving})
        steps(spark).repartition(4, "k").sortWithinPartitions("k", "step").mapInArrow(
            lambda batches: batches, "k string, step int"
        ).selectExpr("to_json(struct(*)) as payload").collect()
        gateway = spark.sparkContext._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
