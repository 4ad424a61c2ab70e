<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** What a verdict's JSON has: all contents, the kind and the trust, or there is no JSON. */
enum Form: int
{
    case Full = 0;
    case Brief = 1;
    case None = 2;
}
