<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** What one transaction gives access to. */
final readonly class Entitlement
{
    public string $transactionId;
    public string $originalTransactionId;
    public string $productId;
    /** `active`, `owned`, `consumable`, or the reason it gives no access. */
    public string $access;
    public ?DateTimeImmutable $until;
    public int $quantity;
    public ?DateTimeImmutable $purchaseDate;
    public ?DateTimeImmutable $expiresDate;
    public ?string $appAccountToken;

    /** @param array<string, mixed> $members the members of the JSON */
    public function __construct(array $members)
    {
        $date = static fn (string $name) => isset($members[$name]) ? new DateTimeImmutable($members[$name]) : null;
        $this->transactionId = $members['transaction_id'];
        $this->originalTransactionId = $members['original_transaction_id'];
        $this->productId = $members['product_id'];
        $this->access = $members['access'];
        $this->until = $date('until');
        $this->quantity = $members['quantity'];
        $this->purchaseDate = $date('purchase_date');
        $this->expiresDate = $date('expires_date');
        $this->appAccountToken = $members['app_account_token'] ?? null;
    }

    public function givesAccess(): bool
    {
        return in_array($this->access, ['active', 'owned', 'consumable'], true);
    }
}
