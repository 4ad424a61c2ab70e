#!/usr/bin/env python3
"""A small backend of a shop: what each account has, by the rule of "Deliver" in ReceiptServer/TUTORIAL.md. Python's
standard library, nothing else.

    LEDGER_URL=http://127.0.0.1:8080 LEDGER_TOKEN=… WEBHOOK_SECRET_FILE=secret DATABASE=shop.db PORT=8081 ./backend.py

Start receipt-server with --webhook http://127.0.0.1:8081/webhook and the same secret.

    POST /redeem     from the app: the evidence as the body. Answers which transactions the app may finish
    POST /webhook    from receipt-server: an event
    GET  /balances   for the app: what the account has
"""

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

for name in ("LEDGER_URL", "LEDGER_TOKEN", "WEBHOOK_SECRET_FILE"):
    if len(os.environ.get(name, "").splitlines()) != 1:
        sys.exit(f"{name} must be one line")
LEDGER_URL, LEDGER_TOKEN = os.environ["LEDGER_URL"], os.environ["LEDGER_TOKEN"]
# A line break at the end is the editor's, and no part of the secret.
SECRET = open(os.environ["WEBHOOK_SECRET_FILE"], "rb").read().rstrip(b"\r\n") or sys.exit("The webhook's secret is empty")
DATABASE, PORT = os.environ.get("DATABASE", "shop.db"), int(os.environ.get("PORT", "8081"))
TOLERANCE, MAXIMUM_BODY = 300, 1 << 24  # seconds between the signature's time and ours; bytes
DELAYS = [0.25, 0.5, 1, 2, 4]  # seconds before each repetition of a redemption

SCHEMA = """CREATE TABLE IF NOT EXISTS balances (
    account TEXT NOT NULL, environment TEXT NOT NULL, bundle_id TEXT NOT NULL, granted_as TEXT NOT NULL,
    product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT, sequence INTEGER NOT NULL, purchase_date TEXT, length TEXT,
    PRIMARY KEY (account, environment, bundle_id, granted_as))"""

# The quantity is set, never added. Older events change nothing.
SET_BALANCE = """INSERT INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (account, environment, bundle_id, granted_as) DO UPDATE
    SET product_id = excluded.product_id, quantity = excluded.quantity, until = excluded.until, sequence = excluded.sequence,
        purchase_date = excluded.purchase_date, length = excluded.length
    WHERE excluded.sequence >= balances.sequence"""

# What has ended keeps its quantity and counts no more. A sum over the environments would give away the products of the
# sandbox. Month cards follow each other: one that is bought while another runs begins when that ends, so each ends at
# its purchase date and the length of all since.
BALANCES = """WITH cards AS (
        SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days FROM balances WHERE account = ?),
    ends AS (
        SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END) + sum(days) OVER (PARTITION BY environment, product_id
            ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
    SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
            THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now'))) ELSE max(stacked) > julianday('now') END AS quantity,
        strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked), max(CASE WHEN quantity > 0 THEN julianday(until) END))) AS until
    FROM ends GROUP BY 1, 2"""

# A later version reports others, too.
KINDS = {"granted", "revoked", "restored", "adjusted", "changed", "conflict"}


def database():
    return closing(sqlite3.connect(DATABASE, timeout=30))


def apply(rows):
    """Records rows of an answer or of an event, all or none."""
    with database() as connection, connection:
        connection.executemany(SET_BALANCE, rows)


def rows_of(account, outcome, sequence):
    """What an outcome of an answer says: what the account has of granted_as, and that it has nothing under another
    transaction_id."""
    place, rest = (account, outcome["environment"], outcome["bundle_id"]), (outcome["until"], sequence, outcome["purchase_date"], outcome["length"])
    if outcome["granted_as"] != outcome["transaction_id"]:
        yield *place, outcome["transaction_id"], outcome["product_id"], 0, *rest
    if outcome["granted_as"] is not None:
        yield *place, outcome["granted_as"], outcome["product_id"], outcome["quantity"], *rest


def redeem(account, evidence):
    """Sends evidence to the ledger until it answers. Returns the status and the answer."""
    # If the app sets an appAccountToken when it buys, send the account's as "account_token", too.
    body = json.dumps({"account": account, "evidence": evidence}).encode()
    request = urllib.request.Request(
        LEDGER_URL + "/v1/redeem", body, {"Authorization": "Bearer " + LEDGER_TOKEN, "Content-Type": "application/json"})
    for delay in [*DELAYS, None]:
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (401, 502, 503, 504):
                return error.code, json.loads(error.read() or b"{}")
        except (OSError, ValueError):
            pass  # No answer, or half of one. It may be granted: the same request again is answered with what the account has.
        if delay is None:
            return 503, {"error": {"code": "ledger-unavailable"}}
        time.sleep(delay)


def is_signed(header, body):
    """Whether the ledger signed the body, at most five minutes ago: Ledger-Signature: t=SECONDS,v1=HEX"""
    parts = dict(part.split("=", 1) for part in (header or "").split(",") if "=" in part)
    seconds, found = parts.get("t", ""), parts.get("v1", "")
    expected = hmac.new(SECRET, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), found.encode()) and seconds.isdigit() and abs(time.time() - int(seconds)) <= TOLERANCE


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
        body = self.rfile.read(int(length))
        if self.path == "/redeem":
            return self.redeem(self.account(), body.decode("utf-8", "replace")) if self.account() else self.answer(401, {})
        if self.path == "/webhook":
            if not is_signed(self.headers.get("Ledger-Signature"), body):
                return self.answer(403, {})
            event = json.loads(body)
            if event["kind"] not in KINDS:
                return self.answer(200, {})
            # An event's transaction_id is that of the grant. After an exception, the ledger sends the event again.
            apply([(event["account"], event["environment"], event["bundle_id"], event["transaction_id"],
                   event["product_id"], event["quantity"], event["until"], event["sequence"], event["purchase_date"], event["length"])])
            return self.answer(200, {})
        return self.answer(404, {})

    def redeem(self, account, evidence):
        status, answer = redeem(account, evidence)
        if status != 200:
            # Nothing is granted, and the app must not finish the transaction.
            return self.answer(status, {"code": answer.get("error", {}).get("code")})
        outcomes = answer["outcomes"]
        apply([row for each in outcomes for row in rows_of(account, each, answer["sequence"])])
        # Only now may the app finish: the outcomes are recorded here.
        return self.answer(200, {"finish": [each["transaction_id"] for each in outcomes if each["may_finish"]],
                                 "outcomes": {each["transaction_id"]: each["outcome"] for each in outcomes}})

    def do_GET(self):
        if self.path != "/balances":
            return self.answer(404, {})
        with database() as connection:
            rows = connection.execute(BALANCES, [self.account()]).fetchall()
        return self.answer(200, [{"environment": environment, "product_id": product, "quantity": quantity, "until": until}
                                 for environment, product, quantity, until in rows])


if __name__ == "__main__":
    with database() as connection:
        connection.executescript("PRAGMA journal_mode = WAL;" + SCHEMA)
    ThreadingHTTPServer(("127.0.0.1", PORT), Backend).serve_forever()
