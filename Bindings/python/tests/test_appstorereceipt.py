"""The shared cases, the README, and processes and threads. Runs with the installed wheel."""

import copy
import gc
import json
import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

import appstorereceipt
from appstorereceipt import VerificationError, Verifier, decode_unverified

BINDINGS = Path(__file__).resolve().parents[2]
VECTORS = BINDINGS.parent / "TestVectors"
CASES = json.loads((BINDINGS / "cases/cases.json").read_text())
BAD_SETTINGS = json.loads((BINDINGS / "cases/settings.json").read_text())
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read(name):
    return (VECTORS / name).read_bytes()


def date_of(value):
    return value if value == "now" else EPOCH + timedelta(milliseconds=value)


def verifier_of(case):
    options = copy.deepcopy(case["options"])
    for name in ("roots", "transaction_receipt_issuers"):
        if name in options:
            options[name] = [read(file) for file in options[name]]
    for name in ("validation_date", "clock"):
        if name in options:
            options[name] = date_of(options[name])
    if "maximum_age" in options:
        options["maximum_age"] = timedelta(seconds=options["maximum_age"])
    return Verifier(environments=options.pop("environments", ()), **options)


def case(name):
    return next(each for each in CASES if each["name"] == name)


RECEIPT = read("receipts/1-purchase.der")
STRANGER = read("certificates/stranger.der")
VERIFIER = verifier_of(case("receipt"))


def verify_in_child(_):
    return VERIFIER.verify(RECEIPT).kind, VERIFIER.accepts(STRANGER)


class Cases(unittest.TestCase):
    def test_every_shared_case_has_its_result(self):
        print(f"python: {len(CASES)} cases")
        for each in CASES:
            with self.subTest(each["name"]):
                self.check(each, {**each["expect"], "json": each.get("json_of", {}).get("python", each["expect"]["json"])})

    def check(self, case, expect):
        status, error, text = 0, None, None
        try:
            verifier = verifier_of(case)
            evidence = [read(file) for file in case["evidence"]]
            if case["call"] == "verify":
                text = self.verify(case, verifier, evidence[0])
            elif case["call"] == "answer":
                text = verifier.answer(evidence[0], case.get("latest_receipt_info", False))
                self.assertEqual(text.json, text)
                error = text.error
            elif case["call"].startswith("extract"):
                text = json.dumps({"transaction_id": getattr(verifier, case["call"])(evidence[0])}, separators=(",", ":"))
            elif case["call"] == "decode":
                text, status = decode_unverified(evidence[0]), 5
            elif case["call"] == "entitlements":
                entitlements = verifier.entitlements(evidence, date_of(case["date"]), case.get("environment"))
                self.same_entitlements(entitlements, json.loads(entitlements.json))
                text, error = entitlements.json, entitlements.error
        except VerificationError as refusal:
            error, text = refusal, None if case.get("json") == "none" else refusal.verdict_json
        found = (error.status, error.code, error.category) if error else (status, "", "")
        self.assertEqual((*found, text), (expect["status"], expect["code"], expect["category"], expect["json"]))

    def verify(self, case, verifier, evidence):
        self.assertEqual(verifier.accepts(evidence), case["expect"]["status"] == 0)
        texts = {form: verifier.verdict_json(evidence, form) for form in ("full", "brief")}
        verified = verifier.verify(evidence)
        brief = json.loads(texts["brief"])
        self.assertEqual((verified.verdict_json, verified.kind), (texts["full"], brief["kind"]))
        self.assertEqual(verified.contents, verified.verdict[verified.kind])
        brief["trust"].pop("note", None)
        dates = {name: appstorereceipt._date(brief["trust"][name]) for name in ("signer_expires", "validated_at")}
        self.assertEqual(vars(verified.trust), {**brief["trust"], **dates})
        return texts.get(case["json"])

    def same_entitlements(self, found, expected):
        self.assertEqual(appstorereceipt._date(expected["at"]), found.at)
        self.assertEqual([(i.product_id, i.access) for i in found.items], [(i["product_id"], i["access"]) for i in expected["items"]])
        self.assertEqual([i.environment for i in found.items], [i.get("environment") for i in expected["items"]])
        self.assertEqual([(i.gives_access, i.grantable) for i in found.items], [(i["gives_access"], i["grantable"]) for i in expected["items"]])
        self.assertEqual([i.until is None for i in found.items], [(i["until"] or "+")[0] in "+-" for i in expected["items"]])
        dates = {"until", "renewal_date", "grace_period_expires_date", "as_of"}
        for own, subscription in zip(found.subscriptions, expected["subscriptions"], strict=True):
            members = {name: appstorereceipt._date(value) if name in dates else value for name, value in subscription.items()}
            offer = own.renewal_offer and vars(own.renewal_offer)
            self.assertEqual({**vars(own), "renewal_offer": offer}, members)
        self.assertEqual([(r.index, r.message) for r in found.refused], [(r["index"], r["error"]["message"]) for r in expected["refused"]])

    def test_real_receipts_have_the_verdicts_of_the_command(self):
        corpus = os.environ.get("RECEIPT_CORPUS")
        command = os.environ.get("RECEIPT_COMMAND")
        if not corpus or not command:
            self.skipTest("RECEIPT_CORPUS and RECEIPT_COMMAND are not set")
        files = sorted(str(f) for f in Path(corpus).rglob("*") if f.is_file() and f.suffix not in (".md", ".jsonl"))
        lines = subprocess.run([command, "verify", "--format", "json", *files], capture_output=True).stdout.splitlines()
        verifier = Verifier(environments=["production", "sandbox"])
        self.assertEqual(len(lines), len(files))
        for file, line in zip(files, lines):
            expected, found = json.loads(line), json.loads(verifier.verdict_json(Path(file).read_bytes()))
            expected.pop("file")
            for verdict in (expected, found):
                verdict.get("error", {}).pop("advice", None)
            self.assertEqual(found, expected, file)
        print(f"{len(files)} real files: equal to the command")


