<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** What a verdict's JSON has: all contents, or only the kind and the trust. */
enum Form: int
{
    case Full = Library::FULL;
    case Brief = Library::BRIEF;
}
