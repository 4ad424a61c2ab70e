#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Measures how time grows with what an attacker can fill: `scripts/measure/growth-table` runs it.
//
//   growth-table RECEIPT [--all] [--thorough] [--sample N SEED] [WORD]...

guard CommandLine.arguments.count > 1 else {
    print("usage: growth-table RECEIPT [--all] [--thorough] [--sample N SEED] [WORD]...")
    exit(2)
}
exit(try GrowthTable.run(CommandLine.arguments[1], Array(CommandLine.arguments.dropFirst(2))))
