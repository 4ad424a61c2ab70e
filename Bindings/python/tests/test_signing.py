"""The shared cases of signatures, which `openssl dgst` verifies. Runs with the installed wheel."""

import base64
import copy
import json
import os
import pickle
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from appstorereceipt import PromotionalOfferSignature, Signer, VerificationError

CASES = Path(__file__).resolve().parents[2] / "cases"
SHARED = json.loads((CASES / "signing.json").read_text())
IDS = [SHARED[name] for name in ("key_id", "issuer_id", "bundle_id")]
UUID = r"\A[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z"


def read(name):
    return (CASES / "signing" / name).read_bytes()


def verifies(der, message):
    with tempfile.NamedTemporaryFile() as signature:
        signature.write(der)
        signature.flush()
        command = ["openssl", "dgst", "-sha256", "-verify", CASES / "signing" / SHARED["public_key"], "-signature", signature.name]
        return subprocess.run(command, input=message, capture_output=True).returncode == 0


def integer(octets):
    octets = octets.lstrip(b"\0")
    octets = (b"\0" if octets[:1] >= b"\x80" else b"") + octets
    return bytes([2, len(octets)]) + octets


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class SigningTests(unittest.TestCase):
    def setUp(self):
        self.signer = Signer(*IDS, key=read(SHARED["key"]))

    def check_jws(self, jws, expected):
        header, payload, signature = jws.split(".")
        self.assertEqual(json.loads(decoded(header)), {"alg": "ES256", "kid": IDS[0], "typ": "JWT"})
        claims = json.loads(decoded(payload))
        self.assertAlmostEqual(claims.pop("iat"), time.time(), delta=10)
        self.assertRegex(claims.pop("nonce"), UUID)
        self.assertEqual(claims, {"iss": IDS[1], "bid": IDS[2]} | expected)
        rs = decoded(signature)
        self.assertEqual(len(rs), 64)
        numbers = integer(rs[:32]) + integer(rs[32:])
        self.assertTrue(verifies(bytes([0x30, len(numbers)]) + numbers, f"{header}.{payload}".encode()))

    def check_original(self, offer, expected):
        self.assertIsInstance(offer, PromotionalOfferSignature)
        self.assertEqual(offer.key_id, IDS[0])
        self.assertRegex(offer.nonce, UUID)
        self.assertAlmostEqual(offer.timestamp / 1000, time.time(), delta=10)
        message = "\u2063".join(expected + [offer.nonce, str(offer.timestamp)]).encode()
        self.assertTrue(verifies(base64.b64decode(offer.signature, validate=True), message))

    def refusal(self, expect, call):
        with self.assertRaises(VerificationError) as caught:
            call()
        error = caught.exception
        self.assertEqual((error.status, error.code, error.category), (expect["status"], expect["code"], expect["category"]))
        details = json.loads(error.verdict_json)["error"]
        self.assertEqual(details.get("argument"), expect.get("argument"))
        self.assertIn(expect.get("kind", ""), error.message)

    def test_shared_cases(self):
        for case in SHARED["cases"]:
            expect = case["expect"]
            call = lambda: getattr(self.signer, "sign_" + case["call"])(**case["arguments"])
            with self.subTest(case["name"]):
                if "code" in expect:
                    self.refusal(expect, call)
                elif "claims" in expect:
                    self.check_jws(call(), expect["claims"])
                else:
                    self.check_original(call(), expect["message"])
        print(f"python: {len(SHARED['cases'])} cases of signatures")

    def test_keys_and_ids(self):
        for row in SHARED["keys"]:
            with self.subTest(row["file"]):
                make = lambda: Signer(*IDS, key=read(row["file"]))
                if row["expect"]["status"]:
                    self.refusal(row["expect"], make)
                else:
                    make()
        for row in SHARED["ids"]:
            ids = {"key_id": "1", "issuer_id": "2", "bundle_id": "3"} | {row["argument"]: row["value"]}
            self.refusal(row["expect"], lambda: Signer(**ids, key=read(SHARED["key"])))

    def test_files_and_credentials(self):
        configuration = {"status": 3, "category": "host"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "key.p8")
            path.write_bytes(read(SHARED["key"]))
            path.chmod(0o600)
            Signer(*IDS, key_file=path)
            path.chmod(0o640)
            self.refusal(configuration | {"code": "key-accessible-to-others"}, lambda: Signer(*IDS, key_file=str(path)))
            os.environ["CREDENTIALS_DIRECTORY"] = folder
            try:
                Signer(*IDS, key_credential="key.p8")
                self.refusal(configuration | {"code": "key-no-credential"}, lambda: Signer(*IDS, key_credential="../key.p8"))
            finally:
                del os.environ["CREDENTIALS_DIRECTORY"]
            self.refusal(configuration | {"code": "key-no-credential"}, lambda: Signer(*IDS, key_credential="key.p8"))
        self.refusal(configuration | {"code": "key-unreadable"}, lambda: Signer(*IDS, key_file="/none"))

    def test_nothing_has_a_default(self):
        for arguments in [{}, {"product_id": "a", "offer_id": "b"}]:
            self.assertRaises(TypeError, lambda: self.signer.sign_promotional_offer(**arguments))
        self.assertRaises(TypeError, lambda: self.signer.sign_introductory_offer_eligibility("a", transaction_id="1"))
        refused = {"status": 1, "code": "invalid-argument", "category": "client"}
        self.refusal(refused | {"argument": "allow_introductory_offer"}, lambda: self.signer.sign_introductory_offer_eligibility("a", 1, "1"))
        self.refusal(refused | {"argument": "transaction_id"}, lambda: self.signer.sign_introductory_offer_eligibility("a", True, None))
        self.refusal(refused | {"argument": "product_id"}, lambda: self.signer.sign_promotional_offer(None, "b", "1"))
        usage = {"status": 4, "code": "usage"}
        for keys in [{}, {"key": b"", "key_file": "/none"}, {"key_file": "/none", "key_credential": "a"}]:
            with self.assertRaises(VerificationError) as caught:
                Signer(*IDS, **keys)
            self.assertEqual((caught.exception.status, caught.exception.code), (usage["status"], usage["code"]))
        with self.assertRaises(VerificationError) as caught:
            self.signer.sign_promotional_offer("\ud800", "b", "1")
        self.assertEqual(caught.exception.code, "usage")

    def test_copies_threads_and_pickles(self):
        copied = copy.deepcopy(self.signer)
        del self.signer
        nonces = []
        threads = [threading.Thread(target=lambda: nonces.append(copied.sign_original_promotional_offer("a", "b", None).nonce)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(nonces)), 20)
        self.assertRaises(TypeError, lambda: pickle.dumps(copied))
        self.setUp()


if __name__ == "__main__":
    unittest.main()
