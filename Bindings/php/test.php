<?php

declare(strict_types=1);

// Runs the shared cases on the command line, or as `test.php SOCKET SCRIPT` the page SCRIPT by the FPM that listens on
// SOCKET.

use AppStoreReceipt\{Access, Entitlement, Environment, Form, VerificationError, Verifier};

// The installed package, or the sources.
require is_file(__DIR__ . '/vendor/autoload.php') ? __DIR__ . '/vendor/autoload.php' : __DIR__ . '/preload.php';

function file_of(string $name): string
{
    return file_get_contents(__DIR__ . "/../../TestVectors/$name");
}

function same(mixed $expected, mixed $found, string $what): void
{
    if ($expected !== $found) {
        fwrite(STDERR, "php: $what\nexpected " . var_export($expected, true) . "\nfound " . var_export($found, true) . "\n");
        exit(1);
    }
}

function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** Makes a verifier with a bad setting. @return array{int, string} the status and the code */
function refusal_of(string $name, mixed $value): array
{
    try {
        new Verifier(...[$name => $value]);
        return [0, 'accepted'];
    } catch (VerificationError $error) {
        $message = $error->code === 'usage' ? "the option $name cannot be read" : $error->getMessage();
        same([500, 'host', $message], [$error->httpStatus(), $error->category, $error->getMessage()], $name);
        return [$error->status, $error->code];
    } catch (TypeError $error) {
        // The types of the constructor refuse null.
        same(true, !is_array($value) && str_contains($error->getMessage(), "\$$name"), $error->getMessage());
        return [4, 'usage'];
    }
}

function date_of(int|string|null $milliseconds): DateTimeImmutable|string|null
{
    return is_int($milliseconds) ? new DateTimeImmutable(sprintf('@%d.%03d', intdiv($milliseconds, 1000), $milliseconds % 1000)) : $milliseconds;
}

/** @return array{?string, int, ?VerificationError} the JSON, the status of success, and the error */
function run_case(array $case): array
{
    $options = $case['options'];
    $settings = ['environments' => []];
    foreach ($options as $name => $value) {
        $settings[camel($name)] = match ($name) {
            'roots', 'transaction_receipt_issuers' => array_map(file_of(...), $value),
            'validation_date', 'clock' => date_of($value),
            default => $value,
        };
    }
    $verifier = new Verifier(...$settings);
    $evidence = array_map(file_of(...), $case['evidence'] ?? []);
    switch ($case['call']) {
        case 'new':
            return [null, 0, null];
        case 'verify':
            $verified = $verifier->verify($evidence[0]);
            $brief = $verifier->verdictJson($evidence[0], Form::Brief);
            $full = $verifier->verdictJson($evidence[0]);
            same([json_decode($brief, true)['kind'], $full], [$verified->kind(), $verified->verdictJson], $case['name']);
            same($verified->verdict()[$verified->kind()], $verified->contents(), $case['name']);
            return [['full' => $full, 'brief' => $brief, 'none' => null][$case['json']], 0, null];
        case 'entitlements':
            $entitlements = $verifier->entitlements(
                $evidence,
                date_of($case['date']),
                isset($case['environment']) ? Environment::from($case['environment']) : null,
            );
            $expected = json_decode($entitlements->json, true);
            same(
                array_map(
                    fn ($i) => [$i['product_id'], $i['access'], $i['gives_access'], $i['grantable'], $i['environment'] ?? null],
                    $expected['items']),
                array_map(
                    fn ($i) => [$i->productId, $i->access->value, $i->givesAccess, $i->grantable, $i->environment?->value],
                    $entitlements->items), $case['name']);
            same(
                array_map(
                    fn ($s) => [$s['will_renew'], $s['renews_as_seats'], $s['price_increase'], $s['renewal_offer'], isset($s['as_of'])],
                    $expected['subscriptions']),
                array_map(
                    fn ($s) => [
                        $s->willRenew, $s->renewsAsSeats, $s->priceIncrease?->value,
                        $s->renewalOffer === null ? null : (array) $s->renewalOffer, isset($s->asOf),
                    ],
                    $entitlements->subscriptions), $case['name']);
            foreach ($expected['items'] as $item) {
                same((new Entitlement(['access' => 'later'] + $item))->access, Access::Unknown, $case['name']);
            }
            same(array_column($expected['refused'], 'index'), array_map(fn ($r) => $r->index, $entitlements->refused), $case['name']);
            return [$entitlements->json, 0, $entitlements->error];
        case 'answer':
            $answer = $verifier->answer($evidence[0], $case['latest_receipt_info'] ?? false);
            return [$answer->json, 0, $answer->error];
        case 'extract_transaction_id_from_app_receipt':
            return [json_encode(['transaction_id' => $verifier->extractTransactionIdFromAppReceipt($evidence[0])]), 0, null];
        case 'extract_transaction_id_from_transaction_receipt':
            return [json_encode(['transaction_id' => $verifier->extractTransactionIdFromTransactionReceipt($evidence[0])]), 0, null];
        case 'decode':
            return [Verifier::decodeUnverified($evidence[0]), 5, null];
    }
    throw new LogicException("unknown call {$case['call']}");
}

