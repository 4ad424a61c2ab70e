<?php

declare(strict_types=1);

// Runs the shared cases of signatures, which openssl_verify() verifies.

use AppStoreReceipt\{PromotionalOfferSignature, Signer, VerificationError};

require is_file(__DIR__ . '/vendor/autoload.php') ? __DIR__ . '/vendor/autoload.php' : __DIR__ . '/preload.php';

const CASES = __DIR__ . '/../cases';
const UUID = '/\A[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\z/';

function same(mixed $expected, mixed $found, string $what): void
{
    if ($expected !== $found) {
        fwrite(STDERR, "php: $what\nexpected " . var_export($expected, true) . "\nfound " . var_export($found, true) . "\n");
        exit(1);
    }
}

function file_of(string $name): string
{
    return file_get_contents(CASES . "/signing/$name");
}

function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

/** Named arguments in PHP's names. */
function named(array $arguments): array
{
    return array_combine(array_map(camel(...), array_keys($arguments)), $arguments);
}

function decoded(string $part): string
{
    return base64_decode(strtr($part, '-_', '+/'), true);
}

function integer(string $octets): string
{
    $octets = ltrim($octets, "\0");
    $octets = (ord($octets[0]) >= 0x80 ? "\0" : '') . $octets;
    return "\x02" . chr(strlen($octets)) . $octets;
}

function check_jws(string $jws, array $expected, array $shared, string $name): void
{
    [$header, $payload, $signature] = explode('.', $jws);
    same(['alg' => 'ES256', 'kid' => $shared['key_id'], 'typ' => 'JWT'], json_decode(decoded($header), true), $name);
    $claims = json_decode(decoded($payload), true);
    same(true, abs($claims['iat'] - time()) < 10 && preg_match(UUID, $claims['nonce']) === 1, $name);
    unset($claims['iat'], $claims['nonce']);
    $expected += ['iss' => $shared['issuer_id'], 'bid' => $shared['bundle_id']];
    ksort($expected);
    ksort($claims);
    same($expected, $claims, $name);
    $rs = decoded($signature);
    same(64, strlen($rs), $name);
    $numbers = integer(substr($rs, 0, 32)) . integer(substr($rs, 32));
    $der = "\x30" . chr(strlen($numbers)) . $numbers;
    same(1, openssl_verify("$header.$payload", $der, file_of($shared['public_key']), OPENSSL_ALGO_SHA256), $name);
}

function check_original(PromotionalOfferSignature $offer, array $expected, array $shared, string $name): void
{
    same($shared['key_id'], $offer->keyId, $name);
    same(true, abs($offer->timestamp / 1000 - time()) < 10 && preg_match(UUID, $offer->nonce) === 1, $name);
    $message = implode("\u{2063}", [...$expected, $offer->nonce, (string) $offer->timestamp]);
    $der = base64_decode($offer->signature, true);
    same(1, openssl_verify($message, $der, file_of($shared['public_key']), OPENSSL_ALGO_SHA256), $name);
}

function refused(array $expect, callable $call, string $name): void
{
    try {
        $call();
    } catch (VerificationError $error) {
        same([$expect['status'], $expect['code'], $expect['category']], [$error->status, $error->code, $error->category], $name);
        same($expect['argument'] ?? null, json_decode($error->verdictJson ?? '{}', true)['error']['argument'] ?? null, $name);
        same(true, str_contains($error->getMessage(), $expect['kind'] ?? ''), $name);
        return;
    }
    same('refused', 'signed', $name);
}

$shared = json_decode(file_get_contents(CASES . '/signing.json'), true);
$ids = named(array_intersect_key($shared, array_flip(['key_id', 'issuer_id', 'bundle_id'])));
$signer = new Signer(...$ids, key: file_of($shared['key']));
foreach ($shared['cases'] as ['name' => $name, 'call' => $call, 'arguments' => $arguments, 'expect' => $expect]) {
    $sign = fn () => $signer->{camel("sign_$call")}(...named($arguments));
    match (true) {
        isset($expect['code']) => refused($expect, $sign, $name),
        isset($expect['claims']) => check_jws($sign(), $expect['claims'], $shared, $name),
        default => check_original($sign(), $expect['message'], $shared, $name),
    };
}
foreach ($shared['keys'] as ['file' => $file, 'expect' => $expect]) {
    $make = fn () => new Signer(...$ids, key: file_of($file));
    $expect['status'] === 0 ? $make() : refused($expect, $make, $file);
}
foreach ($shared['ids'] as ['argument' => $argument, 'value' => $value, 'expect' => $expect]) {
    refused($expect, fn () => new Signer(...[camel($argument) => $value] + $ids, key: file_of($shared['key'])), $argument);
}

$usage = ['status' => 4, 'code' => 'usage', 'category' => 'host'];
$path = tempnam(sys_get_temp_dir(), 'key');
file_put_contents($path, file_of($shared['key']));
chmod($path, 0600);
new Signer(...$ids, keyFile: $path);
chmod($path, 0640);
refused(['status' => 3, 'code' => 'key-accessible-to-others', 'category' => 'host'], fn () => new Signer(...$ids, keyFile: $path), 'rights');
unlink($path);
refused(['status' => 3, 'code' => 'key-no-credential', 'category' => 'host'], fn () => new Signer(...$ids, keyCredential: '../a'), 'credential');
refused($usage, fn () => new Signer(...$ids), 'no key');
refused($usage, fn () => new Signer(...$ids, key: 'a', keyFile: 'b'), 'two keys');
refused($usage, fn () => $signer->signPromotionalOffer("\xff", 'a', null), 'no UTF-8');
try {
    $signer->signPromotionalOffer('a', 'b');
    same('refused', 'signed', 'a default');
} catch (ArgumentCountError) {
}
$began = hrtime(true);
for ($i = 0; $i < 1000; $i++) {
    $signer->signOriginalPromotionalOffer('a', 'b', null);
}
printf("php: %d cases of signatures; %.0f µs each\n", count($shared['cases']), (hrtime(true) - $began) / 1e6);
