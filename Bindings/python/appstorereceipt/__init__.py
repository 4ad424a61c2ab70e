"""Verifies what Apple signs for the App Store, offline: receipts, StoreKit 2, server notifications, and transaction receipts of iOS 3 to 6."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

__all__ = [
    "ConfigurationError", "Entitlement", "Entitlements", "Evidence", "HostError", "Refusal", "Trust", "VerificationError", "Verifier",
    "decode_unverified", "version",
]

_lib = ctypes.CDLL(str(Path(__file__).with_name("libappstorereceipt.so.1")))


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_char * 48), ("category", ctypes.c_char * 16)]


_pointer, _size, _text, _status = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int32
_outputs = [ctypes.POINTER(_pointer), ctypes.POINTER(_size), ctypes.POINTER(_Error)]
_signatures: dict[str, tuple[Any, list[Any]]] = {
    "options_new": (_pointer, []),
    "options_free": (None, [_pointer]),
    "options_add_bundle_id": (_status, [_pointer, _text]),
    "options_add_environment": (_status, [_pointer, _text]),
    "options_set_app_apple_id": (_status, [_pointer, _text]),
    "options_add_roots": (_status, [_pointer, _text, _size]),
    "options_add_transaction_receipt_issuers": (_status, [_pointer, _text, _size]),
    "options_set_storekit_testing": (_status, [_pointer, ctypes.c_int32]),
    "options_add_distrusted": (_status, [_pointer, _text]),
    "options_set_maximum_age": (_status, [_pointer, ctypes.c_int64]),
    "options_set_validation_date": (_status, [_pointer, ctypes.c_int64]),
    "options_set_allows_rsa_1024": (_status, [_pointer, ctypes.c_int32]),
    "options_set_clock": (_status, [_pointer, ctypes.c_int64]),
    "verifier_new": (_status, [_pointer, ctypes.POINTER(_pointer), *_outputs]),
    "verifier_free": (None, [_pointer]),
    "verify": (_status, [_pointer, _text, _size, ctypes.c_uint32, *_outputs]),
    "entitlements": (_status, [_pointer, _text, ctypes.POINTER(_size), _size, ctypes.c_int64, *_outputs]),
    "answer": (_status, [_pointer, _text, _size, ctypes.c_uint32, *_outputs]),
    "counts": (_status, [_pointer, *_outputs[:2]]),
    "decode_unverified": (_status, [_text, _size, *_outputs]),
    "free": (None, [_pointer]),
    "version": (_text, []),
    "abi_version": (ctypes.c_int32, []),
}
for _name, (_result, _arguments) in _signatures.items():
    _function = getattr(_lib, "asr_" + _name)
    _function.restype, _function.argtypes = _result, _arguments
if _lib.asr_abi_version() != 1:
    raise ImportError("libappstorereceipt has another ABI than this module")

version: str = _lib.asr_version().decode()
_VERIFIED, _REFUSED, _HOST, _CONFIGURATION, _USAGE, _DECODED = range(6)
_FLAGS = {"full": 0, "brief": 1, "none": 2}
_decoder = json.JSONDecoder()
_SIGNING, _NOW = -(2**63), 2**63 - 1


class VerificationError(Exception):
    """The reason the evidence was refused. ``category`` is ``client`` (answer 400), ``forgery`` (403) or ``host`` (500)."""

    def __init__(self, code: str, category: str, verdict_json: str | None) -> None:
        self.code, self.category, self.verdict_json = code, category, verdict_json
        self.details: dict[str, Any] = json.loads(verdict_json).get("error", {}) if verdict_json else {}
        super().__init__(f"{code}: {self.details['message']}" if self.details else code)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.category, self.verdict_json)


class HostError(VerificationError):
    """This host or this library is at fault, not the evidence. Keep the evidence, and verify it again after a correction."""


class ConfigurationError(VerificationError):
    """The options can accept nothing, or a certificate among them cannot be used."""


def _call(function: Any, *arguments: Any, with_json: bool = True) -> tuple[int, str | None, _Error]:
    pointer, size, error = _pointer(), _size(), _Error()
    outputs = (ctypes.byref(pointer), ctypes.byref(size)) if with_json else (None, None)
    status = function(*arguments, *outputs, ctypes.byref(error))
    try:
        text = ctypes.string_at(pointer, size.value).decode() if pointer else None
    finally:
        _lib.asr_free(pointer)
    if status == _USAGE:
        raise ValueError("the library was called in a wrong way")
    return status, text, error


def _error(status: int, text: str | None, error: _Error) -> VerificationError:
    kind = {_HOST: HostError, _CONFIGURATION: ConfigurationError}.get(status, VerificationError)
    return kind(error.code.decode(), error.category.decode(), text)


def _bytes(evidence: bytes | str) -> bytes:
    return evidence.encode() if isinstance(evidence, str) else bytes(evidence)


def _date(text: str) -> datetime:
    seconds, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{fraction:0<6}+00:00")


def _date_or_none(text: str | None) -> datetime | None:
    return _date(text) if text else None


def _milliseconds(date: datetime | None, otherwise: int) -> int:
    if date is None:
        return otherwise
    if date.tzinfo is None:
        raise ValueError("a date needs a time zone")
    return (date - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


@dataclass(frozen=True)
class Trust:
    """How evidence was verified. The certificates are SHA-256 fingerprints in hexadecimal."""

    authority: str
    anchor: str
    signer: str
    signer_expires: datetime
    digest: str
    validated_at: datetime


@dataclass(frozen=True)
class Evidence:
    """Verified evidence. ``kind`` names the member of ``verdict_json`` that has the contents, such as ``receipt`` or ``transaction``."""

    kind: str
    trust: Trust
    verdict_json: str

    @property
    def contents(self) -> dict[str, Any]:
        """The contents, as in the JSON: dates are strings in RFC 3339."""
        contents: dict[str, Any] = json.loads(self.verdict_json)[self.kind]
        return contents


@dataclass(frozen=True)
class Entitlement:
    """What one transaction gives access to. ``access`` is ``active``, ``owned``, ``consumable``, or the reason it gives none."""

    transaction_id: str
    original_transaction_id: str
    product_id: str
    access: str
    until: datetime | None
    quantity: int
    purchase_date: datetime | None
    expires_date: datetime | None

    @property
    def gives_access(self) -> bool:
        return self.access in ("active", "owned", "consumable")


@dataclass(frozen=True)
class Refusal:
    """A piece of evidence that was refused, by its place among those that were passed."""

    index: int
    code: str
    category: str


@dataclass(frozen=True)
class Entitlements:
    """What the verified pieces of evidence give access to at a date; those that were refused give nothing."""

    at: datetime
    items: list[Entitlement]
    refused: list[Refusal]
    json: str


class Verifier:
    """A verifier. Make one when the program starts; all threads and forked processes may use it."""

    def __init__(
        self, bundle_id: str | Iterable[str] | None = None, environments: Iterable[str] = ("production",), *,
        app_apple_id: str | int | None = None, roots: Iterable[bytes] = (), transaction_receipt_issuers: Iterable[bytes] = (),
        storekit_testing: bool = False, distrusted: Iterable[str] = (), maximum_age: timedelta | None = None,
        validation_date: datetime | None = None, allows_rsa_1024: bool = False, clock: datetime | None = None,
    ) -> None:
        """Without a bundle id, the app is not checked. ``roots`` are certificates in DER or PEM that are trusted instead of Apple's."""
        self._pointer = _pointer()
        options = _lib.asr_options_new()

        def set_option(name: str, *values: Any) -> None:
            if getattr(_lib, "asr_options_" + name)(options, *values) != _VERIFIED:
                raise ValueError(f"{name}: the value cannot be read")

        try:
            for bundle in [bundle_id] if isinstance(bundle_id, str) else bundle_id or ():
                set_option("add_bundle_id", bundle.encode())
            for environment in environments:
                set_option("add_environment", environment.encode())
            if app_apple_id is not None:
                set_option("set_app_apple_id", str(app_apple_id).encode())
            for root in roots:
                set_option("add_roots", root, len(root))
            for issuer in transaction_receipt_issuers:
                set_option("add_transaction_receipt_issuers", issuer, len(issuer))
            for fingerprint in distrusted:
                set_option("add_distrusted", fingerprint.encode())
            if maximum_age is not None:
                set_option("set_maximum_age", maximum_age // timedelta(seconds=1))
            set_option("set_storekit_testing", storekit_testing)
            set_option("set_allows_rsa_1024", allows_rsa_1024)
            set_option("set_validation_date", _milliseconds(validation_date, _SIGNING))
            set_option("set_clock", _milliseconds(clock, _NOW))
            result = _call(_lib.asr_verifier_new, options, ctypes.byref(self._pointer))
        finally:
            _lib.asr_options_free(options)
        if result[0] != _VERIFIED:
            raise _error(*result)

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            _lib.asr_verifier_free(self._pointer)

    def _verdict(self, evidence: bytes | str, form: str) -> tuple[int, str | None, _Error]:
        data = _bytes(evidence)
        return _call(_lib.asr_verify, self._pointer, data, len(data), _FLAGS[form], with_json=form != "none")

    def verify(self, evidence: bytes | str) -> Evidence:
        """Verifies evidence of any kind. Raises ``VerificationError`` if it is refused."""
        result = self._verdict(evidence, "full")
        if result[0] != _VERIFIED or result[1] is None:
            raise _error(*result)
        # The contents can be large, and are read when they are asked for.
        values, end = _decoder.raw_decode(result[1], result[1].index('"trust":') + len('"trust":'))
        kind, _ = _decoder.raw_decode(result[1], end + 1)
        trust = Trust(
            values["authority"], values["anchor"], values["signer"], _date(values["signer_expires"]), values["digest"],
            _date(values["validated_at"]))
        return Evidence(kind, trust, result[1])

    def verdict_json(self, evidence: bytes | str, form: str = "full") -> str | None:
        """Returns the verdict as JSON, also for a refusal, and raises nothing: ``full``, ``brief`` without the contents, or ``none``."""
        return self._verdict(evidence, form)[1]

    def accepts(self, evidence: bytes | str) -> bool:
        """Whether the evidence is genuine and accepted, without making JSON."""
        return self._verdict(evidence, "none")[0] == _VERIFIED

    def entitlements(self, evidence: bytes | str | Iterable[bytes | str], at: datetime | None = None) -> Entitlements:
        """Decides what the evidence of one customer gives access to at a date, by default now. Raises nothing for refused pieces."""
        pieces = [_bytes(piece) for piece in ([evidence] if isinstance(evidence, (bytes, str)) else evidence)]
        lengths = (_size * len(pieces))(*map(len, pieces))
        _, text, _error_ = _call(
            _lib.asr_entitlements, self._pointer, b"".join(pieces), lengths, len(pieces), _milliseconds(at, _NOW))
        answer = json.loads(text or "{}")
        items = [
            Entitlement(
                item["transaction_id"], item["original_transaction_id"], item["product_id"], item["access"], _date_or_none(item["until"]),
                item["quantity"], _date_or_none(item.get("purchase_date")), _date_or_none(item.get("expires_date"))) for item in answer["items"]
        ]
        refused = [Refusal(each["index"], each["error"]["code"], each["error"]["category"]) for each in answer["refused"]]
        return Entitlements(_date(answer["at"]), items, refused, text or "")

    def answer(self, body: bytes | str, latest_receipt_info: bool = False) -> str:
        """Answers a request as Apple's verifyReceipt does. Send the JSON with HTTP status 200, as Apple does."""
        data = _bytes(body)
        return _call(_lib.asr_answer, self._pointer, data, len(data), 16 if latest_receipt_info else 0)[1] or ""

    @property
    def counts(self) -> dict[str, Any]:
        """The numbers of inputs that were verified and refused in this process."""
        pointer = _pointer()
        _lib.asr_counts(self._pointer, ctypes.byref(pointer), None)
        try:
            counts: dict[str, Any] = json.loads(ctypes.string_at(pointer))
        finally:
            _lib.asr_free(pointer)
        return counts


def decode_unverified(evidence: bytes | str) -> dict[str, Any]:
    """Decodes evidence WITHOUT VERIFYING it: anyone can have written its contents. Never grant anything by it."""
    data = _bytes(evidence)
    result = _call(_lib.asr_decode_unverified, data, len(data))
    if result[0] != _DECODED or result[1] is None:
        raise _error(*result)
    decoded: dict[str, Any] = json.loads(result[1])
    return decoded