class Values(unittest.TestCase):
    def test_a_text_and_its_bytes_have_one_verdict(self):
        text = read("requests/base64.txt").decode()
        self.assertEqual(VERIFIER.verify(text), VERIFIER.verify(text.encode()))

    def test_no_bad_setting_makes_a_verifier(self):
        rows = [(row["option"], self.value(row), row["expect"]["status"], row["expect"]["code"]) for row in BAD_SETTINGS]
        for name in ("bundle_id", "distrusted", "product_types", "roots", "transaction_receipt_issuers"):
            empty = (3, "no-bundle-id") if name == "bundle_id" else (4, "usage")
            rows += [(name, value, *empty) for value in (iter([]), (), {}, set(), (each for each in []))]
            rows += [(name, value, 4, "usage") for value in (0, 10**9, True, 1.5, object(), [1], [[]], [["a"]])]
        rows += [("environments", iter([]), 3, "no-environment"), ("environments", {}, 3, "no-environment"), ("environments", 1, 4, "usage")]
        rows += [(name, value, 4, "usage") for name, values in {
            "bundle_id": [b"com.example.app", b"com.example.app\0", [b"a"], bytearray(b"a"), "\ud800"], "roots": ["text"],
            "distrusted": [b"0" * 64], "app_apple_id": [0, -1, True, 1.0, [], ["1"], b"1"], "maximum_age": [0, 60, "60", [], "now", timedelta(microseconds=-1)],
            "validation_date": [0, "", "2020", [], "Now"], "clock": [0, "", "2020", [], "now"],
            "storekit_testing": [None, 0, 1, "", "false", []], "allows_rsa_1024": [None, 0, 1, "", "false", []],
            "strict_form": [None, 0, 1, "", "false", []],
        }.items() for value in values]
        for name, value, status, code in rows:
            with self.subTest(name, value=value), self.assertRaises(VerificationError) as raised:
                Verifier(**{name: value})
            error = raised.exception
            self.assertEqual((error.status, error.code, error.category, error.http_status), (status, code, "host", 500), (name, value))
            if code == "usage":
                self.assertEqual(error.message, f"the option {name} cannot be read")
        for name in ("clock", "validation_date"):
            with self.assertRaises(ValueError):
                Verifier(**{name: datetime(2025, 1, 1)})

    @staticmethod
    def value(row):
        """Certificates are bytes here, ages and dates have types."""
        value = row["value"]
        if row["option"] in ("roots", "transaction_receipt_issuers"):
            encoded = lambda text: text.encode() if isinstance(text, str) else text
            return [encoded(each) for each in value] if isinstance(value, list) else encoded(value)
        return timedelta(seconds=value) if row["option"] == "maximum_age" and value is not None else value

    def test_only_bytes_and_text_are_evidence(self):
        calls = VERIFIER.verify, VERIFIER.verdict_json, VERIFIER.accepts, VERIFIER.entitlements, VERIFIER.answer, decode_unverified
        for call in calls:
            for value in (10**9, 0, True, None, 1.5, [1], object()):
                with self.subTest(call.__name__, value=value), self.assertRaises(TypeError):
                    call(value)
        for value in (bytearray(RECEIPT), memoryview(RECEIPT)):
            self.assertEqual(VERIFIER.verify(value), VERIFIER.verify(RECEIPT))
            self.assertEqual(VERIFIER.entitlements(value, EPOCH).json, VERIFIER.entitlements(RECEIPT, EPOCH).json)
        with self.assertRaises(TypeError):
            VERIFIER.entitlements([RECEIPT, 10**9])

    def test_text_that_is_no_utf_8_is_refused(self):
        for text in ("\ud800", "\udc80" * 5, '{"receipt-data":"\ud800"}', read("requests/base64.txt").decode() + "\ud800"):
            self.assertFalse(VERIFIER.accepts(text))
            with self.assertRaises(VerificationError) as raised:
                VERIFIER.verify(text)
            self.assertEqual((raised.exception.status, raised.exception.http_status), (1, 400))
            self.assertEqual(VERIFIER.entitlements(text).refused[0].code, raised.exception.code)

    def test_copies_share_a_verifier_that_is_freed_once(self):
        for make in (copy.copy, copy.deepcopy, lambda each: copy.deepcopy({"a": [each]})["a"][0]):
            verifier = verifier_of(case("receipt"))
            copies = [make(verifier) for _ in range(20)]
            del verifier
            gc.collect()
            while copies:
                self.assertTrue(copies.pop().accepts(RECEIPT))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with self.assertRaises(TypeError):
                pickle.dumps(VERIFIER, protocol)

    def test_a_word_that_is_no_environment_is_named(self):
        with self.assertRaisesRegex(ValueError, "not an environment: Production"):
            VERIFIER.entitlements([], environment="Production")

    def test_a_limit_on_pieces(self):
        self.assertEqual(len(VERIFIER.entitlements([b""] * 1000).refused), 1000)
        with self.assertRaises(VerificationError) as raised:
            VERIFIER.entitlements([b""] * 1001)
        self.assertEqual((raised.exception.code, raised.exception.http_status), ("too-much-evidence", 400))

    def test_the_error_of_a_refused_piece(self):
        error = VERIFIER.entitlements([RECEIPT, b""]).error
        self.assertEqual((error.code, error.message, error.http_status), ("empty-input", "the input is empty (at byte 0 of the text)", 400))
        self.assertTrue(error.advice)

    def test_an_error_survives_pickle(self):
        with self.assertRaises(VerificationError) as raised:
            VERIFIER.verify(STRANGER)
        error = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((error.code, error.category, error.http_status), ("untrusted-chain", "forgery", 403))
        self.assertEqual((str(error), vars(error)), (str(raised.exception), vars(raised.exception)))

    def test_dates_with_and_without_milliseconds(self):
        for text, microseconds in (("2025-06-15T12:00:00Z", 0), ("2025-06-15T12:00:00.5Z", 500000), ("2025-06-15T12:00:00.123Z", 123000)):
            self.assertEqual(appstorereceipt._date(text), datetime(2025, 6, 15, 12, 0, 0, microseconds, timezone.utc))

    def test_a_word_of_a_later_version_is_unknown(self):
        self.assertIs(appstorereceipt.Access("later"), appstorereceipt.Access.UNKNOWN)
        self.assertEqual((appstorereceipt.Access("not-yet"), f"{appstorereceipt.Access.OWNED}"), ("not-yet", "owned"))

    def test_a_date_that_datetime_cannot_express_is_none(self):
        verifier = verifier_of(case("entitlements until the year 10000"))
        [item] = verifier.entitlements(read("jws/transaction-until-the-year-10000.jws"), EPOCH, "production").items
        self.assertEqual((item.access, item.until, item.expires_date, item.purchase_date.year), ("not-yet", item.until, None, 2025))

    def test_a_signed_piece_that_cannot_be_read_or_checked_is_a_refusal(self):
        verifier = verifier_of(case("entitlements, a real-time request of any app first"))
        evidence = [read("jws/realtime-request.jws"), read("jws/product-id-twice.jws"), RECEIPT]
        found = verifier.entitlements(evidence, environment="production")
        self.assertEqual([each.code for each in found.refused], ["no-app-apple-id", "duplicate-member"])
        self.assertEqual((len(found.items), found.error.status), (1, 1))

    def test_counts(self):
        verifier = verifier_of(case("receipt"))
        verifier.accepts(RECEIPT), verifier.accepts(STRANGER)
        self.assertEqual(verifier.counts["verified"], 1)
        self.assertEqual(verifier.counts["refused"], {"untrusted-chain": 1})

    def test_memory_does_not_grow(self):
        def resident():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        calls = int(os.environ.get("ASR_CALLS", 20000))
        for number in range(calls):
            if number == calls // 10:
                before = resident()
            VERIFIER.verdict_json(RECEIPT if number % 4 else STRANGER)
        growth = resident() - before
        print(f"{calls} calls: {growth // 1024} KiB more memory")
        self.assertLess(growth, 2 << 20)


