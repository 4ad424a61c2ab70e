<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use FFI\CData;

/** @internal A verifier of the library. Clones of a Verifier have the same one, so that it is freed once. */
final class Handle
{
    public function __construct(public ?CData $verifier, private readonly bool $isShared)
    {
    }

    public function __destruct()
    {
        if (!$this->isShared) {
            Library::ffi()->asr_verifier_free($this->verifier);
            // When the request ends, a destructor that still has the Verifier may run after this one. The library
            // refuses null.
            $this->verifier = null;
        }
    }
}
