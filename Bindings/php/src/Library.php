<?php

declare(strict_types=1);

namespace AppStoreReceipt;

use FFI;
use FFI\CData;

/** @internal The functions of appstorereceipt.h. */
final class Library
{
    public const VERIFIED = 0;
    public const REFUSED = 1;
    public const CONFIGURATION = 3;
    public const DECODED = 5;

    private static ?FFI $ffi = null;
    private static CData $json;
    private static CData $length;
    private static CData $error;

    public static function ffi(): FFI
    {
        if (self::$ffi === null) {
            try {
                self::$ffi = FFI::scope('AppStoreReceipt');
            } catch (FFI\Exception) {
                // Without ffi.preload, as on the command line.
                $header = @file_get_contents(dirname(__DIR__) . '/dist/appstorereceipt.h')
                    ?: throw new \RuntimeException('dist/appstorereceipt.h is missing: run build');
                self::$ffi = FFI::cdef($header, dirname(__DIR__) . '/dist/libappstorereceipt.so.1');
            }
            self::$json = self::$ffi->new('char *');
            self::$length = self::$ffi->new('size_t');
            self::$error = self::$ffi->new('asr_error');
        }
        return self::$ffi;
    }

    /**
     * Calls a function whose last parameters are json, json_length and error.
     *
     * @return array{int, ?string, string, string} the status, the JSON, the code and the category
     */
    public static function call(string $function, mixed ...$arguments): array
    {
        self::ffi();
        $outputs = [FFI::addr(self::$json), FFI::addr(self::$length), FFI::addr(self::$error)];
        $status = self::$ffi->$function(...$arguments, ...$outputs);
        return [$status, self::takeJson(), FFI::string(self::$error->code), FFI::string(self::$error->category)];
    }

    public static function counts(CData $verifier): string
    {
        self::$ffi->asr_counts($verifier, FFI::addr(self::$json), FFI::addr(self::$length));
        return (string) self::takeJson();
    }

    private static function takeJson(): ?string
    {
        if (FFI::isNull(self::$json)) {
            return null;
        }
        try {
            return FFI::string(self::$json, self::$length->cdata);
        } finally {
            self::$ffi->asr_free(self::$json);
        }
    }
}
