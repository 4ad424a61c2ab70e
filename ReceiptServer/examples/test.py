"""Compares what each backend has with the ledger's grants, after a random history. `test` runs it."""

import argparse
import atexit
import base64
import hashlib
import hmac
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import closing
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOKEN, SECRET = "examples-token-0123456789", "examples-secret-0123456789abcdef"
APP, DAY = "com.example.app", 86_400_000
ACCOUNTS = ["anna", "ben", "17", "o'neil@example.com"]


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def request(method, url, body=b"", headers={}):
    """The status and the body; 0 for no answer."""
    asked = urllib.request.Request(url, body if method == "POST" else None, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def wait(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Post:
    """Stands between the backend and the server, in both directions: loses requests and answers, and delivers events
    late, in another order and twice."""

    def __init__(self, rng, server_port, backend_port):
        self.rng, self.lock = rng, threading.Lock()
        self.server, self.backend = f"http://127.0.0.1:{server_port}", f"http://127.0.0.1:{backend_port}"
        self.held, self.counts = [], {"lost": 0, "refused": 0, "late": 0, "twice": 0, "delivered": 0}
        self.is_faulty = True
        self.fates = []  # of the next messages; at random after them
        post = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = post.event(self.headers, body) if self.path == "/webhook" else post.redemption(self.path, self.headers, body)
                if status == 0:
                    return self.connection.close()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass  # The server that asked was killed.

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def fate(self):
        with self.lock:
            return self.fates.pop(0) if self.fates else self.rng.random() if self.is_faulty else 1

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def redemption(self, path, headers, body):
        fate = self.fate()
        if fate < 0.1:
            self.count("refused")
            return 503, b"{}"
        status, answer = request("POST", self.server + path, body, {"Authorization": headers["Authorization"]})
        if fate < 0.25:
            self.count("lost")
            return 0, b""
        return (status, answer) if status else (502, b"bad gateway")

    def event(self, headers, body):
        fate = self.fate()
        letter = (body, {"Ledger-Signature": headers["Ledger-Signature"]})
        if fate < 0.15:
            self.count("refused")
            return 500, b""
        if fate < 0.5:
            self.count("late")
            with self.lock:
                self.held.append(letter)
            return 200, b""
        if fate < 0.6:
            self.count("twice")
            with self.lock:
                self.held.append(letter)
        return self.deliver(letter), b""

    def deliver(self, letter):
        self.count("delivered")
        return request("POST", self.backend + "/webhook", *letter)[0] or 502

    def empty(self):
        """Delivers what was held back, in a random order."""
        with self.lock:
            held, self.held = self.held, []
            self.rng.shuffle(held)
        for letter in held:
            status = self.deliver(letter)
            assert status == 200, f"a held event: {status}"

    def stop(self):
        self.http.shutdown()


class Shop:
    """A ledger's server and a backend, with an App Store of its own."""

    repeated = {0, 503}

    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.server_port, self.backend_port = free_port(), free_port()
        self.ledger, self.shop = folder / "ledger.db", folder / "shop.db"
        self.post = self.faults()
        self.kills, self.processes = 0, []
        (folder / "tokens").write_text(TOKEN + " redeem,read,transfer,delete,events\n")
        (folder / "secret").write_text(SECRET + "\n")
        subprocess.run([SERVER, "init", "--ledger", self.ledger], check=True, capture_output=True)

    def faults(self):
        return Post(self.rng, self.server_port, self.backend_port)

    def webhook(self):
        """The server's options."""
        return ["--webhook", f"http://127.0.0.1:{self.post.port}/webhook", "--webhook-secret-file", self.folder / "secret"]

    def start_backend(self, command):
        environment = os.environ | {
            "LEDGER_URL": f"http://127.0.0.1:{self.post.port}", "LEDGER_TOKEN": TOKEN, "WEBHOOK_SECRET_FILE": str(self.folder / "secret"),
            "DATABASE": str(self.shop), "PORT": str(self.backend_port), "PHP_CLI_SERVER_WORKERS": "8"}
        log = open(self.folder / "backend.log", "wb")
        self.processes.append(subprocess.Popen(
            [word.replace("PORT", str(self.backend_port)) for word in command], env=environment, stdout=log, stderr=log, start_new_session=True))
        wait(lambda: request("GET", self.url("/balances"), headers=self.signed_in("anna"))[0] == 200, "the backend answers")

    def url(self, path):
        return f"http://127.0.0.1:{self.backend_port}{path}"

    @staticmethod
    def signed_in(account):
        return {"X-Example-Account": account}

    def start(self):
        log = open(self.folder / "server.log", "ab")
        self.processes.append(subprocess.Popen(
            [SERVER, "--listen", f"127.0.0.1:{self.server_port}", "--bundle-id", APP, "--environment", "production", "--environment", "sandbox",
             "--root", FOLDER / "ca/root.der", "--root", FOLDER / "store.der", "--ledger", self.ledger, "--token-file", self.folder / "tokens",
             "--lifecycle-events", "--product-type", f"{APP}.card=non-renewing:30", *self.webhook(),
             *(EVERY_SWITCH if arguments.backends else [])], stdout=log, stderr=log, start_new_session=True))
        wait(lambda: request("GET", f"http://127.0.0.1:{self.server_port}/readyz")[0] == 200, "the server answers")

    def kill(self):
        self.kills += 1
        server = self.processes.pop()
        server.kill()
        server.wait()
        self.start()

    def back_up(self):
        with sqlite3.connect(self.ledger) as ledger, sqlite3.connect(self.folder / "copy.db") as copy:
            ledger.backup(copy)

    def restore(self):
        """As RUNBOOK.md says, without the evidence since."""
        self.kills += 1
        server = self.processes.pop()
        server.kill()
        server.wait()
        for end in ["-wal", "-shm"]:
            self.ledger.with_name(self.ledger.name + end).unlink(missing_ok=True)
        (self.folder / "copy.db").replace(self.ledger)
        self.start()

    def stop(self):
        self.post.stop()
        for process in self.processes:
            # PHP has its workers in its group.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    # What happens in the shop

    def redeem(self, account, evidence):
        status, body = request("POST", self.url("/redeem"), evidence.encode(), self.signed_in(account))
        return status, json.loads(body or b"{}")

    def notify(self, kind, transaction, **parts):
        signed = mint({"notification": {"notificationType": kind, "notificationUUID": str(uuid.UUID(int=self.rng.getrandbits(128))),
                                        "signedDate": transaction["signedDate"], "data": {"bundleId": APP, "environment": transaction["environment"]}},
                       "transaction": transaction, **parts})
        self.ask(self.notification_url(), {"signedPayload": signed})

    def notification_url(self):
        return f"http://127.0.0.1:{self.server_port}/v1/notifications"

    def transfer(self, account, to):
        self.ask(f"http://127.0.0.1:{self.server_port}/v1/accounts/{urllib.parse.quote(account)}/transfer", {"to": to, "reason": "test"}, {200, 404})

    def ask(self, url, body, expected={200}):
        """Directly, until there is an answer."""
        status = 0
        while status in self.repeated:
            status, _ = request("POST", url, json.dumps(body).encode(), {"Authorization": "Bearer " + TOKEN})
        assert status in expected, f"{url}: {status}"

    # What is compared

    def grants(self):
        with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, timeout=30) as ledger:
            rows = ledger.execute(
                f"SELECT account, environment, bundle_id, transaction_id, quantity, {UNTIL} FROM grants JOIN identifiers ON id = identifier_id").fetchall()
        return {tuple(row[:4]): row[4:] for row in rows if row[4] > 0}

    def known(self):
        """What the backend has of each grant: the quantity, and its end in milliseconds."""
        with sqlite3.connect(self.shop, timeout=30) as shop:
            rows = shop.execute(
                f"SELECT account, environment, bundle_id, granted_as, quantity, {UNTIL} FROM balances").fetchall()
        return {tuple(row[:4]): (row[4], row[5] and round(datetime.fromisoformat(row[5]).timestamp() * 1000)) for row in rows if row[4] > 0}

    def balances(self):
        return {grant: quantity for grant, (quantity, _) in self.known().items()}

    def shown(self, account, product, member="quantity"):
        """What the backend tells the app."""
        status, body = request("GET", self.url("/balances"), headers=self.signed_in(account))
        assert status == 200, status
        return {each["environment"]: each[member] for each in json.loads(body) if each["product_id"] == f"{APP}.{product}"}

    def is_delivered(self):
        with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, timeout=30) as ledger:
            return not ledger.execute("SELECT count(*) FROM outbox WHERE state <> 'delivered'").fetchone()[0]

    def lifecycle_count(self):
        with sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True, timeout=30) as ledger:
            return ledger.execute("SELECT count(*) FROM outbox WHERE event LIKE '%\"happened_at\":%'").fetchone()[0]

    def settle(self):
        self.post.is_faulty = False
        wait(self.is_delivered, "all events are delivered", 120)
        self.post.empty()
        grants, known = self.grants(), self.known()
        assert known == grants, f"only in the backend: {known.items() - grants.items()}\nonly in the ledger: {grants.items() - known.items()}"
        self.post.is_faulty = True


