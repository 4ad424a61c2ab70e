#!/usr/bin/env node
// A small backend of a shop: what each account has, by the rule of "Deliver" in ReceiptServer/TUTORIAL.md. Node 22.13
// or later, nothing else.
//
//     LEDGER_URL=http://127.0.0.1:8080 LEDGER_TOKEN=… WEBHOOK_SECRET_FILE=secret DATABASE=shop.db PORT=8081 node backend.mjs
//
// Start receipt-server with --webhook http://127.0.0.1:8081/webhook and the same secret.
//
//     POST /redeem     from the app: the evidence as the body. Answers which transactions the app may finish
//     POST /webhook    from receipt-server: an event
//     GET  /balances   for the app: what the account has

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const { LEDGER_URL, LEDGER_TOKEN, WEBHOOK_SECRET_FILE, DATABASE = "shop.db", PORT = "8081" } = process.env;
for (const [name, value] of Object.entries({ LEDGER_URL, LEDGER_TOKEN, WEBHOOK_SECRET_FILE })) {
    if (!/^[^\r\n]+$/.test(value ?? "")) throw new Error(`${name} must be one line`);
}
// A line break at the end is the editor's, and no part of the secret.
const SECRET = readFileSync(WEBHOOK_SECRET_FILE, "latin1").replace(/[\r\n]+$/, "");
if (SECRET === "") throw new Error("The webhook's secret is empty");
const TOLERANCE = 300; // seconds between the signature's time and ours
const DELAYS = [250, 500, 1000, 2000, 4000]; // milliseconds before each repetition of a redemption
const MAXIMUM_BODY = 1 << 24;

const database = new DatabaseSync(DATABASE);
database.exec("PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 30000");
database.exec(`CREATE TABLE IF NOT EXISTS balances (
    account TEXT NOT NULL, environment TEXT NOT NULL, bundle_id TEXT NOT NULL, granted_as TEXT NOT NULL,
    product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT, sequence INTEGER NOT NULL, purchase_date TEXT, length TEXT,
    PRIMARY KEY (account, environment, bundle_id, granted_as))`);

// The quantity is set, never added. Older events change nothing.
const SET_BALANCE = database.prepare(`INSERT INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (account, environment, bundle_id, granted_as) DO UPDATE
    SET product_id = excluded.product_id, quantity = excluded.quantity, until = excluded.until, sequence = excluded.sequence,
        purchase_date = excluded.purchase_date, length = excluded.length
    WHERE excluded.sequence >= balances.sequence`);
// What has ended keeps its quantity and counts no more. A sum over the environments would give away the products of the
// sandbox. Month cards follow each other: one that is bought while another runs begins when that ends, so each ends at
// its purchase date and the length of all since.
const BALANCES = database.prepare(`WITH cards AS (
        SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days FROM balances WHERE account = ?),
    ends AS (
        SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END) + sum(days) OVER (PARTITION BY environment, product_id
            ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
    SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
            THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now'))) ELSE max(stacked) > julianday('now') END AS quantity,
        strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked), max(CASE WHEN quantity > 0 THEN julianday(until) END))) AS until
    FROM ends GROUP BY 1, 2`);
// A later version reports others, too.
const KINDS = ["granted", "revoked", "restored", "adjusted", "changed", "conflict"];

/** Records rows of an answer or of an event, all or none. Nothing else runs meanwhile: the calls wait for the disk. */
function apply(rows) {
    database.exec("BEGIN IMMEDIATE");
    try {
        for (const row of rows) SET_BALANCE.run(...row);
        database.exec("COMMIT");
    } catch (error) {
        database.exec("ROLLBACK");
        throw error;
    }
}

/**
 * What an outcome of an answer says: what the account has of granted_as, and that it has nothing under another
 * transaction_id.
 */
