"""Maintains an Iceberg table in Spark.

    spark.py JARS CATALOG.db STATEMENT...

The jars are those of Iceberg's runtime and of SQLite's driver, comma between. The table is granary.profiles.samples.
Prints the rows of each statement.
"""

import os
import sys


def session(jars, catalog):
    """A session of this process, with the tables of the catalog "granary" in a file of SQLite."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.granary": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.granary.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "spark.sql.catalog.granary.uri": f"jdbc:sqlite:{os.path.abspath(catalog)}",
        "spark.sql.catalog.granary.jdbc.schema-version": "V1",
        "spark.sql.catalog.granary.warehouse": os.path.dirname(os.path.abspath(catalog)),
        "spark.sql.catalog.granary.cache-enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    spark = session(sys.argv[1], sys.argv[2])
    for statement in sys.argv[3:]:
        for row in spark.sql(statement).collect():
            print(statement.split("(")[0], row.asDict())
