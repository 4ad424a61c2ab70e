"""Executors that are processes of their own get the packages as an archive. Needs FOLDER, which example/mint.py made,
and DEPENDENCIES, a tar of the packages."""

import os
import unittest
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyspark

# What a cluster on one machine needs to start its processes.
os.environ |= {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}

from pyspark.sql import SparkSession

from appstorereceipt_spark import VerifierOptions, verify_receipts

FOLDER, DEPENDENCIES = Path(os.environ["FOLDER"]).resolve(), Path(os.environ["DEPENDENCIES"]).resolve()


class ShippingTests(unittest.TestCase):
    def test_executors_use_the_packages_of_the_archive(self) -> None:
        spark = (
            SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false").config("spark.archives", f"{DEPENDENCIES}#deps")
            .config("spark.executorEnv.PYTHONPATH", "deps").getOrCreate())
        spark.sparkContext.setLogLevel("OFF")

        def place(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import appstorereceipt
            import appstorereceipt_spark

            for _ in batches:
                yield pa.RecordBatch.from_pydict({"place": [appstorereceipt.__file__, appstorereceipt_spark.__file__]})

        try:
            receipts = spark.read.parquet(str(FOLDER / "receipts"))
            options = VerifierOptions("com.example.app", roots=((FOLDER / "authority/root.der").read_bytes(),))
            verdicts = verify_receipts(receipts, "receipt", options).select("code", "fault").collect()
            self.assertEqual(Counter(row.code for row in verdicts), Counter(row.fault for row in verdicts))
            self.assertEqual(len(verdicts), receipts.count())
            places = {row.place for row in receipts.mapInArrow(place, "place string").distinct().collect()}
            self.assertTrue(places and all("/deps/" in place for place in places), places)
        finally:
            spark.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
