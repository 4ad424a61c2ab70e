"""Apple's verifier beside ours over the test vectors that ours accepts.

usage: compare_vectors_with_apple.py RECEIPT VECTORS

Each member that is signed, of a JWS and of its signed parts, must be read as it was signed: by ours, and by Apple's if
it knows the member. UNKNOWN and DIFFERENCES name all that Apple's does not know, refuses or changes; anything else
fails, and so does a name that is no longer met."""

import base64, json, re, subprocess, sys
from collections import Counter
from datetime import date
from pathlib import Path

import attr
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.LibraryUtility import _get_cattrs_converter
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cattrs.errors import ClassValidationError

program, vectors = sys.argv[1], Path(sys.argv[2])
BUNDLE, APPLE_ID = "com.example.app", 1234567890

# The members and values that app-store-server-library 3.1.2 does not know. It drops such a member, and keeps such a
# value as it is.
UNKNOWN = {
    # Seats, assigned purchases and retention offers
    "transaction.multiSeatInfo", "transaction.multiSeatInfo.invitationManagement", "transaction.multiSeatInfo.priceTiers.price",
    "transaction.multiSeatInfo.priceTiers.quantity", "transaction.multiSeatInfo.revokedSeatQuantity", "transaction.additionalTransactionReason",
    "renewal_info.renewalQuantity", "renewal_info.multiSeatInfo.renewalPriceTiers.price", "renewal_info.multiSeatInfo.renewalPriceTiers.quantity",
    "transaction.inAppOwnershipType ASSIGNED", "transaction.revocationType ASSIGNMENT_REVOKE", "transaction.offerType 5", "renewal_info.offerType 5",
    "notification.subtype SEATS", "notification.subtype INCREASE_QUANTITY", "notification.subtype DECREASE_QUANTITY",
    "notification.notificationType MIGRATE",
    # Of a vector about what Apple may add
    "transaction.new", "transaction.offerType 99", "transaction.transactionReason TELEPATHY",
}
NO_APPLE_ID = "it names no Apple id, which Apple's requires in production"
DIFFERENCES = {
    "notification-of-unclaimed-seats": "it names no app, and Apple's does not know unclaimInfo",
    "notification-of-a-summary": NO_APPLE_ID, "notification-of-an-external-purchase": NO_APPLE_ID,
    "offer-an-object": "a member that decides nothing is of another type; Apple's raises ClassValidationError",
    "price-a-string": "a member that decides nothing is of another type; Apple's makes a number of it",
}

CALLS = {
    "transaction": "verify_and_decode_signed_transaction", "renewal_info": "verify_and_decode_renewal_info",
    "app_transaction": "verify_and_decode_app_transaction", "notification": "verify_and_decode_notification",
    "realtime_request": "verify_and_decode_realtime_request",
}
PARTS = {"signedTransactionInfo": "transaction", "signedRenewalInfo": "renewal_info", "signedAppTransactionInfo": "app_transaction"}


def payload(jws):
    part = jws.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def leaves(value, path=""):
    """The values, each with its path, without the indices of lists."""
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from leaves(member, f"{path}.{name}")
    elif isinstance(value, list) and value:
        for member in value:
            yield from leaves(member, path)
    else:
        yield path, value


def counted(values):
    """The values as JSON: in Python, 1 is 1.0 and True."""
    return Counter((path, json.dumps(value, sort_keys=True)) for path, value in values)


def signed_parts(members):
    """Removes what is signed apart, and returns its kinds and texts."""
    for place in ("data", "appData"):
        for name, part in PARTS.items():
            if name in members.get(place, {}):
                yield part, members[place].pop(name)


DATE = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?Z")


