"""Verdicts on evidence of every kind, without Spark. Needs RECEIPT, the command."""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from dataclasses import fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from appstorereceipt import VerificationError
from appstorereceipt_spark import VerifierOptions, batches

RECEIPT = Path(os.environ["RECEIPT"]).resolve()
VECTORS = Path(__file__).resolve().parents[3] / "TestVectors"
DATE = "2024-02-03T04:05:06Z"


class BatchesTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.roots = []
        for key in ["rsa", "ec"]:
            cls.run_receipt("ca", "--key", key, "--out", f"{cls.folder.name}/{key}")
            cls.roots.append((Path(cls.folder.name) / key / "root.der").read_bytes())
        issuer = next((Path(cls.folder.name) / "rsa").glob("intermediate*.der")).read_bytes()
        cls.options = VerifierOptions(environments=("production", "sandbox"), roots=tuple(cls.roots), transaction_receipt_issuers=(issuer,))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @staticmethod
    def run_receipt(*words: str, input: str = "") -> str:
        return subprocess.run([RECEIPT, *words], input=input, capture_output=True, text=True, check=True).stdout

    def mint(self, key: str, specification: dict[str, Any]) -> str:
        return self.run_receipt("mint", "--ca", f"{self.folder.name}/{key}", input=json.dumps(specification)).strip()

    def rows(
        self, *evidence: str | bytes | None, type: pa.DataType = pa.string(), options: VerifierOptions | None = None, at: datetime | None = None
    ) -> list[dict[str, Any]]:
        batch = pa.RecordBatch.from_arrays([pa.array(range(len(evidence))), pa.array(evidence, type)], names=["id", "evidence"])
        rows = [row for output in batches("evidence", options or self.options, at)([batch]) for row in output.to_pylist()]
        self.assertEqual([row["id"] for row in rows], list(range(len(evidence))))
        return rows

    def test_every_kind_has_the_same_columns(self) -> None:
        purchase = {"productId": "pro", "transactionId": "7", "originalTransactionId": "5", "bundleId": "com.example.app", "expiresDate": DATE,
                    "environment": "Sandbox", "signedDate": DATE, "webOrderLineItemId": "123"}
        old = {"bundle_id": "com.example.app", "product_id": "pro", "transaction_id": "10000000000007"}
        receipt = {"bundle_id": "com.example.app", "in_app": [
            {"product_id": "pro", "transaction_id": "7", "cancellation_date": DATE, "web_order_line_item_id": 123}]}
        rows = self.rows(
            self.mint("ec", {"transaction": purchase}), self.mint("ec", {"notification": {"notificationType": "REFUND"}, "transaction": purchase}),
            self.mint("ec", {"app_transaction": {"bundleId": "com.example.app"}}), self.mint("rsa", {"transaction_receipt": old}),
            self.mint("rsa", receipt))
        self.assertEqual([row["code"] for row in rows], [None] * 5)
        self.assertEqual([row["kind"] for row in rows], ["transaction", "notification", "app_transaction", "transaction_receipt", "receipt"])
        self.assertEqual({row["bundle_id"] for row in rows}, {"com.example.app"})
        self.assertTrue({row["environment"] for row in rows} <= {"production", "sandbox"})
        self.assertEqual([len(row["purchases"]) for row in rows], [1, 1, 0, 1, 1])
        for row in rows[:2]:
            [bought] = row["purchases"]
            self.assertEqual((bought["transaction_id"], bought["original_transaction_id"], bought["quantity"]), ("7", "5", 1))
            self.assertEqual((bought["expires_date"].year, bought["web_order_line_item_id"]), (2024, "123"))
        self.assertEqual(rows[3]["purchases"][0]["transaction_id"], "10000000000007")
        self.assertEqual(rows[4]["purchases"][0]["revocation_date"].isoformat(), "2024-02-03T04:05:06+00:00")
        self.assertEqual(rows[4]["purchases"][0]["web_order_line_item_id"], "123")

    def test_the_environment_is_the_one_that_the_library_finds(self) -> None:
        purchase = {"productId": "pro", "transactionId": "7", "originalTransactionId": "5", "bundleId": "com.example.app",
                    "environment": "Sandbox", "signedDate": DATE}
        data = {"bundleId": "com.example.app", "environment": "Sandbox"}
        # Members that Apple does not write here.
        others: list[dict[str, Any]] = [{"environment": "Production"}, {"environment": "Moon"}, {"receiptType": "Production"}]
        rows = self.rows(
            *(self.mint("ec", {"notification": {"notificationType": "REFUND", "data": data} | other, "transaction": purchase}) for other in others),
            self.mint("ec", {"notification": {"notificationType": "RENEWAL_EXTENSION", "summary": data}}),
            at=datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.assertEqual([row["environment"] for row in rows], ["sandbox"] * 4)
        self.assertEqual([len(row["entitlements"]) for row in rows], [1, 1, 1, 0])

    def test_what_is_no_evidence_is_a_row(self) -> None:
        texts = [None, "", "x", "{", "\u0000", "é" * 10, '{"receipt-data":1}']
        for rows in [self.rows(*texts), self.rows(*(text and text.encode() for text in texts), type=pa.binary())]:
            self.assertEqual({row["verified"] for row in rows}, {False})
            self.assertTrue(all(row["code"] and row["category"] for row in rows))
            self.assertEqual({row["purchases"] for row in rows}, {None})

    def test_every_vector_is_a_row(self) -> None:
        """Signed by a trusted signer or not: nothing but a fault of the host may end a job. None of these is one."""
        authorities = sorted((VECTORS / "authority").glob("*.der"))
        texts = [path.read_bytes() for path in sorted(VECTORS.rglob("*")) if path.suffix in (".der", ".ber", ".pem", ".txt", ".jws")]
        for app in [{}, {"bundle_id": "com.example.app"}]:
            options = VerifierOptions(
                **app, environments=("production", "sandbox"), roots=tuple(path.read_bytes() for path in authorities if "root" in path.stem),
                transaction_receipt_issuers=tuple(path.read_bytes() for path in authorities if "i" == path.stem[0]), allows_rsa_1024=True)
            for at in [None, datetime(2026, 1, 1, tzinfo=timezone.utc)]:
                rows = self.rows(*texts, type=pa.binary(), options=options, at=at)
                self.assertGreater(sum(row["verified"] for row in rows), 100)
                self.assertTrue(all(row["verified"] or row["code"] for row in rows))

    def test_what_is_signed_and_strange_is_a_row(self) -> None:
        start = {"productId": "pro", "transactionId": "7", "originalTransactionId": "5", "bundleId": "com.example.app", "type": "Consumable"}
        strange: list[tuple[dict[str, Any], str, Any]] = [
            ({"expiresDate": 253402300800000}, "expires_date", None), ({"expiresDate": 2**63 - 1}, "expires_date", None),
            ({"originalPurchaseDate": -(2**63)}, "original_purchase_date", None),
            ({"originalPurchaseDate": -62135596800000}, "original_purchase_date", datetime(1, 1, 1, tzinfo=timezone.utc)),
            ({"expiresDate": 253402300799999}, "expires_date", datetime(9999, 12, 31, 23, 59, 59, 999000, timezone.utc)),
            ({"quantity": 2**63 - 1}, "quantity", 2**63 - 1), ({"quantity": 0}, "quantity", 0), ({"another": 2**63}, "quantity", 1),
            ({"data": 5}, "product_id", "pro"), ({"another": int("9" * 4000)}, "product_id", "pro"),
            ({"webOrderLineItemId": "9" * 30}, "web_order_line_item_id", None),
        ]
        rows = self.rows(
            *(self.mint("ec", {"transaction": start | members}) for members, _, _ in strange), at=datetime(2026, 1, 1, tzinfo=timezone.utc))
        for (members, name, value), row in zip(strange, rows):
            self.assertTrue(row["verified"], (members, row["code"]))
            self.assertEqual(row["purchases"][0][name], value, members)
            self.assertEqual(len(row["entitlements"]), 1)
        # Members that other kinds have, with other types.
        [renewal] = self.rows(self.mint("ec", {"renewal_info": {"originalTransactionId": "5", "bundleId": 5, "quantity": [], "data": 5}}))
        self.assertEqual((renewal["verified"], renewal["bundle_id"], renewal["purchases"]), (True, None, []))

    def test_the_type_of_a_product_can_be_stated(self) -> None:
        old = self.mint("rsa", {"transaction_receipt": {"bundle_id": "com.example.app", "product_id": "coins", "transaction_id": "10000000000007"}})
        at = datetime(2026, 1, 1, tzinfo=timezone.utc)
        stated = replace(self.options, product_types=("coins=consumable",))
        for options, access, source in [(self.options, "undetermined", None), (stated, "consumable", "setting")]:
            [row] = self.rows(old, options=options, at=at)
            [item] = row["entitlements"]
            self.assertEqual((item["access"], item["product_type_source"]), (access, source))
        with self.assertRaises(VerificationError):
            self.rows(old, options=replace(self.options, product_types=()))

    def test_none_is_an_error_and_no_default(self) -> None:
        for field in fields(VerifierOptions):
            with self.assertRaises(VerificationError) as raised:
                batches("evidence", replace(self.options, **{field.name: None}))
            self.assertEqual((raised.exception.code, raised.exception.message), ("usage", f"the option {field.name} cannot be read"))

    def test_options_are_the_same_in_another_process(self) -> None:
        code = "import pickle, sys; from appstorereceipt_spark import batches; batches('evidence', pickle.load(sys.stdin.buffer))"
        for options in [VerifierOptions(), self.options]:
            sent = pickle.dumps(options)
            self.assertEqual((pickle.loads(sent), hash(pickle.loads(sent))), (options, hash(options)))
            subprocess.run([sys.executable, "-c", code], input=sent, check=True)

    def test_no_rows_and_more_than_one_part(self) -> None:
        self.assertEqual(self.rows(), [])
        self.assertEqual(len(self.rows(*["x"] * 2500)), 2500)


if __name__ == "__main__":
    unittest.main(verbosity=2)