function* rowsOf(account, outcome, sequence) {
    const place = [account, outcome.environment, outcome.bundle_id];
    const rest = [outcome.until, sequence, outcome.purchase_date, outcome.length];
    if (outcome.granted_as !== outcome.transaction_id) yield [...place, outcome.transaction_id, outcome.product_id, 0, ...rest];
    if (outcome.granted_as !== null) yield [...place, outcome.granted_as, outcome.product_id, outcome.quantity, ...rest];
}

/** Sends evidence to the ledger until it answers. Returns the status and the answer. */
async function redeem(account, evidence) {
    const request = {
        method: "POST",
        headers: { Authorization: `Bearer ${LEDGER_TOKEN}`, "Content-Type": "application/json" },
        // If the app sets an appAccountToken when it buys, send the account's as "account_token", too.
        body: JSON.stringify({ account, evidence }),
    };
    for (const delay of [...DELAYS, null]) {
        try {
            const response = await fetch(`${LEDGER_URL}/v1/redeem`, { ...request, redirect: "error", signal: AbortSignal.timeout(15_000) });
            const answer = await response.json();
            if (![401, 502, 503, 504].includes(response.status)) return [response.status, answer];
        } catch {
            // No answer, or half of one. It may be granted: the same request again is answered with what the account
            // has.
        }
        if (delay !== null) await sleep(delay);
    }
    return [503, { error: { code: "ledger-unavailable" } }];
}

/** Whether the ledger signed the body, at most five minutes ago: Ledger-Signature: t=SECONDS,v1=HEX */
function isSigned(header, body) {
    const parts = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? "");
    if (!parts) return false;
    const expected = createHmac("sha256", Buffer.from(SECRET, "latin1")).update(`${parts[1]}.`).update(body).digest();
    return timingSafeEqual(expected, Buffer.from(parts[2], "hex")) && Math.abs(Date.now() / 1000 - Number(parts[1])) <= TOLERANCE;
}

async function bodyOf(request) {
    const pieces = [];
    let count = 0;
    for await (const piece of request) {
        count += piece.length;
        if (count > MAXIMUM_BODY) return null;
        pieces.push(piece);
    }
    return Buffer.concat(pieces);
}

/** Returns the status of the response and its value. */
async function answer(request) {
    // The signed-in user. Take it from your session: the app's word is not enough. This example has no sessions.
    const account = request.headers["x-example-account"] ?? "";
    if (request.method === "GET" && request.url === "/balances") return [200, BALANCES.all(account)];
    const body = await bodyOf(request);
    if (body === null) return [413, {}];
    switch (`${request.method} ${request.url}`) {
        case "POST /redeem": {
            if (account === "") return [401, {}];
            const [status, answer] = await redeem(account, body.toString("utf8"));
            // Nothing is granted, and the app must not finish the transaction.
            if (status !== 200) return [status, { code: answer.error?.code ?? null }];
            apply(answer.outcomes.flatMap((each) => [...rowsOf(account, each, answer.sequence)]));
            // Only now may the app finish: the outcomes are recorded here.
            return [200, {
                finish: answer.outcomes.filter((each) => each.may_finish).map((each) => each.transaction_id),
                outcomes: Object.fromEntries(answer.outcomes.map((each) => [each.transaction_id, each.outcome])),
            }];
        }
        case "POST /webhook": {
            if (!isSigned(request.headers["ledger-signature"], body)) return [403, {}];
            const event = JSON.parse(body);
            if (!KINDS.includes(event.kind)) return [200, {}];
            // An event's transaction_id is that of the grant. After an exception, the ledger sends the event again.
            apply([[event.account, event.environment, event.bundle_id, event.transaction_id, event.product_id,
                event.quantity, event.until, event.sequence, event.purchase_date, event.length]]);
            return [200, {}];
        }
        default: return [404, {}];
    }
}

createServer(async (request, response) => {
    let [status, value] = [500, {}];
    try {
        [status, value] = await answer(request);
    } catch (error) {
        console.error(error);
    }
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}).listen(Number(PORT), "127.0.0.1");
