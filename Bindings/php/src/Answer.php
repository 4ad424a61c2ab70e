<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** An answer of verifyReceipt. */
final readonly class Answer
{
    /**
     * @param string $json the body of the response, which Apple sends with HTTP status 200
     * @param ?VerificationError $error the reason of an answer without a receipt
     */
    public function __construct(public string $json, public ?VerificationError $error)
    {
    }
}
