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
                self::$ffi = FFI::load(dirname(__DIR__) . '/dist/appstorereceipt.h')
                    ?? throw new \RuntimeException('dist/appstorereceipt.h is missing: run build');
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
        $ffi = self::ffi();
        $status = $ffi->$function(
            ...$arguments, ...[FFI::addr(self::$json), FFI::addr(self::$length), FFI::addr(self::$error)]);
        return [
            $status, self::takeJson(self::$json, self::$length),
            FFI::string(self::$error->code), FFI::string(self::$error->category),
        ];
    }

    public static function counts(CData $verifier): ?string
    {
        self::ffi()->asr_counts($verifier, FFI::addr(self::$json), FFI::addr(self::$length));
        return self::takeJson(self::$json, self::$length);
    }

    private static function takeJson(CData $json, CData $length): ?string
    {
        if (FFI::isNull($json)) {
            return null;
        }
        try {
            return FFI::string($json, $length->cdata);
        } finally {
            self::ffi()->asr_free($json);
        }
    }
}
