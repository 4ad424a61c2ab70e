<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** Evidence that was verified. */
final readonly class Evidence
{
    /** A notification's signed parts are members too. */
    private const KINDS = [
        'receipt', 'notification', 'transaction', 'renewal_info', 'app_transaction', 'realtime_request', 'transaction_receipt',
    ];

    /** @param ?string $verdictJson the verdict, to store; null with `Form::None` */
    public function __construct(public ?string $verdictJson)
    {
    }

    /** @return array<string, mixed> the whole verdict; a notification's signed parts are its members `transaction` and `renewal_info` */
    public function verdict(): array
    {
        return json_decode($this->verdictJson ?? '{}', true, flags: JSON_THROW_ON_ERROR);
    }

    /** The name of the member that has the contents: `receipt`, `transaction`, `notification`, … */
    public function kind(): ?string
    {
        return self::kindOf($this->verdict());
    }

    /** @param array<string, mixed> $verdict */
    private static function kindOf(array $verdict): ?string
    {
        if (isset($verdict['kind'])) {
            return $verdict['kind'];
        }
        foreach (self::KINDS as $kind) {
            if (isset($verdict[$kind])) {
                return $kind;
            }
        }
        return null;
    }

    /** @return ?array<string, mixed> the member that `kind()` names; null with `Form::Brief` */
    public function contents(): ?array
    {
        $verdict = $this->verdict();
        return $verdict[self::kindOf($verdict)] ?? null;
    }

    public function trust(): ?Trust
    {
        $trust = $this->verdict()['trust'] ?? null;
        return $trust === null ? null : new Trust(
            $trust['authority'], $trust['anchor'], $trust['signer'], new DateTimeImmutable($trust['signer_expires']),
            $trust['digest'], new DateTimeImmutable($trust['validated_at']));
    }
}
