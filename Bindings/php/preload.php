<?php

declare(strict_types=1);

// For opcache.preload: FFI is open to preloaded classes only, unless ffi.enable is on for all code.
foreach (glob(__DIR__ . '/src/*.php') as $file) {
    require_once $file;
}
