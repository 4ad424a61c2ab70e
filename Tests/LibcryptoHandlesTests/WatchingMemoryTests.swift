import CLibcryptoShims
import Testing

@testable import LibcryptoHandles

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

struct WatchingMemoryTests {
    private typealias Run = (isShort: Bool, fault: LibcryptoError.Kind?)

    /// The number of the run that counted, or why none did.
    private func outcome(_ runs: [Run]) -> Result<Int, LibcryptoError> {
        var count = 0
        return Result { () throws(LibcryptoError) in
            try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
                let run = runs[count]
                count += 1
                let error = run.fault.map { LibcryptoError($0) }
                if run.isShort { receipt_set_errno(ENOMEM) }
                if let error { throw error }
                return count
            }
        }
    }

    @Test func `calls that lacked memory are repeated, whatever came of them, and three times is enough`() {
        let short: Run = (true, nil)
        let misled: Run = (true, .malformedKey)
        let rows: [(runs: [Run], count: Int?, fault: LibcryptoError.Kind?)] = [
            ([(false, nil)], 1, nil), ([short, (false, nil)], 2, nil), ([short, short, (false, nil)], 3, nil),
            ([misled, (false, nil)], 2, nil), ([misled, misled, (false, nil)], 3, nil),
            ([(false, .malformedKey)], nil, .malformedKey), ([misled, (false, .malformedKey)], nil, .malformedKey),
            ([short, short, short], nil, .allocationFailed), ([misled, misled, misled], nil, .allocationFailed),
            // What libcrypto could not load without memory, it may keep as missing.
            ([(false, .operationFailed)], nil, .operationFailed),
            ([short, (false, .operationFailed)], nil, .allocationFailed),
            ([short, (false, .algorithmUnavailable)], nil, .allocationFailed),
        ]
        for (index, row) in rows.enumerated() {
            switch outcome(row.runs) {
            case .success(let count): #expect(count == row.count, "row \(index)")
            case .failure(let error): #expect(error.kind == row.fault, "row \(index)")
            }
        }
    }
}
