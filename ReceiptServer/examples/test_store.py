"""Sends store.py evidence of all kinds in all orders, and counts what it grants. `test` runs it."""

import argparse
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
APP, DAY = "com.example.app", 86_400_000
NOW = int(time.time() * 1000)


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def request(port, path, text=None, account=""):
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", text and text.encode(), {"X-Example-Account": account})
    try:
        with urllib.request.urlopen(asked, timeout=60) as response:
            return response.status, json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")
    except OSError:
        return 0, {}


def wait(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within a minute: {what}")
        time.sleep(0.05)


def mint(specifications):
    lines = "".join(json.dumps(each) + "\n" for each in specifications)
    minted = subprocess.run([RECEIPT, "mint", "--ca", FOLDER / "ca", "--lines"], input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return minted.stdout.splitlines()


def text(milliseconds):
    """As a receipt has a date: in seconds."""
    return datetime.fromtimestamp(milliseconds // 1000, timezone.utc).isoformat().replace("+00:00", "Z")


class History:
    """A buyer and members, who share the buyer's original transaction: specifications of evidence, and the number of
    purchases of each."""

    def __init__(self, rng):
        self.rng, self.pieces, self.counts, self.records, self.last = rng, [], Counter(), [], 1000 * rng.randrange(1, 10**9)
        self.has_restored_period = False
        original, start = self.id(), NOW - 5 * DAY + rng.randrange(1000)
        for index, (account, ownership) in enumerate(
                [("buyer", "PURCHASED"), ("group 1", "ASSIGNED"), ("group 2", "ASSIGNED"), ("family 1", "FAMILY_SHARED"), ("family 2", "FAMILY_SHARED")]):
            owner = {"inAppOwnershipType": ownership} | ({} if ownership == "PURCHASED" else {"appTransactionId": f"7{index}"})
            self.add_period(account, owner, original, start)
            if ownership == "ASSIGNED":
                continue
            level = owner | self.made("Non-Consumable", start)
            copy = level | {"transactionId": self.id(), "purchaseDate": NOW - DAY}
            for each in (level, copy):
                self.add(account, each, is_needed=each is level, in_receipts=ownership == "PURCHASED")
            self.counts[account] += 1
            if ownership == "PURCHASED":
                for _ in range(2):
                    self.add(account, owner | self.made("Consumable", start, quantity=2), is_needed=True, in_receipts=True)
                    self.counts[account] += 1
        for _ in range(2 if self.records else 0):
            self.pieces.append(("buyer", self.receipt(rng.sample(self.records, rng.randint(1, len(self.records))))))

    def id(self):
        self.last += 1
        return str(self.last)

    def is_so(self):
        return self.rng.random() < 0.5

    def made(self, kind, date, **members):
        number = self.id()
        return {"transactionId": number, "originalTransactionId": number, "bundleId": APP, "productId": kind.split()[0].lower(), "type": kind,
                "environment": "Production", "quantity": 1, "purchaseDate": date, "originalPurchaseDate": date, "signedDate": NOW - 60_000} | members

    def add_period(self, account, owner, original, start):
        self.counts[account] += 1
        period = owner | self.made("Auto-Renewable Subscription", start, originalTransactionId=original, expiresDate=NOW + DAY, webOrderLineItemId=self.id())
        is_buyers = account == "buyer"
        has_copy = self.is_so()
        # A copy with another date is known by the line item alone.
        is_moved = has_copy and self.is_so()
        # A member's receipt is taken for the buyer's until a JWS says whose it is. Beside a period that the buyer
        # restored under another date, it is taken for a second one.
        self.has_restored_period |= is_buyers and is_moved
        can_be_restored = is_buyers and (is_moved or not has_copy)
        in_receipts = is_buyers or not (has_copy or self.has_restored_period)
        self.add(account, period, is_needed=True, in_receipts=in_receipts, has_item=is_moved, can_be_restored=can_be_restored)
        if has_copy:
            copy = period | {"transactionId": self.id(), "purchaseDate": start + (DAY // 2 if is_moved else 0)}
            self.add(account, copy, in_receipts=is_buyers, has_item=is_moved, can_be_restored=can_be_restored)
        if is_buyers and self.is_so():
            self.add(account, period | {"transactionId": self.id(), "webOrderLineItemId": self.id(), "purchaseDate": start + DAY,
                                        "additionalTransactionReason": "SEAT_ADDITION"})

    def add(self, account, transaction, is_needed=False, in_receipts=False, has_item=False, can_be_restored=False):
        versions = [transaction]
        if "expiresDate" in transaction and self.is_so():
            versions.append(transaction | {"expiresDate": transaction["expiresDate"] + DAY})
        for index, version in enumerate(versions):
            if not has_item and self.is_so():
                version = {name: value for name, value in version.items() if name != "webOrderLineItemId"}
            if is_needed and index == 0 or self.is_so():
                self.pieces.append((account, {"transaction": version}))
                if self.is_so():
                    self.pieces.append((None, self.notification("OFFER_REDEEMED", version)))
            if in_receipts and self.is_so():
                is_restored = can_be_restored and self.is_so()
                self.has_restored_period |= is_restored
                record = self.record(version | ({"purchaseDate": version["purchaseDate"] + 2 * DAY} if is_restored else {}))
                self.pieces.append((account, self.receipt([record])))
                if account == "buyer":
                    self.records.append(record)

    @staticmethod
    def record(version):
        kinds = {"Consumable": "consumable", "Non-Consumable": "non-consumable"}
        return {"product_id": version["productId"], "transaction_id": version["transactionId"], "original_transaction_id": version["originalTransactionId"],
                "product_type": kinds.get(version["type"], "auto-renewable"), "quantity": version["quantity"], "purchase_date": text(version["purchaseDate"]),
                "original_purchase_date": text(version["originalPurchaseDate"]), "web_order_line_item_id": int(version["webOrderLineItemId"]) if "webOrderLineItemId" in version else None,
                "expires_date": text(version["expiresDate"]) if "expiresDate" in version else None}

    @staticmethod
    def receipt(records):
        return {"bundle_id": APP, "receipt_creation_date": text(NOW - 30_000), "in_app": records}

    @staticmethod
    def notification(kind, version):
        return {"notification": {"notificationType": kind, "notificationUUID": str(uuid.uuid4()), "signedDate": version["signedDate"],
                                 "data": {"bundleId": APP, "environment": "Production"}}, "transaction": version}


def check(rng, orders):
    """Each purchase of a history is granted once, to whom it belongs, in whatever order its evidence arrives."""
    history = History(rng)
    minted = list(zip([account for account, _ in history.pieces], mint([piece for _, piece in history.pieces])))
    for _ in range(orders):
        with sqlite3.connect(STORE, timeout=30) as store:
            for table in ("evidence", "mentions", "transactions", "owners", "grants", "decisions"):
                store.execute(f"DELETE FROM {table}")
        granted = Counter()
        # What a member's receipt was taken for is the buyer's again once a JWS has named the member.
        for account, evidence in rng.sample(minted, len(minted)) + minted + minted:
            status, answer = request(PORT, "/redeem" if account else "/notifications", evidence, account or "")
            assert status == 200, answer
            granted[account] += len(answer.get("granted", []))
        del granted[None]
        assert granted == history.counts, f"granted {granted}, and not {history.counts}"
        with sqlite3.connect(STORE, timeout=30) as store:
            rows = Counter(dict(store.execute("SELECT account, count(*) FROM grants GROUP BY 1").fetchall()))
        assert rows == history.counts, f"{rows}, and not {history.counts}"
    return len(minted)


def check_rules(rng):
    """A refund that is dated ahead takes effect by itself, and what is forged changes nothing."""
    history = History(rng)
    pro = history.made("Non-Consumable", NOW - DAY)
    pro, refund = mint([{"transaction": pro}, history.notification("REFUND", pro | {"revocationDate": int(time.time() * 1000) + 4000, "signedDate": NOW})])
    assert request(PORT, "/redeem", pro, "anna")[1]["finish"], "a purchase is granted"
    assert request(PORT, "/redeem", pro, "ben")[1]["granted"] == []

    def balance():
        return [each["quantity"] for each in request(PORT, "/balances", account="anna")[1]]

    assert balance() == [1]
    assert request(PORT, "/notifications", refund)[0] == 200
    wait(lambda: balance() == [0], "the refund takes effect")
    # Month cards follow each other, though their periods overlap.
    start = NOW // 1000 * 1000
    cards = mint([{"transaction": history.made("Non-Renewing Subscription", start - days * DAY, productId="card")} for days in (20, 3)])
    for card, end in zip(reversed(cards), (27, 40)):
        assert request(PORT, "/redeem", card, "eva")[1]["granted"], "a month card is granted"
        assert [(each["quantity"], each["until"]) for each in request(PORT, "/balances", account="eva")[1]] == [(1, text(start + end * DAY))]
    damaged = pro[:-9] + ("A" if pro[-9] != "A" else "B") + pro[-8:]
    assert request(PORT, "/redeem", damaged, "carl")[0] in (400, 403)
    assert request(PORT, "/redeem", pro)[0] == 401 and request(PORT, "/notifications", "x")[0] == 400
    assert request(PORT, "/balances", account="carl")[1] == []


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
parser.add_argument("--count", type=int, default=1, help="the number of histories, each in three orders")
parser.add_argument("--programs", choices=["debug", "release"], default="release", help="the build whose programs run")
arguments = parser.parse_args()
RECEIPT, SERVER = (HERE / f"../../.build/{arguments.programs}/{name}" for name in ("receipt", "receipt-server"))
print(f"store.py: seed {arguments.seed}", flush=True)
# In memory: each redemption waits for the disk.
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as temporary:
    FOLDER = Path(temporary)
    STORE, PORT, server_port = FOLDER / "store.db", free_port(), free_port()
    subprocess.run([RECEIPT, "ca", "--key", "ec", "--out", FOLDER / "ca"], check=True, stdout=subprocess.DEVNULL)
    log = open(FOLDER / "log", "wb")
    environment = os.environ | {"RECEIPT_SERVER": f"http://127.0.0.1:{server_port}", "DATABASE": str(STORE), "PORT": str(PORT)}
    processes = [
        subprocess.Popen([SERVER, "--listen", f"127.0.0.1:{server_port}", "--bundle-id", APP, "--environment", "production",
                          "--root", FOLDER / "ca/root.der", "--product-type", "card=non-renewing:30"], stdout=log, stderr=log),
        subprocess.Popen([sys.executable, HERE / "store.py"], env=environment, stdout=log, stderr=log)]
    try:
        wait(lambda: request(server_port, "/readyz")[0] == 200, "the server answers")
        wait(lambda: request(PORT, "/balances")[0] == 200, "the backend answers")
        rng = random.Random(arguments.seed)
        check_rules(rng)
        pieces = sum(check(rng, 3) for _ in range(arguments.count))
    except BaseException:
        print("--- log", (FOLDER / "log").read_text(errors="replace")[-3000:], sep="\n", file=sys.stderr)
        raise
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
    print(f"store.py: {arguments.count} histories of {pieces} pieces in three orders: each purchase is granted once")