class Locks:
    """Locks the database of a shop at random, for longer than the backend waits: whatever writes there throws."""

    def __init__(self, rng, shop):
        self.rng, self.shop, self.lock = rng, shop, threading.Lock()
        self.counts, self.has_ended, self.faulty = {"locked": 0}, threading.Event(), True
        threading.Thread(target=self.run, daemon=True).start()

    @property
    def is_faulty(self):
        return self.faulty

    @is_faulty.setter
    def is_faulty(self, value):
        with self.lock:  # until the database is free
            self.faulty = value

    def run(self):
        while not self.has_ended.wait(self.rng.random()):
            with self.lock:
                if self.faulty and self.shop.exists():
                    with closing(sqlite3.connect(self.shop, timeout=30, isolation_level=None)) as database:
                        database.execute("BEGIN EXCLUSIVE")
                        self.counts["locked"] += 1
                        time.sleep(1.2 + self.rng.random())

    def empty(self):
        pass

    def stop(self):
        self.has_ended.set()


class InProcess(Shop):
    """A backend with the ledger in its own process, which gets Apple's notifications. The server beside it is for the
    operator, on the same file; it delivers no events."""

    repeated = {0, 500, 503}

    def __init__(self, rng, folder):
        self.killing = threading.Lock()
        super().__init__(rng, folder)

    def faults(self):
        return Locks(random.Random(self.rng.random()), self.shop)

    def webhook(self):
        return []

    def notification_url(self):
        return self.url("/notifications")

    def start_backend(self, command):
        self.command = command
        environment = os.environ | {
            "LEDGER": str(self.ledger), "DATABASE": str(self.shop), "PORT": str(self.backend_port),
            "ROOTS": f"{FOLDER / 'ca/root.der'}:{FOLDER / 'store.der'}"}
        log = open(self.folder / "backend.log", "ab")
        self.backend = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        wait(lambda: request("GET", self.url("/balances"), headers=self.signed_in("anna"))[0] == 200, "the backend answers")

    def kill(self):
        with self.killing:
            self.kills += 1
            self.backend.kill()
            self.backend.wait()
            self.start_backend(self.command)

    def restore(self):
        self.backend.kill()
        self.backend.wait()
        super().restore()
        self.start_backend(self.command)

    def stop(self):
        self.processes.append(self.backend)
        super().stop()
        self.post.counts["thrown"] = self.thrown()

    def thrown(self):
        """How often the events' closure threw."""
        return (self.folder / "backend.log").read_text(errors="replace").count("delivery-failed: ")

    def redeem(self, account, evidence):
        if not self.post.is_faulty or self.rng.random() > 0.25:
            return super().redeem(account, evidence)
        # The process ends before, while or after it records the answer or the event.
        after = self.rng.random() * 0.06
        killer = threading.Thread(target=lambda: (time.sleep(after), self.kill()))
        killer.start()
        answer = super().redeem(account, evidence)
        killer.join()
        return answer


