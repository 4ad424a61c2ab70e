"""Verifies what Apple signs for the App Store, offline: receipts, StoreKit 2, server notifications, and transaction receipts of iOS 3 to 6."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal, Union, cast

__all__ = [
    "Answer", "Entitlement", "Entitlements", "Evidence", "Refusal", "Trust", "VerificationError", "Verifier", "decode_unverified", "version",
]

_lib = ctypes.CDLL(str(Path(__file__).with_name("libappstorereceipt.so.1")))


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_char * 48), ("category", ctypes.c_char * 16)]


_pointer, _size, _text, _status = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int32
_outputs = [ctypes.POINTER(_pointer), ctypes.POINTER(_size), ctypes.POINTER(_Error)]
_signatures: dict[str, tuple[Any, list[Any]]] = {
    "options_new": (_pointer, []),
    "options_free": (None, [_pointer]),
    "options_set": (_status, [_pointer, _text, _text, _size]),
    "options_set_nothing": (_status, [_pointer, _text]),
    "options_set_binding": (_status, [_pointer, _text]),
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
_FULL, _BRIEF, _NONE, _LATEST_RECEIPT_INFO = 0, 1, 2, 16
_SIGNING, _NOW = -(2**63), 2**63 - 1
_decoder = json.JSONDecoder()
_absent: Any = object()
"""The default of an option. ``None`` is a setting that was left empty, such as ``os.environ.get("BUNDLE_ID")``, and no default."""

Input = Union[bytes, bytearray, memoryview, str]
"""Evidence as the client sent it: bytes or text."""


class VerificationError(Exception):
    """The reason that evidence was refused, or that a verifier could not be made."""

    status: int
    """1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong."""
    code: str
    """A stable word such as ``bundle-id-mismatch``; ``usage`` if an option cannot be read."""
    category: str
    """Who can correct the error: ``client``, ``forgery`` or ``host``."""
    verdict_json: str | None
    """The refusal as JSON, or ``None``."""

    def __init__(self, status: int, code: str, category: str, verdict_json: str | None = None, message: str | None = None) -> None:
        self.status, self.code, self.category, self.verdict_json = status, code, category, verdict_json
        verdict: dict[str, Any] = json.loads(verdict_json) if verdict_json else {}
        # Of entitlements, the error is that of one of the pieces.
        errors = [verdict.get("error", {})] + [piece["error"] for piece in verdict.get("refused", [])]
        details: dict[str, Any] = next((each for each in errors if each.get("code") == code), {})
        self.message: str = message or details.get("message", code)
        self.advice: str = details.get("advice", "")
        super().__init__(f"{code}: {self.message}")

    @property
    def http_status(self) -> int:
        """The status to respond with: 400, 403 or 500."""
        return {"client": 400, "forgery": 403}.get(self.category, 500)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.code, self.category, self.verdict_json, self.message)


_Outcome = tuple[int, Any, _Error]


def _call(function: Any, *arguments: Any, with_json: bool = True) -> _Outcome:
    """Calls a function whose last parameters are json, json_length and error."""
    pointer, size, error = _pointer(), _size(), _Error()
    outputs = (ctypes.byref(pointer), ctypes.byref(size)) if with_json else (None, None)
    status = function(*arguments, *outputs, ctypes.byref(error))
    try:
        text = ctypes.string_at(pointer, size.value).decode() if pointer else None
    finally:
        _lib.asr_free(pointer)
    return status, text, error


def _error(outcome: _Outcome) -> VerificationError | None:
    status, text, error = outcome
    return None if status in (_VERIFIED, _DECODED) else VerificationError(status, error.code.decode(), error.category.decode(), text)


def _json(outcome: _Outcome, greatest: int = _VERIFIED) -> str:
    """The JSON of an outcome. Raises its error if the status is greater."""
    status, text, _ = outcome
    if status > greatest or text is None:
        error = _error(outcome)
        if error:
            raise error
    return str(text)


def _bytes(evidence: Input) -> bytes:
    """The bytes of evidence. ``bytes()`` would take a number, too, and allocate as many. The library refuses what is not UTF-8."""
    if isinstance(evidence, bytes):
        return evidence
    return evidence.encode(errors="surrogatepass") if isinstance(evidence, str) else bytes(memoryview(evidence))


def _pieces(evidence: Input | Iterable[Input]) -> list[bytes]:
    try:
        return [_bytes(cast("Input", evidence))]
    except TypeError:
        return [_bytes(piece) for piece in cast("Iterable[Input]", evidence)]


def _date(text: str) -> Any:
    """The date, or ``None`` for a year that ``datetime`` does not have: it has 1 to 9999."""
    seconds, _, fraction = text.rstrip("Z").partition(".")
    # Other years have a sign, or five digits.
    if len(seconds) != 19 or seconds.startswith(("0000", "-")):
        return None
    return datetime.fromisoformat(f"{seconds}.{fraction:0<6}+00:00")


def _milliseconds(date: datetime | Literal["now"]) -> int:
    if date == "now":
        return _NOW
    if date.tzinfo is None:
        raise ValueError("a date needs a time zone")
    return (date - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


def _record(kind: Any, members: dict[str, Any]) -> Any:
    """A dataclass, from the members of the JSON with the names of its fields."""
    def value(name: str, type_: Any) -> Any:
        member = members.get(name)
        return _date(member) if member and "datetime" in str(type_) else member

    return kind(**{field.name: value(field.name, field.type) for field in fields(kind)})


@dataclass(frozen=True)
class Trust:
    """Who signed the evidence. The certificates are SHA-256 fingerprints in hexadecimal."""

    authority: str
    anchor: str
    signer: str
    signer_expires: datetime
    digest: str
    validated_at: datetime


@dataclass(frozen=True)
class Evidence:
    """Verified evidence. ``kind`` names the member of the verdict that has the contents, such as ``receipt`` or ``transaction``."""

    kind: str
    trust: Trust
    verdict_json: str

    @property
    def contents(self) -> dict[str, Any]:
        """The contents, as in the JSON: dates are strings in RFC 3339."""
        return dict(self.verdict[self.kind])

    @property
    def verdict(self) -> dict[str, Any]:
        """The whole verdict. The signed parts of a notification are its members ``transaction`` and ``renewal_info``."""
        return dict(json.loads(self.verdict_json))


@dataclass(frozen=True)
class Entitlement:
    """What one transaction gives access to. ``access`` is ``active``, ``owned``, ``consumable``, or the reason it gives none.

    Grant each transaction once that is ``grantable``: it gives access, or is a consumable with a quantity of at least 1.
    A consumable gives no access that lasts.
    """

    transaction_id: str
    original_transaction_id: str
    product_id: str
    access: str
    gives_access: bool
    grantable: bool
    until: datetime | None
    quantity: int
    purchase_date: datetime | None
    expires_date: datetime | None
    app_account_token: str | None


@dataclass(frozen=True)
class Refusal:
    """A piece of evidence that was refused, by its place among those that were passed."""

    index: int
    code: str
    category: str
    message: str


@dataclass(frozen=True)
class Entitlements:
    """What the verified pieces of evidence give access to at a date. Those that were refused give nothing; ``error`` is the first one's."""

    at: datetime
    items: list[Entitlement]
    refused: list[Refusal]
    json: str
    error: VerificationError | None


