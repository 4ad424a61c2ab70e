<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** A piece of evidence that was refused, by its place among those that were passed. */
final readonly class Refusal
{
    public function __construct(public int $index, public string $code, public string $category, public string $message)
    {
    }
}
