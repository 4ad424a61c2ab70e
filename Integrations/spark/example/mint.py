"""Mints receipts of an imaginary app into Parquet: id, account, receipt, and the fault that some were given."""

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

SHARE_OF_FAULTS = {"bundle-id-mismatch": 0.02, "environment-mismatch": 0.01, "invalid-signature": 0.01, "truncated": 0.005, "empty-input": 0.002}
"""The codes of the refusals to make, and their shares."""
BUNDLE_ID = "com.example.app"
ROWS_PER_GROUP = 2000
FILE_COUNT = 8
SCHEMA = pa.schema({"id": pa.int64(), "account": pa.string(), "receipt": pa.string(), "fault": pa.string()})


def specification(number: int, fault: str | None, numbers: random.Random) -> dict:
    created = datetime(2020, 1, 1) + timedelta(minutes=numbers.randrange(5 * 365 * 24 * 60))
    purchases = []
    for index in range(1 + int(numbers.expovariate(1 / 3))):
        bought = created - timedelta(days=30 * index, minutes=numbers.randrange(1000))
        purchases.append({
            "quantity": 1, "product_id": "com.example.app." + numbers.choice(["monthly", "monthly", "yearly", "coins"]),
            "transaction_id": str(number * 1000 + index), "original_transaction_id": str(number * 1000), "product_type": 3,
            "purchase_date": bought.isoformat() + "Z", "original_purchase_date": bought.isoformat() + "Z",
            "expires_date": (bought + timedelta(days=30)).isoformat() + "Z", "web_order_line_item_id": number * 1000 + index,
            "is_trial_period": False,
        })
    return {
        "receipt_type": "ProductionSandbox" if fault == "environment-mismatch" else "Production",
        "bundle_id": "com.example.other" if fault == "bundle-id-mismatch" else BUNDLE_ID,
        "receipt_creation_date": created.isoformat() + "Z", "in_app": purchases,
    }


def with_fault(receipt: str, fault: str | None) -> str | None:
    if fault == "invalid-signature":
        # The signature is the last element.
        return receipt[:-40] + ("A" if receipt[-40] != "A" else "B") + receipt[-39:]
    if fault == "truncated":
        return receipt[: len(receipt) // 8 * 4]
    return None if fault == "empty-input" else receipt


def receipts(count: int, receipt: Path, authority: Path) -> Iterator[tuple[int, str | None, str | None]]:
    numbers = random.Random(count)
    faults = [None, *SHARE_OF_FAULTS]
    shares = [1 - sum(SHARE_OF_FAULTS.values()), *SHARE_OF_FAULTS.values()]
    chosen = numbers.choices(faults, shares, k=count)
    with tempfile.NamedTemporaryFile("w") as specifications:
        for number, fault in enumerate(chosen):
            print(json.dumps(specification(number, fault, numbers)), file=specifications)
        specifications.flush()
        words = [receipt, "mint", "--ca", authority, "--lines", specifications.name]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as minting:
            assert minting.stdout is not None
            for number, (line, fault) in enumerate(zip(minting.stdout, chosen, strict=True)):
                yield number, with_fault(line.rstrip("\n"), fault), fault
        if minting.returncode:
            raise SystemExit("receipt mint failed")


def mint(count: int, folder: Path, receipt: Path) -> None:
    folder.mkdir(parents=True)
    authority = folder / "authority"
    subprocess.run([receipt, "ca", "--out", authority], check=True, stdout=subprocess.DEVNULL)
    (folder / "receipts").mkdir()
    writers = [pa.parquet.ParquetWriter(folder / f"receipts/part-{index}.parquet", SCHEMA) for index in range(FILE_COUNT)]
    rows: list[dict] = []

    def write() -> None:
        writer = writers.pop(0)
        writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
        writers.append(writer)
        rows.clear()

    for number, text, fault in receipts(count, receipt, authority):
        rows.append({"id": number, "account": f"account-{number % 50_000}", "receipt": text, "fault": fault})
        if len(rows) == min(ROWS_PER_GROUP, -(-count // FILE_COUNT)):
            write()
    if rows:
        write()
    for writer in writers:
        writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder: authority/, the keys of the minting authority, and receipts/, the Parquet files")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--receipt", type=Path, required=True, help="the command of this project")
    options = parser.parse_args()
    mint(options.count, options.folder, options.receipt)
