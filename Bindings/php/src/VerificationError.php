<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** The reason that evidence was refused, or that a verifier could not be made. */
final class VerificationError extends \RuntimeException
{
    /** @var string A stable word such as `bundle-id-mismatch`; `usage` if an option cannot be read. PHP does not allow a type here. */
    public $code;
    public readonly string $advice;

    /**
     * @param int $status 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong
     * @param ?string $verdictJson the refusal as JSON
     * @param string $category who can correct the error: `client`, `forgery` or `host`
     */
    public function __construct(
        public readonly int $status, public readonly ?string $verdictJson, string $code, public readonly string $category,
        ?string $message = null,
    ) {
        $verdict = json_decode($verdictJson ?? '{}', true);
        // Of entitlements, the error is that of one of the pieces.
        $errors = array_column([$verdict, ...$verdict['refused'] ?? []], 'error', null);
        $details = array_column($errors, null, 'code')[$code] ?? [];
        parent::__construct($message ?? $details['message'] ?? $code);
        $this->code = $code;
        $this->advice = $details['advice'] ?? '';
    }

    /** @return array<string, mixed> what a session or a queue keeps. By default, PHP would keep a code only if it were a number */
    public function __serialize(): array
    {
        return [
            'status' => $this->status, 'verdictJson' => $this->verdictJson, 'code' => $this->code, 'category' => $this->category,
            'message' => $this->getMessage(),
        ];
    }

    /** @param array<string, mixed> $data */
    public function __unserialize(array $data): void
    {
        $this->__construct($data['status'], $data['verdictJson'], $data['code'], $data['category'], $data['message']);
    }

    /** The status to respond with: 400, 403 or 500. */
    public function httpStatus(): int
    {
        return ['client' => 400, 'forgery' => 403][$this->category] ?? 500;
    }
}
