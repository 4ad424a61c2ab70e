<?php

declare(strict_types=1);

namespace AppStoreReceipt;

/** Evidence that was verified. The JSON can be large, and is decoded when a method is called. */
final readonly class Evidence
{
    /** @param string $verdictJson the verdict, to store */
    public function __construct(public string $verdictJson)
    {
    }

    /** @return array<string, mixed> the whole verdict; a notification's signed parts are its members `transaction` and `renewal_info` */
    public function verdict(): array
    {
        return json_decode($this->verdictJson, true, flags: JSON_THROW_ON_ERROR);
    }

    /** The name of the member that has the contents: `receipt`, `transaction`, `notification`, … */
    public function kind(): string
    {
        return self::kindOf($this->verdict());
    }

    /** @return array<string, mixed> the member that `kind()` names */
    public function contents(): array
    {
        $verdict = $this->verdict();
        return $verdict[self::kindOf($verdict)];
    }

    public function trust(): Trust
    {
        return new Trust($this->verdict()['trust']);
    }

    /** @param array<string, mixed> $verdict */
    private static function kindOf(array $verdict): string
    {
        $names = array_keys($verdict);
        return $names[array_search('trust', $names, true) + 1];
    }
}
