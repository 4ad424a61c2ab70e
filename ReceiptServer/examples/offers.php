<?php

/**
 * A route that signs promotional offers, by the rules of "Signing offers": for the signed-in user and their
 * purchases in production, once for each request, and not more than LIMIT times a year. PHP 8.2 with FFI, PDO for
 * SQLite and the package appstorereceipt.
 *     LEDGER_URL=http://127.0.0.1:8080 LEDGER_TOKEN=… DATABASE=offers.db APPSTORERECEIPT=vendor/autoload.php \
 *         KEY_FILE=key.p8 KEY_ID=2X9R4HXF34 ISSUER_ID=… BUNDLE_ID=com.example.app \
 *             php -d ffi.enable=1 -S 127.0.0.1:8091 offers.php
 * The token needs the scope `read` only.
 *
 *     POST /offers     {"request_id":UUID,"product_id":…,"offer_id":…,"transaction_id":…}. Answers {"jws":…}
 */

declare(strict_types=1);
ini_set('display_errors', '0');

use AppStoreReceipt\Signer;

require getenv('APPSTORERECEIPT');

const OFFERS = ['winback' => ['com.example.app.auto-renewable']]; // the offers that you make, with their products
const LIMIT = 3; // offers a year
const YEAR = 365 * 86400;

const SCHEMA = 'CREATE TABLE IF NOT EXISTS requests (
        account TEXT NOT NULL, request_id TEXT NOT NULL, PRIMARY KEY (account, request_id));
    CREATE TABLE IF NOT EXISTS signatures (key TEXT NOT NULL, at INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS signatures_of_key ON signatures (key, at)';

final class Refusal extends RuntimeException
{
}

/** What the ledger says the account owns in production; null if it does not answer. */
function owned(string $account): ?array
{
    $context = stream_context_create(['http' => [
        'timeout' => 15, 'ignore_errors' => true, 'follow_location' => 0, 'header' => 'Authorization: Bearer ' . getenv('LEDGER_TOKEN'),
    ]]);
    $url = getenv('LEDGER_URL') . '/v1/accounts/' . rawurlencode($account) . '/entitlements?environment=production';
    $body = @file_get_contents($url, context: $context);
    $status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
    return $status === 200 ? json_decode((string) $body, true)['items'] ?? null : null;
}

/** Records a signature before it is made, all or nothing. */
function record(string $account, string $requestId, array $keys): void
{
    $database = new PDO('sqlite:' . (getenv('DATABASE') ?: 'offers.db'), options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $database->exec('PRAGMA busy_timeout = 30000');
    $database->exec(SCHEMA);
    $database->exec('BEGIN IMMEDIATE');
    try {
        $insert = $database->prepare('INSERT INTO requests VALUES (?, ?) ON CONFLICT DO NOTHING');
        $insert->execute([$account, $requestId]);
        if ($insert->rowCount() === 0) {
            throw new Refusal('alreadySigned', 409);
        }
        foreach ($keys as $key) {
            $count = $database->prepare('SELECT count(*) FROM signatures WHERE key = ? AND at > ?');
            $count->execute([$key, time() - YEAR]);
            if ($count->fetchColumn() >= LIMIT) {
                throw new Refusal('tooMany', 429);
            }
            $database->prepare('INSERT INTO signatures VALUES (?, ?)')->execute([$key, time()]);
        }
        $database->exec('COMMIT');
    } catch (Throwable $error) {
        $database->exec('ROLLBACK');
        throw $error;
    }
}

/** The JWS for the app. */
function sign(string $account, array $request, array $items): string
{
    $text = static fn (string $name) => is_string($request[$name] ?? null) ? $request[$name] : throw new Refusal('malformed', 400);
    [$product, $offer, $transaction, $requestId] = array_map($text, ['product_id', 'offer_id', 'transaction_id', 'request_id']);
    if (!preg_match('/\A[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\z/', $requestId)) {
        throw new Refusal('malformed', 400);
    }
    if (!in_array($product, OFFERS[$offer] ?? [], true)) {
        throw new Refusal('noSuchOffer', 404);
    }
    $item = array_values(array_filter($items, static fn (array $each) => $each['transaction_id'] === $transaction))[0] ?? null;
    // A refund of any period counts: each has an item of its own.
    $refunded = array_filter($items, static fn (array $each) =>
        $each['access'] === 'revoked' && $each['original_transaction_id'] === ($item['original_transaction_id'] ?? null));
    $refusal = match (true) {
        $item === null, ($item['bundle_id'] ?? null) !== getenv('BUNDLE_ID') => 'notYours',
        ($item['environment'] ?? null) !== 'production' => 'notInProduction',
        ($item['product_type'] ?? null) !== 'Auto-Renewable Subscription' => 'notASubscription',
        ($item['ownership_type'] ?? null) !== 'PURCHASED' => 'notBought',
        !in_array($item['access'], ['active', 'expired'], true), $refunded !== [] => 'notEligible',
        default => null,
    };
    if ($refusal !== null) {
        throw new Refusal($refusal, 403);
    }
    $keys = ["account $account", "subscription {$item['original_transaction_id']}"];
    if ($item['app_transaction_id'] !== null) {
        $keys[] = "customer {$item['app_transaction_id']}";
    }
    record($account, strtolower($requestId), $keys);
    $signer = new Signer(keyId: getenv('KEY_ID'), issuerId: getenv('ISSUER_ID'), bundleId: getenv('BUNDLE_ID'), keyFile: getenv('KEY_FILE'));
    return $signer->signPromotionalOffer($product, $offer, $transaction);
}

function answer(int $status, array $value): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR);
}

// The signed-in user. Take it from your session: the app's word is not enough. This example has no sessions.
$account = $_SERVER['HTTP_X_EXAMPLE_ACCOUNT'] ?? '';
$request = json_decode(file_get_contents('php://input'), true);
try {
    match (true) {
        $_SERVER['REQUEST_METHOD'] . ' ' . $_SERVER['REQUEST_URI'] !== 'POST /offers' => throw new Refusal('noSuchPage', 404),
        $account === '' => throw new Refusal('notSignedIn', 401),
        !is_array($request) => throw new Refusal('malformed', 400),
        default => answer(200, ['jws' => sign($account, $request, owned($account) ?? throw new Refusal('ledgerUnavailable', 503))]),
    };
} catch (Refusal $refusal) {
    answer($refusal->getCode(), ['code' => $refusal->getMessage()]);
} catch (Throwable $error) {
    error_log((string) $error);
    answer(500, ['code' => 'internal']);
}