class Processes(unittest.TestCase):
    def test_children_of_a_process_whose_threads_verify(self):
        stop = threading.Event()

        def load():
            while not stop.is_set():
                VERIFIER.accepts(STRANGER)
                VERIFIER.accepts(RECEIPT)

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
                results = pool.map_async(verify_in_child, range(40), chunksize=1).get(60)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(results, [("receipt", False)] * 40)

    def test_other_threads_run_during_a_call(self):
        """The GIL is released: else, the counter would stand still."""
        large = b"MIAG" * (15 << 20)
        count = 0
        stop = threading.Event()

        def counter():
            nonlocal count
            while not stop.is_set():
                count += 1

        thread = threading.Thread(target=counter)
        thread.start()
        best = 0
        for _ in range(5):
            before = count
            VERIFIER.accepts(large)
            best = max(best, count - before)
        stop.set()
        thread.join()
        self.assertGreater(best, 1000)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_the_configuration_of_openssl_changes_nothing_and_loads_no_code(self):
        with tempfile.TemporaryDirectory() as folder:
            # Writes its mark where it is loaded, as a provider or an engine.
            source, module, mark = (Path(folder, name) for name in ("module.c", "default.so", "mark"))
            source.write_text(
                f"""#include <fcntl.h>
                __attribute__((constructor)) static void load(void) {{ creat("{mark}", 0600); }}
                int OSSL_provider_init(const void *a, const void *b, const void **c, void **d) {{ return 0; }}""")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", module, source], check=True)
            configurations = {
                "a syntax error": "[[[ =",
                "an unknown provider": "providers = p\n[p]\nnone = m\n[m]\nactivate = 1",
                "no provider": "providers = p\n[p]\nnull = m\n[m]\nactivate = 1",
                "a provider that is code": f"providers = p\n[p]\nx = m\n[m]\nmodule = {module}\nactivate = 1",
                "a provider of OPENSSL_MODULES": "providers = p\n[p]\ndefault = m\n[m]\nmodule = default\nactivate = 1",
                "an engine that is code": f"engines = e\n[e]\nx = m\n[m]\ndynamic_path = {module}\ninit = 1",
                "FIPS": "alg_section = a\n[a]\ndefault_properties = fips=yes",
                "diagnostics": "unknown = 1",
            }
            command = [sys.executable, "-m", "appstorereceipt", "--bundle-id", "com.example.app", "--root", VECTORS / "authority/root.der"]
            files = [VECTORS / "receipts/1-purchase.der", VECTORS / "certificates/stranger.der"]

            def run(**variables):
                environment = {**os.environ, **variables}
                return subprocess.run([*command, *files], capture_output=True, cwd="/", env=environment).stdout

            expected = run()
            self.assertEqual([json.loads(line)["verified"] for line in expected.splitlines()], [True, False])
            for name, lines in configurations.items():
                with self.subTest(name):
                    mark.unlink(missing_ok=True)
                    file = Path(folder, "openssl.cnf")
                    file.write_text(f"openssl_conf = start\nconfig_diagnostics = 1\n[start]\n{lines}\n")
                    self.assertEqual(run(OPENSSL_CONF=str(file), OPENSSL_MODULES=folder, OPENSSL_ENGINES=folder), expected)
                    self.assertFalse(mark.exists())

    def test_the_command_prints_a_verdict_for_each_file(self):
        files = [str(VECTORS / name) for name in ("receipts/1-purchase.der", "certificates/stranger.der")]
        run = subprocess.run(
            [sys.executable, "-m", "appstorereceipt", "--bundle-id", "com.example.app", "--root", str(VECTORS / "authority/root.der"), *files],
            capture_output=True, text=True, cwd="/")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual([json.loads(line)["verified"] for line in run.stdout.splitlines()], [True, False])


class Readme(unittest.TestCase):
    def test_the_example_runs(self):
        text = (BINDINGS / "python/README.md").read_text()
        code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
        space = {}
        exec(compile(code, "README.md", "exec"), space)
        # Apple did not sign the vectors.
        self.assertEqual(space["redeem"](RECEIPT), (403, []))
        self.assertEqual(space["redeem"](b""), (400, []))
        space["verifier"] = VERIFIER
        self.assertEqual(space["redeem"](read("receipts/10-purchases.der"))[0], 200)
        self.assertEqual(space["redeem"](RECEIPT), (200, ["com.example.app.coins.0"]))


if __name__ == "__main__":
    unittest.main()