def mint(specification):
    return subprocess.run(
        [RECEIPT, "mint", "--ca", FOLDER / "ca"], input=json.dumps(specification), capture_output=True, text=True, check=True).stdout.strip()


def now():
    return int(time.time() * 1000)


def transaction(number, kind, environment="Production", **members):
    product = kind.split()[0].lower()
    made = {"transactionId": str(number), "originalTransactionId": str(number), "bundleId": APP, "productId": f"{APP}.{product}", "type": kind,
            "environment": environment, "quantity": 1, "purchaseDate": now() - DAY, "originalPurchaseDate": now() - DAY, "signedDate": now() - 60_000}
    if kind.startswith("Auto"):
        made |= {"expiresDate": now() + DAY, "webOrderLineItemId": str(900_000 + number), "subscriptionGroupIdentifier": "1"}
    return made | members


def check_rules(shop):
    """What a shop relies on, one by one, without faults."""
    shop.post.is_faulty = False
    coins = transaction(1, "Consumable", quantity=3)
    answer = shop.redeem("anna", mint({"transaction": coins}))
    assert answer == (200, {"finish": ["1"], "outcomes": {"1": "granted"}}), answer
    assert shop.redeem("ben", mint({"transaction": coins}))[1]["outcomes"] == {"1": "belongs-to-another"}
    pro = transaction(2, "Non-Consumable")
    copy = transaction(3, "Non-Consumable", originalTransactionId="2")
    assert shop.redeem("anna", mint({"transaction": pro}))[1]["outcomes"] == {"2": "granted"}
    assert shop.redeem("anna", mint({"transaction": copy}))[1]["outcomes"] == {"3": "already-yours"}
    key = ("anna", "production", APP)
    assert shop.balances() == {(*key, "1"): 3, (*key, "2"): 1}, shop.balances()
    # The refund names the copy; the backend has the purchase under its first transaction.
    shop.notify("REFUND", pro | {"revocationDate": now() - 1000, "signedDate": now()})
    wait(lambda: shop.balances() == {(*key, "1"): 3}, "the refund reaches the backend")
    assert shop.redeem("anna", mint({"transaction": copy}))[0] == 200
    shop.settle()
    # The same number in the sandbox is another purchase.
    shop.post.is_faulty = False
    shop.redeem("anna", mint({"transaction": transaction(1, "Consumable", "Sandbox", quantity=7)}))
    assert shop.shown("anna", "consumable") == {"production": 3, "sandbox": 7}
    # A period that has ended keeps its quantity and gives no access; a renewal is a grant of its own.
    ended = transaction(6, "Auto-Renewable Subscription", expiresDate=now() + 3000)
    renewal = transaction(7, "Auto-Renewable Subscription", originalTransactionId="6", purchaseDate=ended["expiresDate"], expiresDate=now() + DAY)
    assert shop.redeem("anna", mint({"transaction": ended}))[1]["outcomes"] == {"6": "granted"}
    assert shop.shown("anna", "auto-renewable") == {"production": 1}
    wait(lambda: shop.shown("anna", "auto-renewable") == {"production": 0}, "the end of the period")
    assert shop.balances()[(*key, "6")] == 1
    shop.notify("DID_RENEW", renewal)
    wait(lambda: shop.shown("anna", "auto-renewable") == {"production": 1}, "the renewal reaches the backend")
    assert {(*key, "6"), (*key, "7")} <= shop.balances().keys()
    # What Apple dated ahead takes effect by itself: the ledger decides again then, and tells.
    level = transaction(8, "Non-Consumable")
    assert shop.redeem("anna", mint({"transaction": level}))[1]["outcomes"] == {"8": "granted"}
    shop.notify("REFUND", level | {"revocationDate": now() + 4000, "signedDate": now()})
    assert (*key, "8") in shop.balances()
    wait(lambda: (*key, "8") not in shop.balances(), "the refund takes effect")
    shop.transfer("anna", "ben")
    wait(lambda: {row[0] for row in shop.balances()} == {"ben"}, "the transfer reaches the backend")
    shop.settle()
    # A restored back-up has forgotten that anna has it, and another account was granted it.
    shop.post.is_faulty = False
    shop.back_up()
    kept = mint({"transaction": transaction(5, "Non-Consumable")})
    assert shop.redeem("anna", kept)[1]["outcomes"] == {"5": "granted"}
    wait(shop.is_delivered, "the event is delivered")
    shop.restore()
    assert shop.redeem("ben", kept)[1]["outcomes"] == {"5": "granted"}
    assert shop.redeem("anna", kept)[1]["outcomes"] == {"5": "belongs-to-another"}
    shop.settle()
    # What is refused, and what nobody signed in sends, changes nothing.
    before = shop.balances()
    shop.post.is_faulty = False
    assert shop.redeem("anna", "eyJ.x.y")[0] in (400, 403) and shop.redeem("", "x")[0] == 401
    assert shop.balances() == before


