<?php

/**
 * A small backend of a shop: what each account has, by the rule of "Deliver" in ReceiptServer/TUTORIAL.md. PHP 8.2 with
 * PDO for SQLite.
 *     LEDGER_URL=http://127.0.0.1:8080 LEDGER_TOKEN=… WEBHOOK_SECRET_FILE=secret DATABASE=shop.db \
 *         PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:8090 backend.php
 * Start receipt-server with --webhook http://127.0.0.1:8090/webhook and the same secret.
 *
 *     POST /redeem     from the app: the evidence as the body. Answers which transactions the app may finish
 *     POST /webhook    from receipt-server: an event
 *     GET  /balances   for the app: what the account has
 */

declare(strict_types=1);
ini_set('display_errors', '0'); // Else an exception is answered with 200, and the ledger never sends the event again.

const TOLERANCE = 300; // seconds between the signature's time and ours
const DELAYS = [0.25, 0.5, 1, 2, 4]; // seconds before each repetition of a redemption

const SCHEMA = 'CREATE TABLE IF NOT EXISTS balances (
    account TEXT NOT NULL, environment TEXT NOT NULL, bundle_id TEXT NOT NULL, granted_as TEXT NOT NULL,
    product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT, sequence INTEGER NOT NULL, purchase_date TEXT, length TEXT,
    PRIMARY KEY (account, environment, bundle_id, granted_as))';

// The quantity is set, never added. Older events change nothing.
const SET_BALANCE = 'INSERT INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (account, environment, bundle_id, granted_as) DO UPDATE
    SET product_id = excluded.product_id, quantity = excluded.quantity, until = excluded.until, sequence = excluded.sequence,
        purchase_date = excluded.purchase_date, length = excluded.length
    WHERE excluded.sequence >= balances.sequence';

// What has ended keeps its quantity and counts no more. A sum over the environments would give away the products of the
// sandbox. Month cards follow each other: one that is bought while another runs begins when that ends, so each ends at
// its purchase date and the length of all since.
const BALANCES = "WITH cards AS (
        SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days FROM balances WHERE account = ?),
    ends AS (
        SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END) + sum(days) OVER (PARTITION BY environment, product_id
            ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
    SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
            THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now'))) ELSE max(stacked) > julianday('now') END AS quantity,
        strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked), max(CASE WHEN quantity > 0 THEN julianday(until) END))) AS until
    FROM ends GROUP BY 1, 2";

// A later version reports others, too.
const KINDS = ['granted', 'revoked', 'restored', 'adjusted', 'changed', 'conflict'];

foreach (['LEDGER_URL', 'LEDGER_TOKEN', 'WEBHOOK_SECRET_FILE'] as $name) {
    if (!preg_match('/^[^\r\n]+$/D', (string) getenv($name))) {
        throw new RuntimeException("$name must be one line");
    }
}

