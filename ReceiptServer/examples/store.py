#!/usr/bin/env python3
"""A small backend that keeps the grants itself, by the four rules of the README, where backend.py leaves them to the
ledger. It asks a receipt-server without a ledger what evidence gives. Python's standard library, nothing else.

    RECEIPT_SERVER=http://127.0.0.1:8080 DATABASE=store.db PORT=8081 ./store.py

A backend with the package for its language calls Verifier.entitlements in place of `decide`: the members have the same
names.

    POST /redeem           from the app: the evidence as the body. Answers what was granted, and which transactions
                           the app may finish
    POST /notifications    from Apple
    GET  /balances         for the app: what the account has
"""

import hashlib
import json
import os
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER, DATABASE, PORT = os.environ["RECEIPT_SERVER"], os.environ.get("DATABASE", "store.db"), int(os.environ.get("PORT", "8081"))
MAXIMUM_BODY = 1 << 24
# What was decided from less must not be recorded after what was decided from more.
ONE_AT_A_TIME = threading.Lock()

# A line is what a purchase has in common with its renewals and restored copies: the original transaction, and of a
# member's who the member is.
SCHEMA = """
CREATE TABLE IF NOT EXISTS evidence (digest TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mentions (digest TEXT, transaction_id TEXT, PRIMARY KEY (digest, transaction_id));
CREATE TABLE IF NOT EXISTS transactions (transaction_id TEXT PRIMARY KEY, line TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS owners (line TEXT PRIMARY KEY, account TEXT NOT NULL, transaction_id TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS grants (
    purchase_key TEXT PRIMARY KEY, account TEXT NOT NULL, environment TEXT NOT NULL, product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT,
    purchase_date TEXT, length TEXT);
CREATE TABLE IF NOT EXISTS decisions (account TEXT PRIMARY KEY, next_change REAL);
CREATE INDEX IF NOT EXISTS mentioned ON mentions (transaction_id);
CREATE INDEX IF NOT EXISTS lines ON transactions (line);
CREATE INDEX IF NOT EXISTS owned ON owners (account);
"""

# Of up to 1,000 pieces, which the server takes at once.
EVIDENCE = """SELECT DISTINCT text FROM owners JOIN transactions USING (line) JOIN mentions ON mentions.transaction_id = transactions.transaction_id
    JOIN evidence USING (digest) WHERE account = ?"""
GRANT = """INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (purchase_key) DO UPDATE SET quantity = excluded.quantity, until = excluded.until, length = excluded.length"""
# A sum over the environments would give away the products of the sandbox.
# Month cards follow each other: one that is bought while another runs begins when that ends, so each ends at its
# purchase date and the length of all since.
BALANCES = """WITH cards AS (
        SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days FROM grants WHERE account = ?),
    ends AS (
        SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END) + sum(days) OVER (PARTITION BY environment, product_id
            ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
    SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
            THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now'))) ELSE max(stacked) > julianday('now') END AS quantity,
        strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked), max(CASE WHEN quantity > 0 THEN julianday(until) END))) AS until
    FROM ends GROUP BY 1, 2"""


def decide(evidence):
    """What evidence of one customer gives now: the status and the answer of the server."""
    body = json.dumps({"evidence": evidence}).encode()
    request = urllib.request.Request(SERVER + "/v1/entitlements", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=15) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def name(item, member):
    """A transaction or an original one. The sandbox never meets production, and apps never meet each other."""
    return json.dumps([item.get("environment"), item.get("bundle_id"), item[member]])


