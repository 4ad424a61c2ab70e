<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** The reason that evidence was refused, or that a verifier could not be made. */
final class VerificationError extends \RuntimeException
{
    /** @var string A stable word such as `bundle-id-mismatch`. PHP does not allow a type here. */
    public $code;
    public readonly string $advice;

    /**
     * @param int $status 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong
     * @param string $category who can correct the error: `client`, `forgery` or `host`
     * @param ?string $verdictJson the refusal as JSON
     */
    public function __construct(
        public readonly int $status,
        public readonly ?string $verdictJson,
        string $code,
        public readonly string $category,
        ?string $message = null,
    ) {
        $decoded = json_decode($verdictJson ?? 'null', true);
        $error = $decoded['error'] ?? $decoded['refused'][0]['error'] ?? [];
        parent::__construct($message ?? $error['message'] ?? $code);
        $this->code = $code;
        $this->advice = $error['advice'] ?? '';
    }

    /** The status to respond with: 400, 403 or 500. */
    public function httpStatus(): int
    {
        return ['client' => 400, 'forgery' => 403][$this->category] ?? 500;
    }
}
