"""Compares verdicts, contents and times with apple-purchase-receipt-verifier. usage: compare.py CORPUS"""

import base64
import statistics
import subprocess
import sys
import time
from pathlib import Path

import apple_purchase_receipt_verifier as other_package
import appstorereceipt
from appstoreserverlibrary.receipt_utility import ReceiptUtility
from timing import least

corpus = Path(sys.argv[1])
ours = appstorereceipt.Verifier(environments=["production", "sandbox"])
other = other_package.Verifier(other_package.Config())


def our_verdict(text):
    try:
        evidence = ours.verify(text)
    except appstorereceipt.VerificationError as error:
        return error.code, None
    contents = evidence.contents
    return "verified", (contents.get("bundle_id"), len(contents.get("in_app", []))) if evidence.kind == "receipt" else None


def others_verdict(call, text):
    result = call(text)
    if not result.verified:
        return result.failure.reason.value, None
    return "verified", (result.payload.bundle_id, len(result.payload.in_app)) if call == other.verify_receipt else None


def text_of(file):
    return base64.b64encode(file.read_bytes()).decode() if file.suffix == ".der" else file.read_text().strip()


def start(code):
    """The time of a process from its start to its first verdict in milliseconds, without that of Python itself."""
    def run(code):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, input=receipts[0][1], text=True, cwd="/")
        return time.perf_counter() - begin

    return (min(run(code) for _ in range(5)) - min(run("import sys, json, base64; sys.stdin.read()") for _ in range(5))) * 1e3


# The ids that Apple's ReceiptUtility finds, of files that are genuine.
utility, same, different = ReceiptUtility(), 0, 0
for folder, name in (("receipts", "extract_transaction_id_from_app_receipt"), ("ios6", "extract_transaction_id_from_transaction_receipt")):
    for file in sorted(each for each in (corpus / folder).glob("*") if each.is_file()):
        text = text_of(file)
        try:
            id = getattr(ours, name)(text)
        except appstorereceipt.VerificationError:
            continue
        equal = id == getattr(utility, name)(text if text[0] != "{" else base64.b64encode(file.read_bytes()).decode())
        same, different = same + equal, different + (not equal)
        if not equal:
            print(f"another transaction id: {folder}/{file.name}")
print(f"transaction ids beside ReceiptUtility: {same} the same, {different} others")

receipts = []
for folder, call in (
    ("receipts", other.verify_receipt), ("malformed", other.verify_receipt), ("jws", other.verify_signed_data),
    ("ios6", other.verify_receipt),
):
    verified = refused = different = 0
    for file in sorted(each for each in (corpus / folder).glob("*") if each.is_file()):
        text = text_of(file)
        mine, its = our_verdict(text), others_verdict(call, text)
        if (mine[0] == "verified", mine[1]) != (its[0] == "verified", its[1]):
            different += 1
            print(f"different: {folder}/{file.name}: {mine}, the other {its}")
        elif mine[0] == "verified":
            verified += 1
        else:
            refused += 1
        if folder == "receipts" and mine[0] == its[0] == "verified":
            receipts.append((file, text))
    print(f"{folder}: {verified} verified and {refused} refused by both, {different} different")

times = [
    (least(ours.verify, text), least(lambda text: ours.verify(text).contents, text), least(other.verify_receipt, text))
    for _, text in receipts
]
verified, with_contents, others = (sum(column) for column in zip(*times))
print(f"{len(times)} genuine receipts: {verified / len(times):.0f} µs verified, {with_contents / len(times):.0f} µs with contents in a dict, "
      f"the other {others / len(times):.0f} µs")
for name, column, total in (("verified", 0, verified), ("with contents", 1, with_contents)):
    ratios = [each[2] / each[column] for each in times]
    print(f"{name}: {others / total:.1f} times in sum, {statistics.median(ratios):.1f} in the median, "
          f"{min(ratios):.1f} to {max(ratios):.1f}")
mine = start("import sys, appstorereceipt as a; a.Verifier(environments=['production', 'sandbox']).verify(sys.stdin.read())")
its = start("import sys, apple_purchase_receipt_verifier as a; a.Verifier(a.Config()).verify_receipt(sys.stdin.read())")
print(f"import to first verdict: {mine:.0f} ms, the other {its:.0f} ms from its cache")
