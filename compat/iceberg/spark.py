"""Maintains an Iceberg table in Spark.

    spark.py [--s3 URL] JARS CATALOG STATEMENT...

The jars are those of Iceberg's runtime, of SQLite's driver and of Iceberg's bundle for S3, comma between. The table is
granary.profiles.samples of a file of SQLite, or of a REST catalog with that URL. Its files are in the S3, if one is given.
Prints the rows of each statement.
"""

import argparse
import os


def catalog_settings(catalog, s3):
    """The settings of the catalog "granary" by their names."""
    settings = {"cache-enabled": "false"}
    if "://" in catalog:
        settings |= {"type": "rest", "uri": catalog}
    else:
        folder = os.path.dirname(os.path.abspath(catalog))
        settings |= {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": f"jdbc:sqlite:{os.path.abspath(catalog)}"}
        settings |= {"jdbc.schema-version": "V1", "warehouse": folder}
    if s3:
        settings |= {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.endpoint": s3, "s3.path-style-access": "true"}
        settings |= {"client.region": "us-east-1", "warehouse": "s3://granary"}
    return settings


def session(jars, catalog, s3):
    """A session of this process, with the tables of the catalog "granary"."""
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
    }
    for name, value in catalog_settings(catalog, s3).items():
        settings["spark.sql.catalog.granary." + name] = value
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--s3")
    arguments.add_argument("jars")
    arguments.add_argument("catalog")
    arguments.add_argument("statements", nargs="+")
    given = arguments.parse_args()
    spark = session(given.jars, given.catalog, given.s3)
    for statement in given.statements:
        for row in spark.sql(statement).collect():
            print(statement.split("(")[0], row.asDict())
