<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** What one transaction gives access to. */
final readonly class Entitlement
{
    /** @param array<string, mixed> $members all members of the JSON */
    public function __construct(
        public string $transactionId,
        public string $originalTransactionId,
        public string $productId,
        public string $access,
        public ?DateTimeImmutable $until,
        public int $quantity,
        public array $members,
    ) {
    }

    /** Whether the transaction gives access. */
    public function givesAccess(): bool
    {
        return in_array($this->access, ['active', 'owned', 'consumable'], true);
    }
}
