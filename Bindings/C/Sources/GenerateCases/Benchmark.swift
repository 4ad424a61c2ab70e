import AppStoreReceipt

/// Prints what `verify` costs, as the C benchmark measures a call: the least of several rounds.
func printBenchmark(_ file: [UInt8], root: [UInt8]) throws {
    let verifier = try AppStoreVerifier(
        policy: VerificationPolicy(bundleIDs: nil, environments: [.production]), trust: .roots([TrustAnchor(der: root)])
    )
    var least = Duration.seconds(1)
    for _ in 0..<20 {
        let time = try ContinuousClock().measure { for _ in 0..<500 { _ = try verifier.verify(file) } }
        least = min(least, time / 500)
    }
    let tenths = least.components.attoseconds / 100_000_000_000
    print("verify, from Swift         \(tenths / 10).\(tenths % 10) µs")
}
