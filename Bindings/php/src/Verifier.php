<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeInterface;
use FFI\CData;

/** Verifies evidence. Verifiers with equal options share their state in a process, also between requests. */
final class Verifier
{
    private const NO_JSON = 2;
    private const LATEST_RECEIPT_INFO = 16;

    private readonly CData $verifier;

    /**
     * Leave out what is not set: an empty text or list is an error, and never means every app or any age.
     *
     * @param string|list<string> $bundleId the apps to accept. Without any, compare the bundle id in the contents before you grant anything
     * @param string|list<string> $environments `production`, `sandbox`, `xcode`, `local-testing`
     * @param string $appAppleId the app's Apple id, a number. Notifications and real-time requests have it
     * @param string|list<string> $roots self-signed certificates in DER or PEM, trusted instead of Apple's
     * @param string|list<string> $transactionReceiptIssuers intermediate certificates for transaction receipts of iOS 3 to 6
     * @param bool $storekitTesting whether the roots are certificates of StoreKit Testing in Xcode
     * @param string|list<string> $distrusted SHA-256 of certificates in hexadecimal. What they have signed is refused
     * @param int $maximumAge the maximum age of evidence in seconds
     * @param DateTimeInterface|'now'|null $validationDate the date to validate certificates at. The default is the evidence's own
     * @param bool $allowsRsa1024 whether to accept transaction receipts of version 2, which have an RSA key of 1024 bits
     * @param ?DateTimeInterface $clock where the verifier's clock stands still, for tests
     *
     * @throws VerificationError if the options can accept nothing
     */
    public function __construct(
        string|array|Setting $bundleId = Setting::Absent,
        string|array $environments = 'production',
        string|Setting $appAppleId = Setting::Absent,
        string|array|Setting $roots = Setting::Absent,
        string|array|Setting $transactionReceiptIssuers = Setting::Absent,
        bool $storekitTesting = false,
        string|array|Setting $distrusted = Setting::Absent,
        int|Setting $maximumAge = Setting::Absent,
        DateTimeInterface|string|Setting $validationDate = Setting::Absent,
        bool $allowsRsa1024 = false,
        DateTimeInterface|Setting $clock = Setting::Absent,
    ) {
        // The library has errors for an empty id, and for no environment.
        $values = [
            'bundleId' => ['add_bundle_id', self::texts('bundleId', $bundleId, [''])],
            'environments' => ['add_environment', self::texts('environments', $environments, [])],
            'appAppleId' => ['set_app_apple_id', self::texts('appAppleId', $appAppleId)],
            'roots' => ['add_roots', self::files('roots', $roots)],
            'transactionReceiptIssuers' => [
                'add_transaction_receipt_issuers', self::files('transactionReceiptIssuers', $transactionReceiptIssuers)],
            'storekitTesting' => ['set_storekit_testing', [(int) $storekitTesting]],
            'distrusted' => ['add_distrusted', self::texts('distrusted', $distrusted)],
            'maximumAge' => ['set_maximum_age', $maximumAge === Setting::Absent ? [] : [$maximumAge]],
            'validationDate' => ['set_validation_date', self::dates('validationDate', $validationDate)],
            'allowsRsa1024' => ['set_allows_rsa_1024', [(int) $allowsRsa1024]],
            'clock' => ['set_clock', self::dates('clock', $clock)],
        ];
        $ffi = Library::ffi();
        $options = $ffi->asr_options_new();
        try {
            foreach ($values as $name => [$function, $elements]) {
                foreach ($elements as $element) {
                    if ($ffi->{"asr_options_$function"}($options, ...(array) $element) !== Library::VERIFIED) {
                        throw self::unreadable($name);
                    }
                }
            }
            $verifier = $ffi->new('asr_verifier *');
            self::json(Library::call('asr_verifier_shared', $options, \FFI::addr($verifier)));
        } finally {
            $ffi->asr_options_free($options);
        }
        $this->verifier = $verifier;
    }

    /** @throws VerificationError if the evidence is refused */
    public function verify(string $evidence): Evidence
    {
        return new Evidence(self::json($this->outcome($evidence, Form::Full->value)));
    }

    /** The verdict on evidence that is verified or refused, as JSON. */
    public function verdictJson(string $evidence, Form $form = Form::Full): string
    {
        return self::json($this->outcome($evidence, $form->value), Library::CONFIGURATION);
    }

