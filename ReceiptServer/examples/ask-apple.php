<?php
/*
 * Asks the App Store Server API about a transaction, and takes notifications: against Apple, or the fake App Store of
 * ReceiptServer/TEST-YOUR-BACKEND.md. PHP 8.2.
 *
 *     KEY_FILE=key.p8 ROOT_FILE=root.pem php ask-apple.php TRANSACTION_ID
 *     ROOT_FILE=root.pem php -S 127.0.0.1:8089 ask-apple.php        logs the types of notifications
 *
 * APPLE_URL, KEY_ID, ISSUER_ID and BUNDLE_ID are by default those of the fake.
 */

function setting(string $name, string $default = ''): string { return getenv($name) ?: $default; }
function base64url(string $bytes): string { return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '='); }
function decoded(string $part): string { return base64_decode(strtr($part, '-_', '+/')); }

/** A token for the API, which Apple accepts for at most an hour. */
function token(): string
{
    $header = ['alg' => 'ES256', 'kid' => setting('KEY_ID', 'FAKEKEY123'), 'typ' => 'JWT'];
    $claims = ['iss' => setting('ISSUER_ID', '57246542-96fe-1a63-e053-0824d011072a'), 'iat' => time() - 30, 'exp' => time() + 300,
        'aud' => 'appstoreconnect-v1', 'bid' => setting('BUNDLE_ID', 'com.example.app')];
    $input = base64url(json_encode($header)) . '.' . base64url(json_encode($claims));
    openssl_sign($input, $der, file_get_contents(setting('KEY_FILE')), OPENSSL_ALGO_SHA256);
    // OpenSSL writes DER; a JWS has r and s with 32 bytes each.
    $r = substr($der, 4, ord($der[3]));
    $s = substr($der, 6 + ord($der[3]), ord($der[5 + ord($der[3])]));
    $signature = implode('', array_map(fn($number) => str_pad(ltrim($number, "\0"), 32, "\0", STR_PAD_LEFT), [$r, $s]));
    return $input . '.' . base64url($signature);
}

/** The status line and the answer, which is null if it is no JSON. */
function ask(string $path): array
{
    $body = file_get_contents(setting('APPLE_URL', 'http://127.0.0.1:8088') . $path, false, stream_context_create(['http' => [
        'header' => ['Authorization: Bearer ' . token(), 'Accept: application/json'], 'ignore_errors' => true]]));
    return [$http_response_header[0], json_decode($body, true)];
}

/**
 * What Apple signed. A sketch: a backend also checks the dates and Apple's marker extensions. Use a library, such as
 * the binding for PHP.
 */
function payload(string $jws): array
{
    [$header, $payload, $signature] = explode('.', $jws);
    $chain = array_map(fn($c) => "-----BEGIN CERTIFICATE-----\n" . chunk_split($c, 64, "\n") . "-----END CERTIFICATE-----\n",
        json_decode(decoded($header), true)['x5c']);
    $isGenuine = openssl_x509_verify($chain[0], $chain[1]) === 1
        && openssl_x509_verify($chain[1], file_get_contents(setting('ROOT_FILE'))) === 1;
    if (!$isGenuine) throw new Exception('not signed under the root');
    $number = fn($bytes) => "\x02" . chr(strlen($bytes = ord($bytes[0]) > 127 ? "\0$bytes" : $bytes)) . $bytes;
    $parts = array_map(fn($n) => ltrim($n, "\0"), str_split(decoded($signature), 32));
    $der = "\x30" . chr(strlen($both = $number($parts[0]) . $number($parts[1]))) . $both;
    if (openssl_verify("$header.$payload", $der, $chain[0], OPENSSL_ALGO_SHA256) !== 1) throw new Exception('changed');
    return json_decode(decoded($payload), true);
}

if (PHP_SAPI === 'cli-server') {
    ini_set('display_errors', '0'); // Then an exception is answered with 500, and Apple sends the notification again.
    $notification = payload(json_decode(file_get_contents('php://input'), true)['signedPayload']);
    error_log($notification['notificationType']);
    exit;
}
[$status, $answer] = ask('/inApps/v1/transactions/' . ($argv[1] ?? exit("usage: ask-apple.php TRANSACTION_ID\n")));
echo $status, "\n";
if (isset($answer['signedTransactionInfo'])) {
    $transaction = payload($answer['signedTransactionInfo']);
    echo $transaction['productId'], isset($transaction['revocationDate']) ? ', refunded' : '', "\n";
} else {
    echo json_encode($answer), "\n";
}