def as_signed(path, value):
    """What our JSON says, with dates as numbers. Python has no dates before the year 1 or after 9999; the calendar
    repeats after 400 years."""
    match = DATE.fullmatch(value) if path.endswith("Date") and isinstance(value, str) else None
    if not match:
        return value
    year, month, day, hour, minute, second, millisecond = (int(x or 0) for x in match.groups())
    cycles, year = divmod(year - 2000, 400)
    days = cycles * 146_097 + date(2000 + year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millisecond


def unknown_values(model, path):
    """The paths of raw values that have no member of their enumeration."""
    for field in attr.fields(type(model)):
        value = getattr(model, field.name)
        for member in value if isinstance(value, list) else [value]:
            if attr.has(type(member)):
                yield from unknown_values(member, f"{path}.{field.name}")
        if field.metadata.get("typeOfField") == "raw" and value is not None and getattr(model, field.metadata["correspondingFieldName"]) is None:
            yield f"{path}.{field.metadata['correspondingFieldName']} {value}"


class Comparison:
    def __init__(self):
        self.members, self.known, self.unknown, self.differences, self.faults = 0, 0, set(), set(), []

    def differ(self, name, what):
        self.differences.add(name)
        if name not in DIFFERENCES:
            self.faults.append(f"{name}: {what}")

    def compare(self, name, kind, jws, ours, verifier):
        signed = payload(jws)
        parts = list(signed_parts(signed))
        expected = counted(leaves(signed))
        read = counted((path, as_signed(path, value)) for path, value in leaves(ours[kind]))
        if read != expected:
            self.faults.append(f"{name}: ours reads {dict(read - expected)} for {dict(expected - read)}")
        self.members += expected.total()
        try:
            self.compare_with_model(name, kind, expected, getattr(verifier, CALLS[kind])(jws))
        except VerificationException as error:
            self.differ(name, f"Apple's refuses it: {error.status.name}")
        except ClassValidationError as error:
            self.differ(name, f"Apple's fails: {error}")
        for part, text in parts:
            self.compare(f"{name}, {part}", part, text, ours, verifier)

    def compare_with_model(self, name, kind, expected, model):
        apples = json.loads(json.dumps(_get_cattrs_converter(type(model)).unstructure(model), default=str))
        list(signed_parts(apples))
        known = counted(leaves(apples))
        paths = {path for path, _ in known}
        self.unknown.update(kind + path for path, _ in expected if path not in paths)
        self.unknown.update(unknown_values(model, kind))
        expected = Counter({(path, value): count for (path, value), count in expected.items() if path in paths})
        if known != expected:
            self.differ(name, f"Apple's reads {dict(known - expected)} for {dict(expected - known)}")
        else:
            self.known += known.total()


comparison, count = Comparison(), 0
for vector in json.loads(Path(vectors, "jws/expectations.json").read_text()):
    if vector["verdict"] != "accepted":
        continue
    count += 1
    options, path = vector.get("verifier", {}), vectors / vector["file"]
    roots = [vectors / "authority" / file for file in options.get("roots", ["ec-root.der"])]
    testing = [vectors / "authority" / file for file in options.get("storeKitTesting", [])]
    arguments = [("--xcode-root", file) for file in testing] or [("--root", file) for file in roots]
    if "appAppleID" in options:
        arguments.append(("--app-apple-id", str(options["appAppleID"])))
    if "validationDate" in options:
        arguments.append(("--at", options["validationDate"]))
    run = subprocess.run([program, "batch", "--bundle-id", BUNDLE, *sum(arguments, ()), "--quiet", path], capture_output=True, text=True)
    jws = path.read_text().strip()
    environment = Environment(payload(jws)["environment"]) if testing else Environment.PRODUCTION
    verifier = SignedDataVerifier([file.read_bytes() for file in roots], False, environment, BUNDLE, APPLE_ID)
    comparison.compare(path.stem, vector["kinds"][0], jws, json.loads(run.stdout), verifier)
print(f"{count} vectors: ours reads {comparison.members} members and values as they are signed, Apple's {comparison.known} of them")
print("Apple's does not know:", ", ".join(sorted(comparison.unknown)))
for name, reason in DIFFERENCES.items():
    print(f"{name}: {reason}")
for found, stated in ((comparison.unknown, UNKNOWN), (comparison.differences, set(DIFFERENCES))):
    comparison.faults += [f"not stated: {name}" for name in sorted(found - stated)] + [f"no longer met: {name}" for name in sorted(stated - found)]
for fault in comparison.faults:
    print(fault)
sys.exit(bool(comparison.faults))
