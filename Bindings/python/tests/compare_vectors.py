"""Compares verdicts on the test vectors, and times, with two other packages of PyPI.

usage: compare_vectors.py TEST-VECTORS

A package skips a vector if it has no option for a setting of the vector's verifier, or no rule of that kind: both are
then the caller's task. A package verifies a notification's signed parts with its calls for them, and a refused part
counts as a refused notification. Only a difference between this package and the stored verdicts is a failure."""

import base64
import json
import sys
from collections import Counter
from pathlib import Path

import apple_purchase_receipt_verifier as aprv
import appstorereceipt
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.receipt_utility import ReceiptUtility
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from timing import least

vectors = Path(sys.argv[1])


def payload(jws):
    """The unverified members of a JWS's payload; none if it is not readable."""
    try:
        part = jws.split(".")[1]
        members = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return members if isinstance(members, dict) else {}
    except (IndexError, ValueError, RecursionError):
        return {}


def signed_parts(members):
    """The signed parts of a notification, by the kind of each."""
    places = (("data", "signedTransactionInfo", "signed_transaction"), ("data", "signedRenewalInfo", "renewal_info"),
              ("appData", "signedAppTransactionInfo", "app_transaction"))
    for place, name, kind in places:
        part = members[place].get(name) if isinstance(members.get(place), dict) else None
        if part is not None:
            yield kind, part


class Ours:
    name = "appstorereceipt"

    def accepts(self, evidence, roots, apple_id, stage):
        settings = {"app_apple_id": apple_id} if apple_id else {}
        return appstorereceipt.Verifier("com.example.app", roots=roots, **settings).accepts(evidence)


class ReceiptVerifier:
    """apple-purchase-receipt-verifier: it knows no app and no environment, so what a policy refuses is the caller's to
    refuse."""

    name = "apple-purchase-receipt-verifier"

    def accepts(self, evidence, roots, apple_id, stage):
        if stage == "policy" or apple_id:
            return None
        verifier = aprv.Verifier(aprv.Config(roots=roots))
        if isinstance(evidence, bytes):
            return verifier.verify_receipt(base64.b64encode(evidence).decode()).verified
        parts = [part for _, part in signed_parts(payload(evidence))]
        return all(isinstance(jws, str) and verifier.verify_signed_data(jws).verified for jws in [evidence, *parts])


class ServerLibrary:
    """Apple's app-store-server-library, without its requests to the network. It verifies JWS only. In production it
    requires an Apple id."""

    name = "app-store-server-library"
    kinds = (("notificationType", "notification"), ("receiptType", "app_transaction"), ("autoRenewProductId", "renewal_info"),
             ("requestIdentifier", "realtime_request"))

    def accepts(self, evidence, roots, apple_id, stage):
        if isinstance(evidence, bytes):
            return None
        members = payload(evidence)
        kind = next((kind for member, kind in self.kinds if member in members), "transaction")
        inner = next((members[name] for name in ("data", "summary", "externalPurchaseToken", "appData") if isinstance(members.get(name), dict)), members)
        apple_id = apple_id or inner.get("appAppleId")
        if not apple_id and kind != "transaction" and kind != "renewal_info":
            return None
        verifier = SignedDataVerifier(roots, False, Environment.PRODUCTION, "com.example.app", int(apple_id or 1))
        call = getattr(verifier, "verify_and_decode_" + ("signed_transaction" if kind == "transaction" else kind))
        try:
            call(evidence)
            for part, jws in signed_parts(members) if kind == "notification" else ():
                getattr(verifier, "verify_and_decode_" + part)(jws)
        except Exception:  # It documents VerificationException, and raises others, too.
            return False
        return True