def check_messages(shop):
    """What a shop relies on over HTTP: lost answers are asked again, and unsigned events are refused."""
    # A redemption is repeated until there is an answer: after a 503, and after an answer that was lost.
    shop.post.is_faulty, shop.post.fates = False, [0.05, 0.2, 0.05]
    answer = shop.redeem("ben", mint({"transaction": transaction(4, "Consumable")}))
    assert answer == (200, {"finish": ["4"], "outcomes": {"4": "already-yours"}}), answer
    # What nobody signed changes nothing.
    shop.settle()
    before = shop.balances()
    shop.post.is_faulty = False
    event = {"account": "eve", "environment": "production", "bundle_id": APP, "transaction_id": "9", "product_id": "p", "quantity": 9, "until": None,
             "sequence": 1 << 50, "kind": "granted", "purchase_date": "2026-01-01T00:00:00Z", "length": None}
    body = json.dumps(event).encode()

    def signature(seconds, secret=SECRET, signed=body):
        return f"t={seconds},v1={hmac.new(secret.encode(), f'{seconds}.'.encode() + signed, hashlib.sha256).hexdigest()}"

    at = int(time.time())
    for header in ["", "t=1", signature(at, "another secret"), signature(at, signed=body + b" "), signature(at - 302), signature(at + 302),
                   signature(at).replace(f"t={at}", f"t={at + 1}"), "t=x,v1=" + "0" * 64, signature(at)[:-1], "t=,v1=é"]:
        headers = {"Ledger-Signature": header} if header.isascii() else {}
        status, _ = request("POST", shop.url("/webhook"), body, headers)
        assert status == 403, f"{header}: {status}"
    # What cannot be recorded is not acknowledged.
    broken = json.dumps({**event, "quantity": None}).encode()
    status, _ = request("POST", shop.url("/webhook"), broken, {"Ledger-Signature": signature(at, signed=broken)})
    assert status == 0 or status >= 500, f"an event without a quantity: {status}"
    assert shop.balances() == before
    assert request("POST", shop.url("/webhook"), body, {"Ledger-Signature": signature(at)})[0] == 200
    with sqlite3.connect(shop.shop, timeout=30) as database:
        assert database.execute("DELETE FROM balances WHERE account = 'eve'").rowcount == 1
    shop.post.is_faulty = True