/** @return array{string, string} the headers and the body of FPM's response to a POST */
function post(string $socket, string $script, string $body): array
{
    $connection = stream_socket_client("unix://$socket") ?: throw new RuntimeException("no FPM on $socket");
    $record = fn (int $type, string $content) => pack('CCnnCx', 1, $type, 1, strlen($content), 0) . $content;
    $parameters = '';
    foreach (['SCRIPT_FILENAME' => $script, 'REQUEST_METHOD' => 'POST', 'CONTENT_LENGTH' => (string) strlen($body), 'CONTENT_TYPE' => 'application/octet-stream'] as $name => $value) {
        $parameters .= pack('CN', strlen($name), strlen($value) | 0x80000000) . $name . $value;
    }
    $request = $record(1, pack('nCx5', 1, 0)) . $record(4, $parameters) . $record(4, '');
    foreach ($body === '' ? [] : str_split($body, 60000) as $part) {
        $request .= $record(5, $part);
    }
    fwrite($connection, $request . $record(5, ''));
    $output = '';
    while (strlen($header = stream_get_contents($connection, 8)) === 8) {
        ['type' => $type, 'length' => $length, 'padding' => $padding] = unpack('Cversion/Ctype/nid/nlength/Cpadding', $header);
        $content = stream_get_contents($connection, $length + $padding);
        $output .= $type === 6 ? substr($content, 0, $length) : '';
    }
    return explode("\r\n\r\n", $output, 2);
}

$receipt = file_of('receipts/1-purchase.der');
$requests = [
    ['requests/json.json', '', 'com.example.app.pro com.example.app.coins'],
    ['certificates/stranger.der', '403', 'untrusted-chain'],
    ['asn1/empty.der', '400', 'empty-input'],
];

if ($argc === 3) {
    for ($round = 1; $round <= 20; $round++) {
        foreach ($requests as [$file, $status, $expected]) {
            [$headers, $body] = post($argv[1], $argv[2], file_of($file));
            same([$status, "$expected " . $round], [preg_match('/^Status: (\d+)/', $headers, $found) ? $found[1] : '', $body], "FPM, $file");
        }
    }
    exit;
}

$cases = json_decode(file_get_contents(__DIR__ . '/../cases/cases.json'), true, flags: JSON_THROW_ON_ERROR);
foreach ($cases as $case) {
    try {
        [$json, $status, $error] = run_case($case);
    } catch (VerificationError $error) {
        $json = ($case['json'] ?? '') === 'none' ? null : $error->verdictJson;
    }
    same(['json' => $case['json_of']['php'] ?? $case['expect']['json']] + $case['expect'], [
        'json' => $json, 'status' => $error?->status ?? $status, 'code' => $error?->code ?? '', 'category' => $error?->category ?? '',
    ], $case['name']);
}

// The shared table, and what only PHP can say.
$settings = json_decode(file_get_contents(__DIR__ . '/../cases/settings.json'), true, flags: JSON_THROW_ON_ERROR);
foreach ($settings as ['option' => $option, 'value' => $value, 'expect' => $expected]) {
    same(array_values($expected), refusal_of(camel($option), $value), "$option: " . json_encode($value));
}
foreach (['bundleId', 'environments', 'roots', 'transactionReceiptIssuers', 'distrusted', 'productTypes'] as $name) {
    foreach ([[[]], [['a']], [1], [false], [true], 1, false, 1.5, new stdClass()] as $value) {
        same([4, 'usage'], refusal_of($name, $value), "$name: " . json_encode($value));
    }
}
foreach (['appAppleId' => [1, []], 'maximumAge' => ['60', 1.5, [], PHP_INT_MIN], 'validationDate' => ['', '2020', 0, []], 'clock' => ['now', 0, []],
    'storekitTesting' => [null, 1, 'false', []], 'allowsRsa1024' => [null, 1, 'false', []],
    'strictForm' => [null, 1, 'false', []]] as $name => $values) {
    foreach ($values as $value) {
        same([4, 'usage'], refusal_of($name, is_array($value) ? (object) [] : $value), "$name: " . json_encode($value));
    }
}

