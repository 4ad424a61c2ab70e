"""From batches of evidence to batches of verdicts, in a worker process. Knows nothing of Spark."""

from __future__ import annotations

import enum
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from appstorereceipt import Verifier

if TYPE_CHECKING:
    from . import VerifierOptions

_ROWS, _BYTES = 1000, 1 << 26
"""The maximum number of verdicts in memory at once, and of bytes of their text, which the last one may exceed."""

_text, _number, _flag, _time = pa.string(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")

# The years 1 to 9999, in seconds since 1970. Python cannot express other dates, and collecting them would raise.
_FIRST, _END = (pa.scalar(second * 1_000_000, pa.int64()).cast(_time) for second in (-62_135_596_800, 253_402_300_800))


def _struct(fields: dict[str, pa.DataType]) -> pa.DataType:
    return pa.struct(list(fields.items()))


# Members to read. Dates are text in the JSON, and web_order_line_item_id a number.
_PURCHASE = {
    "product_id": _text, "transaction_id": _text, "original_transaction_id": _text, "quantity": _number, "purchase_date": _time,
    "original_purchase_date": _time, "expires_date": _time, "cancellation_date": _time, "web_order_line_item_id": _number,
    "is_trial_period": _flag,
}
_ENTITLEMENT = {
    "product_id": _text, "transaction_id": _text, "original_transaction_id": _text, "purchase_key": _text,
    "former_purchase_keys": pa.list_(_text), "access": _text, "gives_access": _flag, "grantable": _flag, "reason": _text,
    "until": _time, "quantity": _number, "purchased_quantity": _number, "seats": _number,
    "period_seats": _number, "length": _text, "product_type_source": _text,
}


def _as_read(fields: dict[str, pa.DataType]) -> pa.DataType:
    return _struct({name: _text if type_ == _time else type_ for name, type_ in fields.items()})


_JSON = pa.schema({
    "verdict": _struct({
        "verified": _flag,
        "error": _struct({"code": _text, "category": _text}),
        "kind": _text,
        "receipt": _struct({
            "receipt_type": _text, "environment": _text, "bundle_id": _text, "receipt_creation_date": _text,
            "in_app": pa.list_(_as_read(_PURCHASE)),
        }),
    }),
    "entitlements": _struct({"items": pa.list_(_as_read(_ENTITLEMENT))}),
})

_ENVIRONMENTS = {
    "Production": "production", "ProductionVPP": "production", "ProductionSandbox": "sandbox", "ProductionVPPSandbox": "sandbox",
    "Sandbox": "sandbox", "Xcode": "xcode", "LocalTesting": "local-testing",
}
_RECEIPT_TYPE = re.compile(r'"receipt_type":"(\w+)"')


class _Setting(enum.Enum):
    # Unlike an object(), a member is the same in the processes to which Spark sends it.
    ABSENT = enum.auto()


_absent: Any = _Setting.ABSENT
"""The default of an option. ``None`` is a setting that was left empty, such as ``os.environ.get("BUNDLE_ID")``, and no
default."""


@functools.lru_cache(maxsize=8)
def verifier(options: VerifierOptions) -> Verifier:
    """One verifier a process and options: Spark uses a worker process again for later tasks."""
    return Verifier(**{name: value for name, value in vars(options).items() if value is not _absent})


def verdicts(
    inputs: Iterable[pa.RecordBatch], column: str, options: VerifierOptions, at: datetime | None
) -> Iterator[pa.RecordBatch]:
    own = verifier(options)
    for batch in inputs:
        index = batch.schema.get_field_index(column)
        others, evidence = batch.remove_column(index), batch.column(index)
        start = 0
        while start < batch.num_rows:
            lines: list[str] = []
            byte_count = 0
            for each in evidence.slice(start, _ROWS).cast(pa.binary()).to_pylist():
                lines.append(_line(own, each or b"", at))
                byte_count += len(lines[-1])
                if byte_count > _BYTES:
                    break
            yield _output(others.slice(start, len(lines)), _read(lines))
            start += len(lines)


def _line(verifier: Verifier, evidence: bytes, at: datetime | None) -> str:
    """The verdict as JSON, in the form of a receipt's, and what the evidence entitles to."""
    text = verifier.verdict_json(evidence)
    if text.startswith('{"verified":false'):
        # A fault of this host must not look like a refusal of the evidence: the task fails, and Spark retries it.
        if '"at_fault":"host"' in text:
            raise RuntimeError(text)
        return f'{{"verdict":{text}}}'
    start = text.find('},"') + 2
    if text.startswith('"receipt":', start):
        # A quotation mark within a string is escaped: no value looks like this member.
        named = _RECEIPT_TYPE.search(text, start)
        environment = _ENVIRONMENTS.get(named[1]) if named else None
    else:
        form = _in_form_of_receipt(json.loads(text, parse_int=_integer))
        environment = form["receipt"]["environment"]
        environment = environment if environment in _ENVIRONMENTS.values() else None
        text = json.dumps(form)
    if at is None:
        return f'{{"verdict":{text}}}'
    # The row is decided in the environment that its evidence names: with several accepted ones, one has to be named.
    decided = verifier.entitlements(evidence, at, environment).json if environment else '{"items":[]}'
    return f'{{"verdict":{text},"entitlements":{decided}}}'


def _integer(digits: str) -> int | None:
    """A whole number, if a column can have it. Python itself refuses to read one of 5000 digits."""
    return value if len(digits) < 20 and -(2**63) <= (value := int(digits)) < 2**63 else None


def _in_form_of_receipt(verdict: dict[str, Any]) -> dict[str, Any]:
    """Signed data of StoreKit 2 and transaction receipts are rare beside receipts, and need not be fast."""
    kind = list(verdict)[list(verdict).index("trust") + 1]
    contents = verdict[kind]
    # In other kinds, Apple documents no such members: they can have any value.
    purchase = {"notification": verdict.get("transaction"), "transaction": contents, "transaction_receipt": contents}.get(kind) or {}
    data = contents.get("data") if kind == "notification" else None

    def value(type_: type, *places: tuple[Any, str]) -> Any:
        found = (of.get(name) for of, name in places if isinstance(of, dict))
        return next((each for each in found if type(each) is type_), None)

    def of_purchase(type_: type, *names: str) -> Any:
        return value(type_, *((purchase, name) for name in names))

    # Where the library reads it: others of this name do not count.
    if kind == "notification":
        environment = value(str, *((contents.get(name), "environment") for name in ("data", "appData", "summary")))
    else:
        environment = value(str, (contents, "receiptType" if kind == "app_transaction" else "environment"))
    in_app = []
    if of_purchase(str, "transactionId", "transaction_id"):
        order = of_purchase(str, "webOrderLineItemId", "web_order_line_item_id") or ""
        quantity = of_purchase(int, "quantity")
        in_app.append({
            "product_id": of_purchase(str, "productId", "product_id"),
            "transaction_id": of_purchase(str, "transactionId", "transaction_id"),
            "original_transaction_id": of_purchase(str, "originalTransactionId", "original_transaction_id"),
            "quantity": 1 if quantity is None else quantity,
            "purchase_date": of_purchase(str, "purchaseDate", "purchase_date"),
            "original_purchase_date": of_purchase(str, "originalPurchaseDate", "original_purchase_date"),
            "expires_date": of_purchase(str, "expiresDate", "expires_date"),
            "cancellation_date": of_purchase(str, "revocationDate"),
            "web_order_line_item_id": int(order) if order.isascii() and order.isdigit() and len(order) < 19 else None,
        })
    return {
        "verified": True,
        "kind": kind,
        "receipt": {
            "environment": _ENVIRONMENTS.get(environment, environment),
            "bundle_id": value(
                str, (contents, "bundleId"), (contents, "bundle_id"), (data, "bundleId"), (purchase, "bundleId")),
            "receipt_creation_date": value(str, (contents, "signedDate"), (contents, "receiptCreationDate")),
            "in_app": in_app,
        },
    }


def _read(lines: list[str]) -> pa.Table:
    # Arrow's reader makes the columns without a Python object for each value.
    text = "\n".join(lines).encode()
    table = pyarrow.json.read_json(
        pa.BufferReader(text), read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=_JSON, unexpected_field_behavior="ignore"))
    if table.num_rows != len(lines):
        raise RuntimeError(f"{len(lines)} verdicts, and {table.num_rows} rows")
    return table.combine_chunks()


