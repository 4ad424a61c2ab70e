"""Spark on this machine over a few thousand minted receipts. Needs FOLDER, which example/mint.py made, and RECEIPT, the
command."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from appstorereceipt import VerificationError
from appstorereceipt_spark import VERDICT, VerifierOptions, batches, output_schema, verify_receipts

FOLDER, RECEIPT = Path(os.environ["FOLDER"]).resolve(), Path(os.environ["RECEIPT"]).resolve()
ROOT = FOLDER / "authority/root.der"
OPTIONS = VerifierOptions("com.example.app", roots=(ROOT.read_bytes(),))
COMMAND = f"{RECEIPT} batch --root {ROOT.resolve()} --bundle-id com.example.app --environment production --jobs 1 --quiet"


class SparkTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # Two threads, and four attempts for each task.
        cls.spark = (
            SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "200").config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.files.maxPartitionBytes", "1m").getOrCreate())
        cls.spark.sparkContext.setLogLevel("OFF")
        cls.receipts = cls.spark.read.parquet(str(FOLDER / "receipts"))
        cls.expected = {row.id: row.fault for row in cls.receipts.select("id", "fault").collect()}

    @classmethod
    def tearDownClass(cls) -> None:
        cls.spark.stop()

    def assert_exact(self, rows: Iterable[tuple[int, str | None]]) -> None:
        """One row for each receipt, with the code that it was minted for."""
        rows = list(rows)
        self.assertEqual(len(rows), len(self.expected))
        self.assertEqual(dict(rows), self.expected)

    def test_each_row_has_its_verdict_and_refused_rows_are_rows(self) -> None:
        verdicts = verify_receipts(self.receipts, "receipt", OPTIONS)
        self.assertEqual(verdicts.columns, ["id", "account", "fault", *VERDICT.names])
        rows = verdicts.select("id", "code", "verified").collect()
        self.assert_exact((row.id, row.code) for row in rows)
        self.assertEqual({row.verified for row in rows if row.code is None}, {True})
        self.assertEqual({row.verified for row in rows if row.code}, {False})

    def test_columns_have_the_values_of_the_command(self) -> None:
        """Row by row: the command's JSON beside the columns."""
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "lines"
            texts = self.receipts.orderBy("id").select("id", "receipt").collect()
            lines.write_text("".join(f"{row.receipt or ''}\n" for row in texts))
            output = subprocess.run([*COMMAND.split(), "--allow-refused", lines], capture_output=True, check=True).stdout
        rows = verify_receipts(self.receipts, "receipt", OPTIONS).orderBy("id").collect()
        fields = [
            "product_id", "transaction_id", "original_transaction_id", "quantity", "purchase_date", "original_purchase_date", "expires_date",
            "is_trial_period"]
        for row, line in zip(rows, output.splitlines(), strict=True):
            verdict = json.loads(line)
            self.assertEqual(row.verified, verdict["verified"])
            self.assertEqual(row.code, verdict.get("error", {}).get("code"))
            self.assertEqual(row.category, verdict.get("error", {}).get("category"))
            if not row.verified:
                self.assertEqual([row.kind, row.environment, row.bundle_id, row.purchases], [None] * 4)
                continue
            receipt = verdict["receipt"]
            self.assertEqual((row.kind, row.environment, row.bundle_id), ("receipt", "production", receipt["bundle_id"]))
            self.assertEqual(row.signed_date.isoformat() + "Z", receipt["receipt_creation_date"])
            for purchase, expected in zip(row.purchases, receipt["in_app"], strict=True):
                for name in fields:
                    value = purchase[name].isoformat() + "Z" if isinstance(purchase[name], datetime) else purchase[name]
                    self.assertEqual(value, expected.get(name), name)
                self.assertEqual(purchase.web_order_line_item_id, str(expected["web_order_line_item_id"]))
                self.assertIsNone(purchase.revocation_date)

    def test_a_task_that_dies_half_way_is_tried_again_and_counts_stay_exact(self) -> None:
        verify = batches("receipt", OPTIONS)
        deaths = Path(tempfile.mkdtemp())

        def dying(inputs: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            for index, batch in enumerate(verify(inputs)):
                if context.attemptNumber() < 2 and context.partitionId() % 2 == 0 and index == 1:
                    (deaths / f"{context.partitionId()}-{context.attemptNumber()}").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        verdicts = self.receipts.mapInArrow(dying, output_schema(self.receipts, "receipt"))
        with tempfile.TemporaryDirectory() as folder:
            verdicts.write.parquet(f"{folder}/verdicts")
            self.assert_exact((row.id, row.code) for row in self.spark.read.parquet(f"{folder}/verdicts").select("id", "code").collect())
        self.assertGreaterEqual(len(list(deaths.iterdir())), 2)

    def transform(self, command: str) -> DataFrame:
        self.receipts.createOrReplaceTempView("receipts")
        return self.spark.sql(
            f"""SELECT verdict.input.id, verdict.verified, verdict.error.code FROM (
                SELECT from_json(line, 'input STRUCT<id: BIGINT>, verified BOOLEAN, error STRUCT<code: STRING>') AS verdict FROM (
                    SELECT TRANSFORM(to_json(struct(id, coalesce(receipt, '') AS `receipt-data`)))
                    USING '{command}' AS (line STRING) FROM receipts))""")

    def test_transform_has_the_same_verdicts(self) -> None:
        rows = self.transform(f"{COMMAND} --brief --allow-refused").collect()
        self.assert_exact((row.id, row.code) for row in rows)
        self.assertEqual({row.id for row in rows if row.verified}, {id for id, fault in self.expected.items() if fault is None})

    def test_a_transform_whose_command_dies_half_way_is_tried_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "dying"
            script.write_text(
                f"#!/bin/sh\nif mkdir {folder}/died 2> /dev/null; then head -n 300 | {COMMAND} --brief --allow-refused; kill -9 $$; fi\n"
                f"exec {COMMAND} --brief --allow-refused\n")
            script.chmod(0o755)
            self.assert_exact((row.id, row.code) for row in self.transform(str(script)).collect())
            self.assertTrue((Path(folder) / "died").exists())

    def test_entitlements_are_those_at_the_date(self) -> None:
        at = datetime(2023, 6, 1, tzinfo=timezone.utc)
        rows = verify_receipts(self.receipts.limit(300), "receipt", OPTIONS, at=at).collect()
        found = Counter()
        for row in rows:
            self.assertEqual(row.entitlements is None, not row.verified)
            purchases = {purchase.transaction_id: purchase for purchase in row.purchases or []}
            for item in row.entitlements or []:
                found[item.access] += 1
                self.assertEqual((item.gives_access, item.grantable), (item.access == "active",) * 2)
                purchase = purchases.pop(item.transaction_id)
                self.assertEqual(item.access == "active", purchase.purchase_date <= datetime(2023, 6, 1) < purchase.expires_date)
            self.assertFalse(purchases)
        self.assertGreater(found["active"], 0)
        self.assertGreater(found["expired"], 0)

    def test_bytes_and_strings_are_the_same(self) -> None:
        binary = self.receipts.limit(50).withColumn("receipt", f.col("receipt").cast("binary"))
        self.assertEqual(
            verify_receipts(binary, "receipt", OPTIONS).drop("id").collect(),
            verify_receipts(self.receipts.limit(50), "receipt", OPTIONS).drop("id").collect())

    def test_wrong_use_is_refused_before_a_job_starts(self) -> None:
        for call in [
            lambda: verify_receipts(self.receipts, "no such column", OPTIONS),
            lambda: verify_receipts(self.receipts.withColumn("code", f.lit("x")), "receipt", OPTIONS),
            lambda: verify_receipts(self.receipts, "receipt", OPTIONS, at=datetime(2023, 6, 1)),
        ]:
            self.assertRaises(ValueError, call)
        self.assertRaises(VerificationError, verify_receipts, self.receipts, "receipt", VerifierOptions(environments=("moon",)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
