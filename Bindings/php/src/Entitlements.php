<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** What the evidence of one customer gives access to. Refused pieces give access to nothing; the others count. */
final readonly class Entitlements
{
    public DateTimeImmutable $at;
    /** @var list<Entitlement> */
    public array $items;
    /** @var list<Refusal> */
    public array $refused;

    /** @param ?VerificationError $error the error of the first piece that was refused */
    public function __construct(public string $json, public ?VerificationError $error)
    {
        $members = json_decode($json, true, flags: JSON_THROW_ON_ERROR);
        $this->at = new DateTimeImmutable($members['at']);
        $this->items = array_map(static fn (array $item) => new Entitlement($item), $members['items']);
        $this->refused = array_map(static fn (array $piece) => new Refusal($piece + $piece['error']), $members['refused']);
    }
}