$verifier = new Verifier(environments: 'production', roots: file_of('authority/root.der'));
$evidence = $verifier->verify($receipt);
same(['receipt', 1749988800], [$evidence->kind(), $evidence->trust()->validatedAt->getTimestamp()], 'the kind and the trust');
same('com.example.app', $evidence->contents()['bundle_id'], 'the contents');
$entitlements = $verifier->entitlements([$receipt, '']);
same([[1, 'empty-input', 'client', 'the input is empty (at byte 0 of the text)']], array_map(fn ($r) => array_values((array) $r), $entitlements->refused), 'refused');
same(['the input is empty (at byte 0 of the text)', true], [$entitlements->error->getMessage(), $entitlements->error->advice !== ''], 'the error of a refused piece');
try {
    $verifier->entitlements(array_fill(0, 1001, ''));
    same('too-much-evidence', 'accepted', 'pieces');
} catch (VerificationError $error) {
    same(['too-much-evidence', 1, 400], [$error->code, $error->status, $error->httpStatus()], 'pieces');
}
same(1000, count($verifier->entitlements(array_fill(0, 1000, ''))->refused), 'pieces');
foreach ([$entitlements->error, $error] as $error) {
    $stored = unserialize(serialize($error));
    $members = fn ($e) => [$e->code, $e->getCode(), $e->getMessage(), $e->status, $e->category, $e->httpStatus(), $e->advice, $e->verdictJson];
    same($members($error), $members($stored), 'an unserialised error');
}
same(true, (clone $verifier)->accepts($receipt), 'a clone');
same(true, str_contains(file_get_contents(__DIR__ . '/../C/include/appstorereceipt.h'), 'ASR_VERSION "' . Verifier::version() . '"'), 'version');
same([true, false], [$verifier->accepts($receipt), $verifier->accepts('')], 'accepts');

// A date makes a verifier of its own, which is freed with its last clone: the library keeps what is shared, and each
// row of a table can have its date.
$root = file_of('authority/root.der');
$dated = static fn (int $second, string $option = 'validationDate') => new Verifier(...['roots' => $root, $option => new DateTimeImmutable("@$second")]);
foreach (['validationDate', 'clock'] as $option) {
    $own = $dated(1749988800, $option);
    same([true, 1], [$own->accepts($receipt), $own->counts()['verified']], $option);
    same(0, $dated(1749988800, $option)->counts()['verified'], "another verifier with $option");
    $clone = clone $own;
    unset($own);
    same([true, 2], [$clone->accepts($receipt), $clone->counts()['verified']], "a clone with $option");
}
$now = fn () => new Verifier(roots: $root, validationDate: 'now');
$now()->accepts('');
same(['empty-input' => 1], $now()->counts()['refused'], 'a shared verifier with validationDate');
foreach ([$verifier, $clone] as $each) {
    try {
        serialize($each);
        same('an exception', 'none', 'serialize');
    } catch (Exception $error) {
        same(true, str_contains($error->getMessage(), "'FFI\\CData' is not allowed"), $error->getMessage());
    }
}
$kibibytes = static fn () => (int) preg_replace('/.*VmRSS:\s*(\d+) kB.*/s', '$1', file_get_contents('/proc/self/status'));
for ($i = 0; $i < 1000; $i++) {
    if ($i === 200) {
        $resident = $kibibytes();
    }
    same(true, $dated(1749988800 + $i)->accepts($receipt), 'a verifier with a date');
}
same(true, $kibibytes() - $resident < 1024, 'memory of verifiers that are freed');

// When a script ends, a destructor may still use a verifier whose handle was freed.
$freed = $dated(1749988800);
(fn () => $this->handle->__destruct())->call($freed);
same(false, $freed->accepts($receipt), 'a verifier that was freed');

$before = memory_get_usage();
$began = hrtime(true);
for ($i = 0; $i < 5000; $i++) {
    $verifier->verdictJson($receipt);
}
$time = (hrtime(true) - $began) / 5000 / 1000;
same(true, memory_get_usage() - $before < 10_000, 'memory that 5000 calls keep');
printf("php: %d cases; %.1f µs per call\n", count($cases), $time);
