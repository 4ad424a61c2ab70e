<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use DateTimeImmutable;

/** Who signed the evidence. The fingerprints are SHA-256 in hexadecimal. */
final readonly class Trust
{
    public function __construct(
        public string $authority,
        public string $anchor,
        public string $signer,
        public DateTimeImmutable $signerExpires,
        public string $digest,
        public DateTimeImmutable $validatedAt,
    ) {
    }
}
