<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** The default of an option: it is not set. `null` is a setting that was left empty, which is an error. */
enum Setting
{
    case Absent;
}
