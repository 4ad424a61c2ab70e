import Sampling
import Testing

/// Verifies while allocations of libcrypto fail. `Tests/OutOfMemoryTrial` is the process in which they do;
/// `scripts/measure/out-of-memory-table` tries all of them.
@Suite struct OutOfMemoryTests {
    /// What is verified, and the step between the allocations that are tried. A configuration has 13,000, a known
    /// signer's JWS 120.
    private static let subjects: [(name: String, step: Int)] = [
        ("configuration", 499), ("configuration-for-messages", 499), ("receipt", 97),
        ("receipt-of-a-known-signer", 1), ("jws", 197), ("jws-of-a-known-signer", 7), ("transaction-receipt", 97),
        ("message", 97), ("message-with-policies", 13),
    ]

    @Test(.timeLimit(.minutes(5)), arguments: Sampling.share(subjects, of: "failing-allocations"))
    func `memory that runs out in libcrypto is an error of the host, and never a forgery`(
        subject: String, step: Int
    ) throws {
        let (text, status) = try TrialProgram.run(
            "out-of-memory-trial", ["--step", String(step), subject])
        #expect(status == 0, "\(text)")
        let rows = text.split(separator: "\n").dropFirst(2).map { row in
            row.split(separator: "|").map { $0.drop { $0 == " " }.prefix { $0 != " " } }
        }
        #expect(rows.count == 4, "\(text)")
        for (index, row) in rows.enumerated() {
            try #require(row.count == 11, "\(text)")
            let (tries, verified, outOfMemory, other, unusable) = (row[2], row[3], row[4], row[5], row[7])
            // libcrypto does without some allocations of its initialization, and after the failure of others it lacks
            // algorithms or keys, for a call or for ever.
            let counts = try [verified, outOfMemory, unusable, other].map { try #require(Int($0)) }
            #expect(try counts.reduce(0, +) == #require(Int(tries)), "\(text)")
            if !subject.hasPrefix("configuration") { #expect(counts[2...] == [0, 0], "\(text)") }
            switch index {
            case 0: #expect(counts[0] > 0, "one that fails does no harm where the calls can be repeated\n\(text)")
            case 3: #expect(verified == tries, "memory that was found elsewhere is enough\n\(text)")
            default: #expect(counts[1] > 0, "\(text)")
            }
        }
    }
}