    /** Whether evidence is verified: the fastest call, without JSON. */
    public function accepts(string $evidence): bool
    {
        return $this->outcome($evidence, self::NO_JSON)[0] === Library::VERIFIED;
    }

    /**
     * What one customer's evidence gives access to at a date.
     *
     * @param string|list<string> $evidence
     * @throws VerificationError if this host or the options are at fault
     */
    public function entitlements(string|array $evidence, DateTimeInterface|string $at = 'now'): Entitlements
    {
        $pieces = array_values((array) $evidence);
        $lengths = Library::ffi()->new('size_t[' . max(1, count($pieces)) . ']');
        foreach ($pieces as $index => $piece) {
            $lengths[$index] = strlen($piece);
        }
        $outcome = Library::call(
            'asr_entitlements', $this->verifier, implode('', $pieces), $lengths, count($pieces), self::milliseconds($at));
        return new Entitlements(self::json($outcome, Library::REFUSED), self::error($outcome));
    }

    /** The answer of verifyReceipt to a request's body, from the receipt alone. */
    public function answer(string $body, bool $latestReceiptInfo = false): Answer
    {
        $flags = $latestReceiptInfo ? self::LATEST_RECEIPT_INFO : 0;
        $outcome = Library::call('asr_answer', $this->verifier, $body, strlen($body), $flags);
        return new Answer(self::json($outcome, Library::CONFIGURATION), self::error($outcome));
    }

    /** @return array<string, mixed> the numbers of inputs verified and refused in this process, for metrics */
    public function counts(): array
    {
        return json_decode(Library::counts($this->verifier), true, flags: JSON_THROW_ON_ERROR);
    }

    /** The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. */
    public static function decodeUnverified(string $evidence): string
    {
        return self::json(Library::call('asr_decode_unverified', $evidence, strlen($evidence)));
    }

    /** The version of the library. */
    public static function version(): string
    {
        return Library::ffi()->asr_version();
    }

    /** @return array{int, ?string, string, string} */
    private function outcome(string $evidence, int $flags): array
    {
        return Library::call('asr_verify', $this->verifier, $evidence, strlen($evidence), $flags);
    }

    /** The JSON of an outcome, unless its status is greater, or there is no memory for its JSON. */
    private static function json(array $outcome, int $greatest = Library::VERIFIED): string
    {
        if ($outcome[0] > $greatest || $outcome[1] === null) {
            $error = self::error($outcome);
            if ($error !== null) {
                throw $error;
            }
        }
        return (string) $outcome[1];
    }

    private static function error(array $outcome): ?VerificationError
    {
        return in_array($outcome[0], [Library::VERIFIED, Library::DECODED], true) ? null : new VerificationError(...$outcome);
    }

    private static function milliseconds(DateTimeInterface|string $date): int
    {
        return match (true) {
            $date instanceof DateTimeInterface => $date->getTimestamp() * 1000 + (int) $date->format('v'),
            $date === 'now' => PHP_INT_MAX,
            default => throw self::usage("the date $date cannot be read"),
        };
    }

    /** @return list<string> */
    private static function texts(string $name, string|array|Setting $value, ?array $ifEmpty = null): array
    {
        if ($value === Setting::Absent) {
            return [];
        }
        $texts = array_values((array) $value);
        foreach ($texts as $text) {
            // A text for C ends at its first NUL. What would follow must not be lost.
            if (!is_string($text) || str_contains($text, "\0")) {
                throw self::unreadable($name);
            }
        }
        return $texts === [] ? $ifEmpty ?? throw self::unreadable($name) : $texts;
    }

    /** @return list<array{string, int}> files with their lengths */
    private static function files(string $name, string|array|Setting $value): array
    {
        if ($value === Setting::Absent) {
            return [];
        }
        $files = array_values((array) $value);
        return $files === [] ? throw self::unreadable($name) : array_map(
            static fn (mixed $file) => is_string($file) ? [$file, strlen($file)] : throw self::unreadable($name), $files);
    }

    /** @return list<int> */
    private static function dates(string $name, DateTimeInterface|string|Setting $value): array
    {
        return match (true) {
            $value === Setting::Absent => [],
            is_string($value) && $value !== 'now' => throw self::unreadable($name),
            default => [self::milliseconds($value)],
        };
    }

    private static function unreadable(string $name): VerificationError
    {
        return self::usage("the option $name cannot be read");
    }

    private static function usage(string $message): VerificationError
    {
        return new VerificationError(4, null, 'usage', 'host', $message);
    }
}