function database(): PDO
{
    $database = new PDO('sqlite:' . (getenv('DATABASE') ?: 'shop.db'), options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $database->exec('PRAGMA busy_timeout = 30000');
    $database->exec('PRAGMA journal_mode = WAL');
    $database->exec(SCHEMA);
    return $database;
}

/** Records rows of an answer or of an event, all or none. */
function apply(array $rows): void
{
    $database = database();
    $database->exec('BEGIN IMMEDIATE');
    $statement = $database->prepare(SET_BALANCE);
    array_map($statement->execute(...), $rows);
    $database->exec('COMMIT');
}

/**
 * What an outcome of an answer says: what the account has of granted_as, and that it has nothing under another
 * transaction_id.
 */
function rows_of(string $account, array $outcome, int $sequence): Generator
{
    $place = [$account, $outcome['environment'], $outcome['bundle_id']];
    $rest = [$outcome['until'], $sequence, $outcome['purchase_date'], $outcome['length']];
    if ($outcome['granted_as'] !== $outcome['transaction_id']) {
        yield [...$place, $outcome['transaction_id'], $outcome['product_id'], 0, ...$rest];
    }
    if ($outcome['granted_as'] !== null) {
        yield [...$place, $outcome['granted_as'], $outcome['product_id'], $outcome['quantity'], ...$rest];
    }
}

/** Sends evidence to the ledger until it answers. Returns the status and the answer. */
function redeem(string $account, string $evidence): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST', 'timeout' => 15, 'ignore_errors' => true, 'follow_location' => 0,
        'header' => ['Authorization: Bearer ' . getenv('LEDGER_TOKEN'), 'Content-Type: application/json'],
        // If the app sets an appAccountToken when it buys, send the account's as 'account_token', too.
        'content' => json_encode(['account' => $account, 'evidence' => $evidence], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE),
    ]]);
    foreach ([...DELAYS, null] as $delay) {
        $http_response_header = [];
        $body = @file_get_contents(getenv('LEDGER_URL') . '/v1/redeem', context: $context);
        $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
        $answer = is_string($body) ? json_decode($body, true) : null;
        // Without an answer, or with half of one, it may be granted: the same request again is answered with what the
        // account has.
        if (is_array($answer) && !in_array($status, [0, 401, 502, 503, 504], true)) {
            return [$status, $answer];
        }
        error_log("The ledger did not redeem: status $status" . ($status === 401 ? ' (is LEDGER_TOKEN right?)' : ''));
        usleep((int) (($delay ?? 0) * 1e6));
    }
    return [503, ['error' => ['code' => 'ledger-unavailable']]];
}

/** Whether the ledger signed the body, at most five minutes ago: Ledger-Signature: t=SECONDS,v1=HEX */
function is_signed(string $header, string $body): bool
{
    // A line break at the end of the file is the editor's, and no part of the secret.
    $secret = rtrim(file_get_contents(getenv('WEBHOOK_SECRET_FILE')), "\r\n");
    return $secret !== '' && preg_match('/^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/D', $header, $parts)
        && hash_equals(hash_hmac('sha256', "$parts[1].$body", $secret), $parts[2]) && abs(time() - (int) $parts[1]) <= TOLERANCE;
}

function answer(int $status, array $value = []): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR);
}

// The signed-in user. Take it from your session: the app's word is not enough. This example has no sessions.
$account = $_SERVER['HTTP_X_EXAMPLE_ACCOUNT'] ?? '';
$body = file_get_contents('php://input');

switch ($_SERVER['REQUEST_METHOD'] . ' ' . $_SERVER['REQUEST_URI']) {
    case 'POST /redeem':
        [$status, $answer] = $account === '' ? [401, []] : redeem($account, $body);
        if ($status !== 200) {
            // Nothing is granted, and the app must not finish the transaction.
            answer($status, ['code' => $answer['error']['code'] ?? null]);
            break;
        }
        apply(array_merge(...array_map(
            static fn (array $each) => iterator_to_array(rows_of($account, $each, $answer['sequence'])), $answer['outcomes'])));
        // Only now may the app finish: the outcomes are recorded here.
        answer(200, [
            'finish' => array_column(array_filter($answer['outcomes'], static fn (array $each) => $each['may_finish']), 'transaction_id'),
            'outcomes' => (object) array_column($answer['outcomes'], 'outcome', 'transaction_id'),
        ]);
        break;
    case 'POST /webhook':
        if (!is_signed($_SERVER['HTTP_LEDGER_SIGNATURE'] ?? '', $body)) {
            error_log('A webhook was refused: its signature is not of WEBHOOK_SECRET_FILE, or its time is not ours');
            answer(403);
            break;
        }
        $event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
        // An event's transaction_id is that of the grant. After an exception, the ledger sends the event again.
        if (in_array($event['kind'], KINDS, true)) {
            apply([[$event['account'], $event['environment'], $event['bundle_id'], $event['transaction_id'], $event['product_id'],
                $event['quantity'], $event['until'], $event['sequence'], $event['purchase_date'], $event['length']]]);
        }
        answer(200);
        break;
    case 'GET /balances':
        $statement = database()->prepare(BALANCES);
        $statement->execute([$account]);
        answer(200, $statement->fetchAll(PDO::FETCH_ASSOC));
        break;
    default:
        answer(404);
}