def keep(db, items, text):
    """Keeps verified evidence for good, also what no account has brought yet, and whose its transactions are."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    db.execute("INSERT OR IGNORE INTO evidence VALUES (?, ?)", [digest, text])
    for item in items:
        transaction, line = name(item, "transaction_id"), name(item, "original_transaction_id")
        db.execute("INSERT OR IGNORE INTO mentions VALUES (?, ?)", [digest, transaction])
        db.execute("INSERT OR IGNORE INTO transactions VALUES (?, ?)", [transaction, line])
        if item.get("ownership_type") in ("FAMILY_SHARED", "ASSIGNED"):
            # A receipt does not say it: purchases that it claimed as the buyer's are the member's.
            member = line + (item["app_transaction_id"] or transaction)
            db.execute("UPDATE transactions SET line = ? WHERE transaction_id = ?", [member, transaction])
            db.execute("UPDATE OR IGNORE owners SET line = ? WHERE line = ? AND transaction_id = ?", [member, line, transaction])
            db.execute("DELETE FROM owners WHERE line = ? AND transaction_id = ?", [line, transaction])


def settle(db, account):
    """Brings the grants of an account in line with all that is known. Returns the items that are its own, and those
    that were granted now."""
    evidence = [text for text, in db.execute(EVIDENCE, [account])]
    answer = decide(evidence)[1] if evidence else {"items": [], "next_change": None}
    own, granted = [], []
    owned = {transaction for transaction, in db.execute(
        "SELECT transactions.transaction_id FROM transactions JOIN owners USING (line) WHERE account = ?", [account])}
    items = [item for item in answer["items"] if name(item, "transaction_id") in owned and item["purchase_key"]]
    for item in items:
        # Only where the same account was granted under it: another account's is another purchase.
        for former in item["former_purchase_keys"]:
            db.execute("UPDATE OR REPLACE grants SET purchase_key = ? WHERE purchase_key = ? AND account = ?", [item["purchase_key"], former, account])
    for item in items:
        owner = db.execute("SELECT account FROM grants WHERE purchase_key = ?", [item["purchase_key"]]).fetchone()
        if owner and owner[0] != account:
            continue
        own.append(item)
        if owner is None and not item["grantable"]:
            continue
        # The quantity is set, never added.
        db.execute(GRANT, [item["purchase_key"], account, item["environment"], item["product_id"], item["quantity"], item["until"],
                           item["purchase_date"], item["length"]])
        if owner is None:
            granted.append(item)
    date = answer["next_change"] and datetime.fromisoformat(answer["next_change"]).timestamp()
    db.execute("INSERT OR REPLACE INTO decisions VALUES (?, ?)", [account, date])
    return own, granted


def settle_due():
    """Decides again when a renewal begins or a refund takes effect: Apple sends no notification then."""
    while True:
        time.sleep(1)
        with ONE_AT_A_TIME, closing(database()) as db:
            for account, in db.execute("SELECT account FROM decisions WHERE next_change <= ?", [time.time()]).fetchall():
                with db:
                    settle(db, account)


def database():
    return sqlite3.connect(DATABASE, timeout=30)


class Backend(BaseHTTPRequestHandler):
    def account(self):
        """The signed-in user. Take it from your session: the app's word is not enough. This example has no sessions."""
        return self.headers.get("X-Example-Account", "")

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAXIMUM_BODY:
            return self.answer(413, {})
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        if self.path not in ("/redeem", "/notifications"):
            return self.answer(404, {})
        if self.path == "/redeem" and not self.account():
            return self.answer(401, {})
        status, answer = decide([text])
        if status != 200:
            # Nothing is granted, and the app must not finish the transaction.
            return self.answer(status, {"codes": [each["error"]["code"] for each in answer.get("refused", [])]})
        with ONE_AT_A_TIME, closing(database()) as db, db:
            keep(db, answer["items"], text)
            names = [name(item, "transaction_id") for item in answer["items"]]
            lines = [db.execute("SELECT line FROM transactions WHERE transaction_id = ?", [each]).fetchone()[0] for each in names]
            if self.path == "/redeem":
                # If the app sets an appAccountToken when it buys, leave out items with another account's here.
                for line, transaction in zip(lines, names):
                    db.execute("INSERT OR IGNORE INTO owners VALUES (?, ?, ?)", [line, self.account(), transaction])
                accounts = [self.account()]
            else:
                accounts = sorted({row[0] for line in lines for row in db.execute("SELECT account FROM owners WHERE line = ?", [line])})
            settled = [settle(db, account) for account in accounts]
        if self.path == "/notifications":
            return self.answer(200, {})
        (own, granted), = settled
        # Undecided transactions come again. Those of another account can be finished.
        open_now = {item["transaction_id"] for item in own if item["access"] in ("not-yet", "length-unknown", "undetermined")}
        open_now |= {item["transaction_id"] for item in answer["items"] if not item["purchase_key"]}
        self.answer(200, {"granted": [item["transaction_id"] for item in granted],
                          "finish": [item["transaction_id"] for item in answer["items"] if item["transaction_id"] not in open_now]})

    def do_GET(self):
        if self.path != "/balances":
            return self.answer(404, {})
        with closing(database()) as db:
            rows = db.execute(BALANCES, [self.account()]).fetchall()
        self.answer(200, [{"environment": environment, "product_id": product, "quantity": quantity, "until": until}
                          for environment, product, quantity, until in rows])


if __name__ == "__main__":
    with closing(database()) as db:
        db.executescript("PRAGMA journal_mode = WAL;" + SCHEMA)
    threading.Thread(target=settle_due, daemon=True).start()
    ThreadingHTTPServer(("127.0.0.1", PORT), Backend).serve_forever()