def check_cards(shop):
    """Month cards follow each other, though the ledger's periods overlap; one without a stated length has no end."""
    shop.post.is_faulty = False
    start = now() // 1000 * 1000

    def card(number, days, product="card", **members):
        date_ = start - round(days * DAY)
        return transaction(number, "Non-Renewing Subscription", productId=f"{APP}.{product}", purchaseDate=date_, originalPurchaseDate=date_, **members)

    def ends():
        return shop.shown("eva", "card", "until")

    # In any order: the first was over before anybody sent it, and the others were bought while another ran.
    cards = [card(801, 40), card(802, 20), card(803, 3), card(804, 1.25)]
    for index, end in [(3, 28.75), (1, 40), (0, 40), (2, 70)]:
        answer = shop.redeem("eva", mint({"transaction": cards[index]}))
        assert answer[1]["outcomes"] == {f"{801 + index}": "granted" if index else "expired"}, answer
        assert shop.shown("eva", "card") == {"production": 1} and ends() == {"production": date(start + round(end * DAY))}, ends()
    # A refund takes its days out, and what follows it moves up.
    shop.notify("REFUND", cards[1] | {"revocationDate": now() - 1000, "signedDate": now()})
    wait(lambda: ends() == {"production": date(start + 57 * DAY)}, "the days of the refunded card")
    shop.redeem("eva", mint({"transaction": card(807, 400, "pass")}))
    assert shop.shown("eva", "pass") == {"production": 1} and shop.shown("eva", "pass", "until") == {"production": None}
    shop.settle()