class Answer(str):
    """An answer of verifyReceipt: the JSON to send with HTTP status 200, as Apple does. ``error`` says why it has no receipt."""

    error: VerificationError | None = None

    @property
    def json(self) -> str:
        return str(self)


class _Handle:
    """Owns a verifier of the library. Copies of a ``Verifier`` share it, so that it is freed once."""

    def __init__(self, pointer: Any) -> None:
        self._as_parameter_ = pointer

    def __del__(self, free: Any = _lib.asr_verifier_free) -> None:
        free(self._as_parameter_)

    def __copy__(self) -> _Handle:
        return self

    def __deepcopy__(self, _: Any) -> _Handle:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Verifier cannot be pickled: make one in each process")


def _usage(name: str) -> VerificationError:
    return VerificationError(_USAGE, "usage", "host", None, f"the option {name} cannot be read")


def _text_value(element: Any) -> bytes:
    if not isinstance(element, str):
        raise TypeError
    return element.encode(errors="surrogatepass")


def _integer_or_text(element: Any) -> bytes:
    return _text_value(str(element) if isinstance(element, int) and not isinstance(element, bool) else element)


def _file(element: Any) -> bytes:
    if not isinstance(element, (bytes, bytearray, memoryview)):
        raise TypeError
    return bytes(element)


