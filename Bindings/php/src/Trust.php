<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** Who signed the evidence. The fingerprints are SHA-256 in hexadecimal. */
final readonly class Trust
{
    public string $authority;
    public string $anchor;
    public string $signer;
    public DateTimeImmutable $signerExpires;
    public string $digest;
    public DateTimeImmutable $validatedAt;

    /** @param array<string, string> $members the members of the JSON */
    public function __construct(array $members)
    {
        ['authority' => $this->authority, 'anchor' => $this->anchor, 'signer' => $this->signer, 'digest' => $this->digest] = $members;
        $this->signerExpires = new DateTimeImmutable($members['signer_expires']);
        $this->validatedAt = new DateTimeImmutable($members['validated_at']);
    }
}