def compare(package, title, file, root):
    counts, accepted, refused = Counter(), [], []
    for vector in json.loads((vectors / file).read_text()):
        options = vector.get("verifier", {})
        if vector["file"].startswith("requests/") or set(options) - {"roots", "appAppleID"}:
            counts["left out"] += 1
            continue
        content = (vectors / vector["file"]).read_bytes()
        roots = [(vectors / "authority" / name).read_bytes() for name in options.get("roots", [root])]
        verdict = package.accepts(content.decode("latin-1") if "jws" in title else content, roots, options.get("appAppleID"), vector.get("stage"))
        if verdict is None:
            counts["left out"] += 1
            continue
        counts[vector["verdict"]] += 1
        if verdict != (vector["verdict"] == "accepted"):
            (accepted if verdict else refused).append(vector)
    print(f"\n{package.name}, {title}: it accepts {len(accepted)} of {counts['refused']} vectors that must be refused, "
          f"and refuses {len(refused)} of {counts['accepted']} that must be accepted; {counts['left out']} left out")
    for code, files in sorted((code, [v["file"] for v in accepted if v["code"] == code]) for code in {v["code"] for v in accepted}):
        print(f"  accepts {code}: {', '.join(files)}")
    for vector in refused:
        print(f"  refuses {vector['file']}")
    return accepted + refused


def compare_ids():
    """The transaction ids that Apple's ReceiptUtility finds, beside those of receipts that are verified. An empty
    string is no id here."""
    utility, counts, different = ReceiptUtility(), Counter(), 0
    issuers = [(vectors / "authority" / name).read_bytes() for name in ("itunes-store.der", "intermediate.der")]
    for kind, file in (("app_receipt", "expectations.json"), ("transaction_receipt", "transaction-receipts/expectations.json")):
        for vector in json.loads((vectors / file).read_text()):
            if vector["file"].startswith("requests/"):
                continue
            content = (vectors / vector["file"]).read_bytes()
            # Apple's functions take base64.
            text = content.decode("latin-1") if content[:1] not in (b"0", b"{") else base64.b64encode(content).decode()
            name = "extract_transaction_id_from_" + kind
            try:
                apples = getattr(utility, name)(text)
            except ValueError as error:
                apples = error
            roots = [(vectors / "authority" / root).read_bytes() for root in vector.get("verifier", {}).get("roots", ["root.der"])]
            verifier = appstorereceipt.Verifier(
                "com.example.app", ["production", "sandbox"], roots=roots, transaction_receipt_issuers=issuers, allows_rsa_1024=True)
            try:
                ours = getattr(verifier, name)(content)
            except appstorereceipt.VerificationError:
                counts[kind, "refused here, and no id there" if isinstance(apples, ValueError) or not apples else "refused here, an id there"] += 1
                continue
            if isinstance(apples, ValueError):
                counts[kind, "an id here, and unreadable there"] += 1
                continue
            same = ours == apples or apples == ""
            counts[kind, "the same id" if same else "another id"] += 1
            different += not same
            if not same:
                print(f"  {vector['file']}: {ours}, Apple's {apples}")
    print("\ntransaction ids, beside ReceiptUtility: " + "; ".join(f"{kind}: {count} {what}" for (kind, what), count in sorted(counts.items())))
    return different > 0 or counts["app_receipt", "the same id"] < 100 or counts["transaction_receipt", "the same id"] < 5


failed = compare_ids()
for title, file, root in (("jws", "jws/expectations.json", "ec-root.der"), ("receipts", "expectations.json", "root.der")):
    for package in (Ours(), ReceiptVerifier(), ServerLibrary()):
        if not (package.name == ServerLibrary.name and title == "receipts"):
            failed |= bool(compare(package, title, file, root)) and package.name == Ours.name

root = (vectors / "authority/ec-root.der").read_bytes()
transaction = (vectors / "jws/transaction.jws").read_text()
apples = SignedDataVerifier([root], False, Environment.PRODUCTION, "com.example.app", 1)
print("\na transaction, µs:")
for package, call in (
    (Ours, appstorereceipt.Verifier("com.example.app", roots=root).verify), (ReceiptVerifier, aprv.Verifier(aprv.Config(roots=[root])).verify_signed_data),
    (ServerLibrary, apples.verify_and_decode_signed_transaction),
):
    print(f"  {package.name}: {least(call, transaction):.0f}")
receipt = (vectors / "receipts/10-purchases.der").read_bytes()
text = base64.b64encode(receipt).decode()
root = (vectors / "authority/root.der").read_bytes()
print("a receipt with 10 purchases, µs:")
for package, call in (
    (Ours, appstorereceipt.Verifier("com.example.app", roots=root).verify), (ReceiptVerifier, aprv.Verifier(aprv.Config(roots=[root])).verify_receipt),
):
    print(f"  {package.name}: {least(call, text):.0f}")
sys.exit(failed)
