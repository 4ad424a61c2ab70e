"""Verifies the minted receipts: from Parquet to Parquet."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from appstorereceipt_spark import VerifierOptions, verify_receipts

folder = Path(sys.argv[1])
spark = SparkSession.builder.getOrCreate()
options = VerifierOptions("com.example.app", roots=((folder / "authority/root.der").read_bytes(),))
receipts = spark.read.parquet(str(folder / "receipts"))
verify_receipts(receipts, "receipt", options).write.parquet(str(folder / "verdicts"))
