"""Rows per second of each way through Spark, beside an identity job of the same kind and beside the batch, over
receipts that example/mint.py made.

The ways take turns. Each has two threads, or processes, and its output is thrown away. At the end: the processor time
of the steps of ``verify_receipts`` in one process."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset
from pyspark.sql import DataFrame, SparkSession

from appstorereceipt_spark import VerifierOptions, _batches, batches, verify_receipts

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path)
parser.add_argument("--receipt", type=Path, required=True, help="the command of this project")
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()
folder, receipt = options.folder.resolve(), options.receipt.resolve()
root = folder / "authority/root.der"
# The workers run in this environment, too.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
words = [str(receipt), "batch", "--root", str(root), "--bundle-id", "com.example.app", "--environment", "production", "--allow-refused", "--quiet"]
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.memory", "2g").config("spark.sql.execution.arrow.maxRecordsPerBatch", "1000").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
receipts = spark.read.parquet(str(folder / "receipts")).select("id", "receipt")
count = receipts.count()
receipts.createOrReplaceTempView("receipts")
lines = tempfile.NamedTemporaryFile("w")
for part in pyarrow.dataset.dataset(folder / "receipts").to_batches(columns=["id", "receipt"], batch_size=1000):
    for id, text in zip(*part.to_pydict().values()):
        lines.write(f'{{"id":{id},"receipt-data":"{text or ""}"}}\n')
lines.flush()


def noop(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def transform(command: str) -> None:
    noop(spark.sql(
        "SELECT TRANSFORM(to_json(struct(id, coalesce(receipt, '') AS `receipt-data`))) "
        f"USING '{command}' AS (line STRING) FROM receipts"))


def batch(*more: str) -> None:
    subprocess.run([*words, "--jobs", "2", *more, lines.name], stdout=subprocess.DEVNULL, check=True)


accepted = VerifierOptions("com.example.app", roots=(root.read_bytes(),))
command = " ".join([*words, "--jobs", "1"])
ways: dict[str, Callable[[], None]] = {
    "identity: mapInArrow": lambda: noop(receipts.mapInArrow(lambda batches: batches, receipts.schema)),
    "verify_receipts": lambda: noop(verify_receipts(receipts, "receipt", accepted)),
    "identity: TRANSFORM with cat": lambda: transform("cat"),
    "TRANSFORM with receipt batch --brief": lambda: transform(f"{command} --brief"),
    "TRANSFORM with receipt batch": lambda: transform(command),
    "receipt batch --brief --jobs 2": lambda: batch("--brief"),
    "receipt batch --jobs 2": lambda: batch(),
}
rates: dict[str, list[float]] = {name: [] for name in ways}
for round_ in range(options.rounds + 1):
    for name, run in ways.items():
        start = time.perf_counter()
        run()
        # The first round starts processes and fills caches.
        if round_:
            rates[name].append(count / (time.perf_counter() - start))
print(f"{count:,} rows; medians of {options.rounds} rounds")
print("| way | rows per second | all |\n| --- | ---: | --- |")
for name, all_ in rates.items():
    print(f"| {name} | {statistics.median(all_):,.0f} | {', '.join(f'{rate:,.0f}' for rate in all_)} |")


def ratio(name: str, base: str) -> None:
    ratios = [a / b for a, b in zip(rates[name], rates[base], strict=True)]
    print(f"{name}: {statistics.median(ratios):.2f} x {base} ({', '.join(f'{each:.2f}' for each in ratios)})")


ratio("verify_receipts", "identity: mapInArrow")
ratio("TRANSFORM with receipt batch --brief", "identity: TRANSFORM with cat")
ratio("TRANSFORM with receipt batch", "identity: TRANSFORM with cat")
ratio("verify_receipts", "receipt batch --jobs 2")
ratio("TRANSFORM with receipt batch --brief", "receipt batch --brief --jobs 2")
spark.stop()

print("| step of verify_receipts | processor time a row |\n| --- | ---: |")
first = next(iter(pyarrow.dataset.dataset(folder / "receipts").to_batches(columns=["id", "receipt"], batch_size=5000)))
evidence = [each or b"" for each in first.column(1).cast(pyarrow.binary()).to_pylist()]
verifier = _batches.verifier(accepted)
verify = batches("receipt", accepted)
steps: dict[str, Callable[[], object]] = {
    "verification alone (accepts)": lambda: [verifier.accepts(each) for each in evidence],
    "and the verdict as JSON (verdict_json)": lambda: [verifier.verdict_json(each) for each in evidence],
    "and typed columns (verify_receipts)": lambda: list(verify([first])),
}
for name, step in steps.items():
    times = []
    for _ in range(5):
        start = time.process_time()
        step()
        times.append((time.process_time() - start) / first.num_rows * 1e6)
    print(f"| {name} | {statistics.median(times):.1f} us |")