def _flag(element: Any) -> bytes:
    return {True: b"true", False: b"false"}[element] if isinstance(element, bool) else _text_value(None)


def _seconds(element: Any) -> bytes:
    return str(element // timedelta(seconds=1)).encode()


def _any_date(element: Any) -> bytes:
    return b"now" if element == "now" else _fixed_date(element)


def _fixed_date(element: Any) -> bytes:
    if not isinstance(element, datetime):
        raise TypeError
    return b"%dms" % _milliseconds(element)


_lists: dict[str, Any] = {"texts": _text_value, "certificates": _file}
_scalars: dict[str, Any] = {
    "text": _integer_or_text, "flag": _flag, "seconds": _seconds, "date": _any_date, "fixed_date": _fixed_date}


class _Options:
    """The options of the library. What is present but empty, or of another type, is an error: it could mean every app, or any age."""

    def __init__(self) -> None:
        self.pointer = _lib.asr_options_new()
        _lib.asr_options_set_binding(self.pointer, b"python")

    def free(self) -> None:
        _lib.asr_options_free(self.pointer)

    def set(self, name: str, kind: str, value: Any) -> None:
        if value is _absent:
            return
        try:
            if kind in _lists:
                one = isinstance(value, (str, bytes, bytearray, memoryview))
                values = [_lists[kind](element) for element in ([value] if one else value)]
            else:
                values = [_scalars[kind](value)]
        except TypeError:
            raise _usage(name) from None
        results = [_lib.asr_options_set(self.pointer, name.encode(), element, len(element)) for element in values]
        if any(results or [_lib.asr_options_set_nothing(self.pointer, name.encode())]):
            raise _usage(name)


class Verifier:
    """Verifies evidence. Make one when the program starts; all threads and forked processes may use it. Copies share it; it cannot be pickled."""

    # BEGIN GENERATED by generate-bindings
    def __init__(
        self,
        bundle_id: str | Iterable[str] = _absent,
        environments: str | Iterable[str] = _absent, *,
        app_apple_id: str | int = _absent,
        roots: bytes | Iterable[bytes] = _absent,
        transaction_receipt_issuers: bytes | Iterable[bytes] = _absent,
        storekit_testing: bool = False,
        distrusted: str | Iterable[str] = _absent,
        maximum_age: timedelta = _absent,
        validation_date: datetime | Literal["now"] = _absent,
        allows_rsa_1024: bool = False,
        clock: datetime = _absent,
        product_types: str | Iterable[str] = _absent,
    ) -> None:
        """Leave out what is not set: ``None`` and an empty list are errors.

        - ``bundle_id``: Accepts this app only. Without it, the bundle id is not checked: compare it in the contents before you grant
          anything.
        - ``environments``: Accepts this environment. It is ``production``, ``sandbox``, ``xcode`` or ``local-testing``. Without it, production is
          accepted, or what Xcode signed with StoreKit Testing.
        - ``app_apple_id``: Accepts a JWS of the app with this Apple id only. Notifications and real-time requests have it. Without it, the
          Apple id is not checked.
        - ``roots``: Trusts self-signed root certificates, in DER or PEM, instead of Apple's.
        - ``transaction_receipt_issuers``: Trusts intermediate certificates, in DER or PEM, for transaction receipts of iOS 3 to 6, which do
          not contain theirs.
        - ``storekit_testing``: Accepts only what StoreKit Testing in Xcode signed. The roots are its certificates.
        - ``distrusted``: Refuses what a signer's or intermediate certificate signed. It is the SHA-256 of the certificate in hexadecimal.
        - ``maximum_age``: Refuses evidence that was signed longer ago than this, or is from the future. Without it, any age is accepted.
        - ``validation_date``: Validates the certificates at this date. Without it, they are validated at the date the evidence was signed.
        - ``allows_rsa_1024``: Accepts transaction receipts of version 2 (until 2015), which are signed with an RSA key of 1024 bits. Such
          keys are no longer safe.
        - ``clock``: Stops the verifier's clock at this date, for tests.
        - ``product_types``: Takes the type of a product from here if the evidence does not say it. It is ``ID=consumable``,
          ``ID=non-consumable``, ``ID=auto-renewable``, or ``ID=non-renewing:90`` for 90 days.
        """
        self._make([
            ("bundle_id", "texts", bundle_id),
            ("environments", "texts", environments),
            ("app_apple_id", "text", app_apple_id),
            ("roots", "certificates", roots),
            ("transaction_receipt_issuers", "certificates", transaction_receipt_issuers),
            ("storekit_testing", "flag", storekit_testing),
            ("distrusted", "texts", distrusted),
            ("maximum_age", "seconds", maximum_age),
            ("validation_date", "date", validation_date),
            ("allows_rsa_1024", "flag", allows_rsa_1024),
            ("clock", "fixed_date", clock),
            ("product_types", "texts", product_types),
        ])
    # END GENERATED

    def _make(self, settings: list[tuple[str, str, Any]]) -> None:
        options = _Options()
        try:
            for setting in settings:
                options.set(*setting)
            pointer = _pointer()
            error = _error(_call(_lib.asr_verifier_new, options.pointer, ctypes.byref(pointer)))
        finally:
            options.free()
        if error:
            raise error
        self._handle = _Handle(pointer)

    def _verify(self, evidence: Input, form: int) -> _Outcome:
        data = _bytes(evidence)
        return _call(_lib.asr_verify, self._handle, data, len(data), form, with_json=form != _NONE)

    def verify(self, evidence: Input) -> Evidence:
        """Verifies evidence of any kind. Raises ``VerificationError`` if it is refused."""
        text = _json(self._verify(evidence, _FULL))
        # The contents can be large, and are read when they are asked for.
        trust, end = _decoder.raw_decode(text, text.index('"trust":') + len('"trust":'))
        kind, _ = _decoder.raw_decode(text, end + 1)
        return Evidence(kind, _record(Trust, trust), text)

    def verdict_json(self, evidence: Input, form: Literal["full", "brief"] = "full") -> str:
        """The verdict on evidence that is verified or refused, as JSON; ``brief`` without the contents."""
        return _json(self._verify(evidence, {"full": _FULL, "brief": _BRIEF}[form]), _CONFIGURATION)

    def accepts(self, evidence: Input) -> bool:
        """Whether evidence is verified: the fastest call, without JSON."""
        return self._verify(evidence, _NONE)[0] == _VERIFIED

    def entitlements(self, evidence: Input | Iterable[Input], at: datetime | Literal["now"] = "now") -> Entitlements:
        """What one customer's evidence gives access to at a date. Raises ``VerificationError`` if this host or the options are at fault."""
        pieces = _pieces(evidence)
        lengths = (_size * len(pieces))(*map(len, pieces))
        outcome = _call(_lib.asr_entitlements, self._handle, b"".join(pieces), lengths, len(pieces), _milliseconds(at))
        text = _json(outcome, _REFUSED)
        answer = json.loads(text)
        return Entitlements(
            _date(answer["at"]), [_record(Entitlement, item) for item in answer["items"]],
            [_record(Refusal, {**piece["error"], **piece}) for piece in answer["refused"]], text, _error(outcome))

    def answer(self, body: Input, latest_receipt_info: bool = False) -> Answer:
        """The answer of verifyReceipt to a request's body, from the receipt alone."""
        data = _bytes(body)
        outcome = _call(_lib.asr_answer, self._handle, data, len(data), _LATEST_RECEIPT_INFO if latest_receipt_info else _FULL)
        answer = Answer(_json(outcome, _CONFIGURATION))
        answer.error = _error(outcome)
        return answer

    @property
    def counts(self) -> dict[str, Any]:
        """The numbers of inputs that were verified and refused in this process, for metrics."""
        pointer = _pointer()
        _lib.asr_counts(self._handle, ctypes.byref(pointer), None)
        try:
            return dict(json.loads(ctypes.string_at(pointer)))
        finally:
            _lib.asr_free(pointer)


def decode_unverified(evidence: Input) -> str:
    """The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. Never grant anything by it."""
    data = _bytes(evidence)
    return _json(_call(_lib.asr_decode_unverified, data, len(data)))
