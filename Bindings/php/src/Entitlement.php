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
    /** Whether the product may be used at the date. A consumable gives no access that lasts. */
    public bool $givesAccess;
    /** Whether the transaction can be granted, once: it gives access, or is a consumable with a quantity of at least 1. */
    public bool $grantable;
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
        $this->givesAccess = $members['gives_access'];
        $this->grantable = $members['grantable'];
        $this->until = $date('until');
        $this->quantity = $members['quantity'];
        $this->purchaseDate = $date('purchase_date');
        $this->expiresDate = $date('expires_date');
        $this->appAccountToken = $members['app_account_token'] ?? null;
    }
}