def check_later_version(shop):
    """Events of a later version change nothing."""
    shop.post.is_faulty = False
    before = shop.known()
    event = {"account": "eva", "at": "2030-01-01T00:00:00Z", "bundle_id": APP, "environment": "production", "id": "1", "kind": "paused", "sequence": 1 << 52,
             "transaction_id": "807", "colour": "red"}
    whole = event | {"kind": "changed", "product_id": f"{APP}.pass", "quantity": 1, "until": None, "purchase_date": None, "length": None, "seats": {"a": [1]}}
    for each in [event, whole]:
        body, seconds = json.dumps(each).encode(), str(int(time.time()))
        code = hmac.new(SECRET.encode(), seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
        status = request("POST", shop.url("/webhook"), body, {"Ledger-Signature": f"t={seconds},v1={code}"})[0]
        assert status == 200, status
    assert shop.known() == before


def check_closure(shop):
    """An event is delivered again if the closure throws, or if the process is killed in it."""
    shop.post.is_faulty = False
    assert shop.redeem("anna", mint({"transaction": transaction(950, "Consumable", quantity=2)}))[1]["outcomes"] == {"950": "granted"}
    for account, other, is_killed in [("anna", "ben", False), ("ben", "anna", True)]:
        thrown, kills = shop.thrown(), shop.kills
        with closing(sqlite3.connect(shop.shop, timeout=30, isolation_level=None)) as database:
            database.execute("BEGIN EXCLUSIVE")
            shop.transfer(account, other)
            if is_killed:
                time.sleep(0.8)  # It waits for the database.
                shop.kill()
            else:
                wait(lambda: shop.thrown() > thrown, "the closure throws")
        shop.settle()
        shop.post.is_faulty = False
        assert shop.balances()[(other, "production", APP, "950")] == 2
        assert shop.kills == kills + is_killed


def import_old(shop):
    """What MIGRATION.md says, beside clients and notifications: the balances first, with the sequence 0, and then the
    file."""
    coins, more, pro = transaction(700, "Consumable", quantity=3), transaction(701, "Consumable", quantity=2), transaction(702, "Non-Consumable")
    refunded = transaction(703, "Consumable", quantity=4)
    period = transaction(704, "Auto-Renewable Subscription", purchaseDate=now() - 2 * DAY, expiresDate=now() - DAY)
    renewal = transaction(705, "Auto-Renewable Subscription", originalTransactionId="704", purchaseDate=period["expiresDate"])
    # Apple knows of these, and nobody has brought them.
    shop.notify("REFUND", refunded | {"revocationDate": now() - 1000, "signedDate": now()})
    shop.notify("SUBSCRIBED", period)
    shop.notify("DID_RENEW", renewal)
    granted = [coins, more, pro, refunded, period]
    with sqlite3.connect(shop.shop, timeout=30) as database:
        for each in granted:
            until = datetime.fromtimestamp(each["expiresDate"] / 1000, timezone.utc).isoformat() if "expiresDate" in each else None
            row = ("carl", "production", APP, each["transactionId"], each["productId"], each["quantity"], until, 0)
            database.execute("INSERT OR IGNORE INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
    file = shop.folder / "old.jsonl"
    file.write_text("".join(json.dumps({
        "account": "carl", "environment": "production", "transaction_id": each["transactionId"], "product_id": each["productId"],
        "quantity": each["quantity"], "date": each["purchaseDate"]}) + "\n" for each in granted))
    command = [SERVER, "import", file, "--bundle-id", APP, "--environment", "production", "--environment", "sandbox", "--root", FOLDER / "ca/root.der",
               "--ledger", shop.ledger]
    client = threading.Thread(target=shop.redeem, args=("carl", mint({"transaction": coins})))
    client.start()
    for options in [["--dry-run"], [], []]:
        done = subprocess.run(command + options, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    client.join()
    assert "added 0" in done.stdout, done.stdout
    shop.redeem("carl", mint({"transaction": more}))
    shop.settle()
    key = ("carl", "production", APP)
    assert {each: count for each, count in shop.balances().items() if each[0] == "carl"} == {
        (*key, "700"): 3, (*key, "701"): 2, (*key, "702"): 1, (*key, "704"): 1, (*key, "705"): 1}, shop.balances()
    assert shop.shown("carl", "auto-renewable") == {"production": 1}


class Store:
    """An App Store whose notifications nobody gets."""

    def __init__(self):
        self.process = subprocess.Popen(
            [STORE, "--port", "0", "--root-out", FOLDER / "store.der", "--key-out", FOLDER / "key.p8", "--notifications", f"http://127.0.0.1:{free_port()}/"],
            stdout=subprocess.PIPE, text=True)
        told = json.loads(self.process.stdout.readline())
        self.url, self.customers = told["url"], 0
        (FOLDER / "ask-apple.json").touch(0o600)
        (FOLDER / "ask-apple.json").write_text(json.dumps([{
            "bundle_id": APP, "issuer_id": told["issuer_id"], "key_id": told["key_id"], "key_file": "key.p8", "environments": ["sandbox"], "url": self.url}]))

    def tell(self, what, **members):
        status, body = request("POST", f"{self.url}/fake/{what}", json.dumps(members).encode())
        assert status == 200, f"{what}: {body}"
        return json.loads(body)

    def buy(self, kind, **members):
        """What the app gets."""
        signed = self.tell("purchase", product_id=f"{APP}.{kind}", type=kind, date=date(now() - 2.5 * DAY), **members)["signed_transaction"]
        part = signed.split(".")[1]
        return signed, json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def date(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def import_beside_reconcile(shop, store):
    """What MIGRATION.md says, while clients send the same purchases and `reconcile` brings refunds and renewals
    without a notification."""
    rng = shop.rng
    store.customers += 1
    customer = store.customers
    bought = [store.buy(*each, customer=customer) for each in [("consumable",)] * 6 + [("non-consumable",)] + [("non-renewing",)]]
    bought += [store.buy("auto-renewable", group=f"{customer}", period="P1D", customer=customer)]
    # The first renewal has ended, too.
    for days in [1.5, 0.5]:
        store.tell("renew", transaction_id=bought[-1][1]["transactionId"], date=date(now() - days * DAY))
    with sqlite3.connect(shop.shop, timeout=30) as database:
        for _, each in bought:
            until = date(each["expiresDate"]) if "expiresDate" in each else None
            row = ("dora", "sandbox", APP, each["transactionId"], each["productId"], each["quantity"], until, 0)
            database.execute("INSERT OR IGNORE INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
    lines = [json.dumps({
        "account": "dora", "environment": "sandbox", "transaction_id": each["transactionId"], "product_id": each["productId"],
        "quantity": each["quantity"], "date": each["purchaseDate"]}) + "\n" for _, each in bought]
    rng.shuffle(lines)
    file = shop.folder / "dora.jsonl"
    file.write_text("".join(lines))
    common = ["--bundle-id", APP, "--environment", "production", "--environment", "sandbox", "--root", FOLDER / "ca/root.der",
              "--root", FOLDER / "store.der", "--ledger", shop.ledger]
    reports = []

    def run(*words):
        time.sleep(rng.random() * 0.3)
        done = subprocess.run([SERVER, *words, *common], capture_output=True, text=True)
        reports.append((words[0], done.returncode, done.stdout + done.stderr))

    def reconcile():
        run("reconcile", "--ask-apple", FOLDER / "ask-apple.json", "--since", date(now() - 9 * DAY))

    refunded = rng.sample([each["transactionId"] for _, each in bought[:7]], 4)
    work = [lambda: run("import", file), reconcile, lambda: [store.tell("refund", transaction_id=each) for each in refunded[:2]]]
    work += [lambda signed=signed: shop.redeem("dora", signed) for signed, _ in rng.sample(bought, 5)]
    rng.shuffle(work)
    threads = [threading.Thread(target=each) for each in work]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for each in refunded[2:]:
        store.tell("refund", transaction_id=each)
    run("import", file)
    reconcile()
    assert all(status == 0 for _, status, _ in reports), reports
    shop.settle()
    left = {each: count for (account, _, _, each), count in shop.balances().items() if account == "dora"}
    # The renewal that runs is not in the file: the ledger told it.
    assert len(left) == len(bought) - len(refunded) + 1 and not set(refunded) & left.keys(), (left, refunded, reports)


def tell_lifecycle(shop, bought):
    """Apple signs another renewal, or that the customer asks for a refund: these events grant nothing."""
    rng = shop.rng
    if bought["type"].startswith("Auto"):
        renewal = {"originalTransactionId": bought["originalTransactionId"], "environment": bought["environment"], "signedDate": bought["signedDate"],
                   "autoRenewStatus": rng.randint(0, 1), "autoRenewProductId": rng.choice([bought["productId"], f"{APP}.other"]),
                   "isInBillingRetryPeriod": rng.random() < 0.5, "priceIncreaseStatus": rng.randint(0, 1)}
        shop.notify("DID_CHANGE_RENEWAL_STATUS", bought, renewal_info=renewal)
    shop.notify(rng.choice(["CONSUMPTION_REQUEST", "REFUND_DECLINED"]), bought)


def run_history(shop, steps):
    """Purchases, copies, renewals, refunds, reversals, transfers and kills at random."""
    rng, known = shop.rng, []
    for step in range(steps):
        number, environment = 100 + step, rng.choice(["Production", "Production", "Sandbox"])
        action, account = rng.random(), rng.choice(ACCOUNTS)
        if action < 0.35 or not known:
            kind = rng.choice(["Consumable", "Non-Consumable", "Auto-Renewable Subscription"])
            bought = transaction(number, kind, environment, quantity=rng.randint(1, 5) if kind == "Consumable" else 1)
            known.append(bought)
            shop.redeem(account, mint({"transaction": bought}))
        elif action < 0.55:
            bought = rng.choice(known)
            if bought["type"] != "Consumable":
                # A restored copy. That of a period has its web order line item.
                bought = bought | {"transactionId": str(number), "signedDate": now() - 60_000}
            shop.redeem(account, mint({"transaction": bought}))
        elif action < 0.75:
            shop.notify("REFUND", rng.choice(known) | {"revocationDate": now() - 1000, "signedDate": now()})
        elif action < 0.8:
            shop.notify("REFUND_REVERSED", rng.choice(known) | {"signedDate": now()})
        elif action < 0.88:
            tell_lifecycle(shop, rng.choice(known) | {"signedDate": now()})
        elif action < 0.95:
            shop.transfer(account, rng.choice([each for each in ACCOUNTS if each != account]))
        else:
            shop.kill()
        if rng.random() < 0.2:
            shop.post.empty()
    # In the middle of a redemption, too.
    for number in range(3):
        bought = transaction(900 + number, "Consumable", quantity=2)
        redemption = threading.Thread(target=shop.redeem, args=("anna", mint({"transaction": bought})))
        redemption.start()
        time.sleep(rng.random() * 0.05)
        shop.kill()
        redemption.join()


def php():
    """The command of the backend in PHP, or the reason there is none."""
    if not shutil.which("php"):
        return None, "there is no php (Debian: php-cli and php-sqlite3)"
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True).stdout.split()
    if "pdo_sqlite" not in modules:
        return None, "this php has no pdo_sqlite (Debian: php-sqlite3)"
    return ["php", "-d", "display_errors=1", "-S", "127.0.0.1:PORT", str(BACKENDS / "backend.php")], ""


def java():
    jars = ["/usr/share/java/gson.jar", "/usr/share/java/sqlite-jdbc.jar"]
    if not shutil.which("javac") or not all(map(os.path.exists, jars)):
        return None, "there is no javac, Gson or JDBC for SQLite (Debian: default-jdk-headless, libgoogle-gson-java and libxerial-sqlite-jdbc-java)"
    classes = FOLDER / "classes"
    # Debian 13's jar of JDBC for SQLite names a path in its manifest that does not exist.
    subprocess.run(["javac", "-Xlint:all,-path", "-Werror", "-cp", ":".join(jars), "-d", classes, BACKENDS / "Backend.java"], check=True)
    return ["java", "-cp", ":".join([*jars, str(classes)]), "Backend"], ""


def node():
    node = os.environ.get("NODE") or shutil.which("node")
    if not node or subprocess.run([node, "-e", "require('node:sqlite')"], capture_output=True).returncode:
        return None, "there is no node of 22.13 or later, which has node:sqlite; NODE names one"
    return [node, "--no-warnings", str(BACKENDS / "backend.mjs")], ""


def swift():
    """The command of the backend in Swift, which loads neither libpq nor libcurl."""
    program = HERE / f"../.build/swift/{arguments.programs}/Backend"
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "libsqlite3" in loaded and not any(name in loaded for name in ["libpq", "libcurl"]), loaded
    return [str(program)], ""


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--only", help="the backend in this language")
parser.add_argument(
    "--backends", type=Path, help="a folder with the backends of an earlier version: the server has today's switches on")
parser.add_argument("--programs", choices=["debug", "release"], default="release", help="the build whose programs run")
arguments = parser.parse_args()
BACKENDS = arguments.backends or HERE
# Backends of earlier versions store no end of a grant.
UNTIL = "NULL" if arguments.backends else "until"
RECEIPT, SERVER, STORE = (HERE / f"../../.build/{arguments.programs}/{name}" for name in ("receipt", "receipt-server", "fake-app-store"))
print(f"seed {arguments.seed}", flush=True)
with tempfile.TemporaryDirectory() as temporary:
    FOLDER = Path(temporary)
    subprocess.run([RECEIPT, "ca", "--key", "ec", "--out", FOLDER / "ca"], check=True, stdout=subprocess.DEVNULL)
    store = Store()
    # Without --require-token, since the purchases of these histories have no tokens.
    EVERY_SWITCH = [
        "--orders", "--keep-evidence", "--ask-apple", FOLDER / "ask-apple.json",
        "--entitlement", f"premium={APP}.auto-renewable"]
    atexit.register(store.process.kill)
    for name, (command, reason) in {"python": ([sys.executable, str(BACKENDS / "backend.py")], ""), "php": php(), "java": java(), "node": node(), "swift": swift() if not arguments.backends and arguments.only in (None, "swift") else (None, "")}.items():
        if arguments.only not in (None, name):
            continue
        if command is None:
            if reason:
                print(f"{name}: skipped, {reason}")
            continue
        (FOLDER / name).mkdir()
        shop = (InProcess if name == "swift" else Shop)(random.Random(arguments.seed), FOLDER / name)
        try:
            shop.start_backend(command)
            shop.start()
            if not arguments.backends:
                check_rules(shop)
                check_cards(shop)
                if isinstance(shop, InProcess):
                    check_closure(shop)
                else:
                    check_messages(shop)
                    check_later_version(shop)
                import_old(shop)
                import_beside_reconcile(shop, store)
            run_history(shop, arguments.steps)
            shop.settle()
        except BaseException:
            for log in sorted((FOLDER / name).glob("*.log")):
                print(f"--- {name}: {log.name}", log.read_text(errors="replace")[-3000:], sep="\n", file=sys.stderr)
            raise
        finally:
            shop.stop()
        print(f"{name}: {len(shop.balances())} balances are the ledger's grants, after {shop.kills} kills and {shop.lifecycle_count()} lifecycle events; messages: {shop.post.counts}", flush=True)
