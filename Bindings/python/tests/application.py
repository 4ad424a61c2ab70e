"""The application in test_servers.py: one verifier, made before the workers are forked, and a thread that verifies
meanwhile."""

import os
import threading
import time
from pathlib import Path

from appstorereceipt import VerificationError, Verifier

VECTORS = Path(__file__).resolve().parents[3] / "TestVectors"
receipt = (VECTORS / "receipts/1-purchase.der").read_bytes()
stranger = (VECTORS / "certificates/stranger.der").read_bytes()
verifier = Verifier("com.example.app", roots=[(VECTORS / "authority/root.der").read_bytes()])
verifier.verify(receipt)


def verify_in_the_parent():
    while True:
        verifier.accepts(receipt)
        verifier.accepts(stranger)
        time.sleep(0.0005)


threading.Thread(target=verify_in_the_parent, daemon=True).start()


def application(environ, start_response):
    try:
        evidence = verifier.verify(environ["wsgi.input"].read())
        status, text = "200 OK", evidence.contents["bundle_id"]
    except VerificationError as error:
        status, text = f"{error.http_status} Refused", error.code
    start_response(status, [("Content-Type", "text/plain"), ("X-Worker", str(os.getpid()))])
    return [text.encode()]
