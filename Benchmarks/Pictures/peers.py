"""Times this library and two others from Python, in one process, as JSON. usage: peers.py RECEIPT [--smoke]

RECEIPT is the command, which mints the evidence. A time is the least of several calls, in microseconds."""

import base64
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apple_purchase_receipt_verifier as aprv
import appstorereceipt
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

SIZES = (0, 1, 10, 100, 1_000, 10_000, 100_000)
BUNDLE_ID = "com.example.app"


def least(call, evidence, seconds):
    times = []
    end = time.perf_counter() + seconds
    # A call that takes longer than all this is made once.
    while not times or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        call(evidence)
        times.append(time.perf_counter() - start)
    return round(min(times) * 1e6, 1)


def mint(command, *words, text=None):
    return subprocess.run([command, "mint", *words], input=text, capture_output=True, check=True).stdout.decode().strip()


def main(command, *options):
    seconds, sizes = (0.1, SIZES[:5]) if "--smoke" in options else (4, SIZES)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        roots = {}
        for key in ("rsa", "ec"):
            subprocess.run([command, "ca", "--key", key, "--out", f"{folder}/{key}"], check=True, capture_output=True)
            roots[key] = Path(folder, key, "root.der").read_bytes()
        ours = appstorereceipt.Verifier(BUNDLE_ID, roots=[roots["rsa"], roots["ec"]])
        theirs = aprv.Verifier(aprv.Config(roots=[roots["rsa"], roots["ec"]]))
        apples = SignedDataVerifier([roots["ec"]], False, Environment.PRODUCTION, BUNDLE_ID, 1234567890)

        def check(receipt):
            assert theirs.verify_receipt(receipt).verified

        def takes(receipt):
            result = theirs.verify_receipt(receipt)
            return result.verified or result.failure.reason is not aprv.Reason.TOO_LARGE

        for size in sizes:
            receipt = mint(command, "--ca", f"{folder}/rsa", "--bundle-id", BUNDLE_ID, "--purchases", str(size))
            calls = [("this library", ours.verify)]
            if takes(receipt):
                calls.append(("apple-purchase-receipt-verifier", check))
            for name, call in calls:
                rows.append({"library": name, "evidence": "receipt", "purchases": size, "bytes": len(base64.b64decode(receipt)),
                             "microseconds": least(call, receipt, seconds)})
        jws = mint(command, "--ca", f"{folder}/ec", "--bundle-id", BUNDLE_ID,
                   text=b'{"transaction":{"productId":"pro","transactionId":"1"}}')
        for name, call in (("this library", ours.verify), ("apple-purchase-receipt-verifier", theirs.verify_signed_data),
                           ("Apple's App Store Server Library", apples.verify_and_decode_signed_transaction)):
            rows.append({"library": name, "evidence": "JWS", "purchases": 1, "bytes": len(jws), "microseconds": least(call, jws, seconds)})
    json.dump(rows, sys.stdout, indent=1)


main(*sys.argv[1:])
