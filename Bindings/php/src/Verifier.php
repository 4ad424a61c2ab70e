<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeInterface;
use FFI\CData;

/** Verifies evidence. Verifiers with equal options share their state in a process, also between requests. */
final class Verifier
{
    private const DATE_NOW = PHP_INT_MAX;
    private const FILL_LATEST_RECEIPT_INFO = 16;

    private readonly CData $verifier;

    /**
     * @param string|list<string> $bundleIds the apps to accept. Without any, compare the bundle id in the contents before you grant anything
     * @param string|list<string> $environments `production`, `sandbox`, `xcode`, `local-testing`. At least one is required
     * @param ?string $appAppleId the app's Apple id, a number. Notifications and real-time requests have it
     * @param string|list<string> $roots self-signed certificates in DER or PEM, trusted instead of Apple's
     * @param string|list<string> $transactionReceiptIssuers intermediate certificates for transaction receipts of iOS 3 to 6
     * @param bool $storekitTesting whether the roots are certificates of StoreKit Testing in Xcode
     * @param string|list<string> $distrusted SHA-256 of certificates in hexadecimal. What they have signed is refused
     * @param ?int $maximumAge the maximum age of evidence in seconds
     * @param DateTimeInterface|'now'|null $validationDate the date to validate certificates at. The default is the evidence's own
     * @param bool $allowsRsa1024 whether to accept transaction receipts of version 2, which have an RSA key of 1024 bits
     * @param ?DateTimeInterface $clock where the verifier's clock stands still, for tests
     *
     * @throws VerificationError if the options can accept nothing
     */
    public function __construct(
        string|array $bundleIds = [],
        string|array $environments = [],
        ?string $appAppleId = null,
        string|array $roots = [],
        string|array $transactionReceiptIssuers = [],
        bool $storekitTesting = false,
        string|array $distrusted = [],
        ?int $maximumAge = null,
        DateTimeInterface|string|null $validationDate = null,
        bool $allowsRsa1024 = false,
        ?DateTimeInterface $clock = null,
    ) {
        $ffi = Library::ffi();
        $options = $ffi->asr_options_new();
        $set = static function (string $name, string $function, mixed ...$arguments) use ($ffi, $options): void {
            // A text for C ends at its first NUL. What would follow must not be lost.
            $isCut = count($arguments) === 1 && is_string($arguments[0]) && str_contains($arguments[0], "\0");
            if ($isCut || $ffi->$function($options, ...$arguments) !== Library::VERIFIED) {
                throw new VerificationError(4, null, 'usage', 'host', "the option $name cannot be read");
            }
        };
        try {
            foreach ((array) $bundleIds as $id) {
                $set('bundleIds', 'asr_options_add_bundle_id', $id);
            }
            foreach ((array) $environments as $environment) {
                $set('environments', 'asr_options_add_environment', $environment);
            }
            foreach ((array) $roots as $root) {
                $set('roots', 'asr_options_add_roots', $root, strlen($root));
            }
            foreach ((array) $transactionReceiptIssuers as $issuer) {
                $set('transactionReceiptIssuers', 'asr_options_add_transaction_receipt_issuers', $issuer, strlen($issuer));
            }
            foreach ((array) $distrusted as $fingerprint) {
                $set('distrusted', 'asr_options_add_distrusted', $fingerprint);
            }
            if ($appAppleId !== null) {
                $set('appAppleId', 'asr_options_set_app_apple_id', $appAppleId);
            }
            if ($maximumAge !== null) {
                $set('maximumAge', 'asr_options_set_maximum_age', $maximumAge);
            }
            if ($validationDate !== null) {
                $set('validationDate', 'asr_options_set_validation_date', self::milliseconds($validationDate));
            }
            if ($clock !== null) {
                $set('clock', 'asr_options_set_clock', self::milliseconds($clock));
            }
            $set('storekitTesting', 'asr_options_set_storekit_testing', (int) $storekitTesting);
            $set('allowsRsa1024', 'asr_options_set_allows_rsa_1024', (int) $allowsRsa1024);
            $verifier = $ffi->new('asr_verifier *');
            $outcome = Library::call('asr_verifier_shared', $options, \FFI::addr($verifier));
        } finally {
            $ffi->asr_options_free($options);
        }
        if ($outcome[0] !== Library::VERIFIED) {
            throw new VerificationError(...$outcome);
        }
        $this->verifier = $verifier;
    }

    private static function milliseconds(DateTimeInterface|string $date): int
    {
        return match (true) {
            $date instanceof DateTimeInterface => $date->getTimestamp() * 1000 + (int) $date->format('v'),
            $date === 'now' => self::DATE_NOW,
            default => throw new VerificationError(4, null, 'usage', 'host', "the date $date cannot be read"),
        };
    }

    /** @throws VerificationError if the evidence is refused */
    public function verify(string $evidence, Form $form = Form::Full): Evidence
    {
        $outcome = Library::call('asr_verify', $this->verifier, $evidence, strlen($evidence), $form->value);
        return $outcome[0] === Library::VERIFIED ? new Evidence($outcome[1]) : throw new VerificationError(...$outcome);
    }

    /** The verdict on evidence that is verified or refused, as JSON; null with `Form::None`. */
    public function verdictJson(string $evidence, Form $form = Form::Full): ?string
    {
        return Library::call('asr_verify', $this->verifier, $evidence, strlen($evidence), $form->value)[1];
    }

    /** Whether evidence is verified: the fastest call, without JSON. */
    public function accepts(string $evidence): bool
    {
        $none = Form::None->value;
        return Library::call('asr_verify', $this->verifier, $evidence, strlen($evidence), $none)[0] === Library::VERIFIED;
    }

    /**
     * What one customer's evidence gives access to at a date.
     *
     * @param list<string> $evidence
     * @throws VerificationError if this host or the options are at fault
     */
    public function entitlements(array $evidence, DateTimeInterface|string $at = 'now'): Entitlements
    {
        $lengths = Library::ffi()->new('size_t[' . max(1, count($evidence)) . ']');
        foreach (array_values($evidence) as $index => $piece) {
            $lengths[$index] = strlen($piece);
        }
        $outcome = Library::call(
            'asr_entitlements', $this->verifier, implode('', $evidence), $lengths, count($evidence), self::milliseconds($at));
        if ($outcome[0] > Library::REFUSED) {
            throw new VerificationError(...$outcome);
        }
        return new Entitlements($outcome[1], self::errorOf($outcome));
    }

    /** The answer of verifyReceipt to a request's body, from the receipt alone. */
    public function answer(string $body, bool $latestReceiptInfo = false): Answer
    {
        $flags = $latestReceiptInfo ? self::FILL_LATEST_RECEIPT_INFO : 0;
        $outcome = Library::call('asr_answer', $this->verifier, $body, strlen($body), $flags);
        return new Answer($outcome[1], self::errorOf($outcome));
    }

    /** @return array<string, mixed> the numbers of inputs verified and refused in this process, for metrics */
    public function counts(): array
    {
        return json_decode(Library::counts($this->verifier), true, flags: JSON_THROW_ON_ERROR);
    }

    /** The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. */
    public static function decodeUnverified(string $evidence): string
    {
        $outcome = Library::call('asr_decode_unverified', $evidence, strlen($evidence));
        return $outcome[0] === Library::DECODED ? $outcome[1] : throw new VerificationError(...$outcome);
    }

    /** @param array{int, ?string, string, string} $outcome */
    private static function errorOf(array $outcome): ?VerificationError
    {
        return $outcome[0] === Library::VERIFIED ? null : new VerificationError(...$outcome);
    }
}