def _output(others: pa.RecordBatch, table: pa.Table) -> pa.RecordBatch:
    def column(*names: str) -> pa.Array:
        chunks = table.column(names[0]).chunks
        return pc.struct_field(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks), names[1:])

    verified, error, receipt = (column("verdict", name) for name in ("verified", "error", "receipt"))
    named = pc.struct_field(receipt, "environment")
    columns = {
        "verified": verified,
        "code": pc.struct_field(error, "code"),
        "category": pc.struct_field(error, "category"),
        "kind": pc.coalesce(column("verdict", "kind"), pc.if_else(verified, "receipt", None)),
        "environment": pc.coalesce(named, _environments(pc.struct_field(receipt, "receipt_type"))),
        "bundle_id": pc.struct_field(receipt, "bundle_id"),
        "signed_date": _typed(pc.struct_field(receipt, "receipt_creation_date"), _time),
        "purchases": _purchases(pc.struct_field(receipt, "in_app")),
        "entitlements": _list(column("entitlements", "items"), _ENTITLEMENT),
    }
    return pa.RecordBatch.from_arrays(
        [*others.columns, *columns.values()], names=[*others.schema.names, *columns])


def _environments(types: pa.Array) -> pa.Array:
    known = pa.array(list(_ENVIRONMENTS))
    return pc.take(pa.array(list(_ENVIRONMENTS.values())), pc.index_in(types, value_set=known))


def _typed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    try:
        typed = array.cast(type_)
    except pa.ArrowInvalid:
        # A date that no timestamp can have must not fail the rows beside it.
        def value(text: str) -> pa.Scalar:
            try:
                return pa.scalar(text).cast(type_)
            except (pa.ArrowInvalid, ValueError, OverflowError):
                return pa.scalar(None, type_)

        typed = pa.array([value(text) for text in array.to_pylist()], type_)
    if type_ != _time:
        return typed
    return pc.if_else(pc.and_(pc.greater_equal(typed, _FIRST), pc.less(typed, _END)), typed, None)


def _purchases(lists: pa.Array) -> pa.Array:
    return _list(lists, _PURCHASE, {"cancellation_date": "revocation_date"}, {"web_order_line_item_id": _text})


def _list(
    lists: pa.Array, fields: Mapping[str, pa.DataType], names: Mapping[str, str] = {}, types: Mapping[str, pa.DataType] = {}
) -> pa.Array:
    """The lists with typed dates, and with other names and types of some fields."""
    arrays = [_typed(pc.struct_field(lists.values, name), types.get(name, type_)) for name, type_ in fields.items()]
    structs = pa.StructArray.from_arrays(arrays, names=[names.get(name, name) for name in fields])
    return pa.ListArray.from_arrays(lists.offsets, structs, mask=lists.is_null())
