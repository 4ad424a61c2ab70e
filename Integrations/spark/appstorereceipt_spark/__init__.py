"""Verifies columns of App Store receipts with Apache Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType, TimestampType

from ._batches import verdicts, verifier

__all__ = ["VERDICT", "VerifierOptions", "batches", "output_schema", "verify_receipts"]


def _struct(**fields: Any) -> StructType:
    return StructType([StructField(name, type_) for name, type_ in fields.items()])


_text, _time = StringType(), TimestampType()

PURCHASE = _struct(
    product_id=_text, transaction_id=_text, original_transaction_id=_text, quantity=LongType(), purchase_date=_time,
    original_purchase_date=_time, expires_date=_time, revocation_date=_time, web_order_line_item_id=_text, is_trial_period=BooleanType())

ENTITLEMENT = _struct(
    product_id=_text, transaction_id=_text, original_transaction_id=_text, access=_text,
    gives_access=BooleanType(), grantable=BooleanType(), until=_time, quantity=LongType())

VERDICT = _struct(
    verified=BooleanType(), code=_text, category=_text, kind=_text, environment=_text, bundle_id=_text, signed_date=_time,
    purchases=ArrayType(PURCHASE), entitlements=ArrayType(ENTITLEMENT))
"""The columns that ``verify_receipts`` adds. Of a refused row, only ``verified``, ``code`` and ``category`` are not null."""


@dataclass(frozen=True)
class VerifierOptions:
    """What to accept: the parameters of ``appstorereceipt.Verifier``, which every worker process makes once.

    ``None`` is not set. What is empty is an error, as there.
    """

    bundle_id: str | tuple[str, ...] | None = None
    environments: tuple[str, ...] = ("production",)
    roots: tuple[bytes, ...] | None = None
    transaction_receipt_issuers: tuple[bytes, ...] | None = None
    distrusted: tuple[str, ...] | None = None
    allows_rsa_1024: bool = False


def output_schema(df: DataFrame, column: str) -> StructType:
    """The columns of ``df`` without the evidence, and then those of ``VERDICT``."""
    others = [field for field in df.schema.fields if field.name != column]
    taken = {field.name for field in others} & set(VERDICT.names)
    if column not in df.columns or taken:
        raise ValueError(f"{column} is no column" if column not in df.columns else f"columns of the verdict: {', '.join(sorted(taken))}")
    return StructType(others + VERDICT.fields)


def batches(
    column: str, options: VerifierOptions, at: datetime | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that ``verify_receipts`` passes to ``DataFrame.mapInArrow``."""
    if at is not None and at.tzinfo is None:
        raise ValueError("a date needs a time zone")
    # Wrong options fail here, and not in every task.
    verifier(options)

    def verify(inputs: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return verdicts(inputs, column, options, at)

    return verify


def verify_receipts(
    df: DataFrame, column: str, options: VerifierOptions = VerifierOptions(), *, at: datetime | None = None
) -> DataFrame:
    """Replaces a column of evidence by the columns of ``VERDICT``.

    The column has text or bytes: receipts, JWS, transaction receipts, or JSON with one of them. A null, and what is no evidence, is a row like any other, with
    ``verified`` false. ``entitlements`` is null without ``at``, a date with a time zone; it decides from the evidence of its row alone.
    """
    return df.mapInArrow(batches(column, options, at), output_schema(df, column))
