<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** What the evidence of one customer gives access to. */
final readonly class Entitlements
{
    public DateTimeImmutable $at;
    /** @var list<Entitlement> */
    public array $items;
    /** @var list<array{index: int, error: array<string, mixed>}> the pieces that were refused: they give access to nothing */
    public array $refused;

    /** @param ?VerificationError $error the error of the first piece that was refused */
    public function __construct(public string $json, public ?VerificationError $error)
    {
        $decoded = json_decode($json, true, flags: JSON_THROW_ON_ERROR);
        $this->at = new DateTimeImmutable($decoded['at']);
        $this->items = array_map(static fn (array $item) => new Entitlement(
            $item['transaction_id'], $item['original_transaction_id'], $item['product_id'], $item['access'],
            $item['until'] === null ? null : new DateTimeImmutable($item['until']), $item['quantity'], $item,
        ), $decoded['items']);
        $this->refused = $decoded['refused'];
    }
}
