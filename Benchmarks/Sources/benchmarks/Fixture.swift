import AppStoreReceipt
@_spi(Surfaces) import AppStoreReceiptTesting

/// The signers and verifiers for all receipts of a run.
final class Fixture {
    let authority: TestCertificateAuthority
    /// Knows the authority's chain from its first receipt on.
    private let warmVerifier: AppStoreVerifier
    /// Verifies only new chains, which would evict the known one from the other cache.
    private let coldVerifier: AppStoreVerifier
    /// Knows the authority's intermediate from the first chain on, and sees new leaves under it.
    private let newLeafVerifier: AppStoreVerifier
    let responder: VerifyReceiptResponder
    let baselines: Baselines
    private var chainCount: UInt32 = 0

    init() throws {
        authority = try TestCertificateAuthority()
        let trust = try AppStoreTrust.roots([authority.trustAnchor])
        warmVerifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
        coldVerifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
        newLeafVerifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
        responder = try VerifyReceiptResponder(answeringForEveryAppIn: [.production], trust: trust)
        baselines = try Baselines(leaf: authority.leaf.certificate, root: authority.root.certificate)
    }

    func verifier(for task: BenchmarkTask) -> AppStoreVerifier {
        switch task {
        case .verifyCold: coldVerifier
        case .verifyNewLeaf: newLeafVerifier
        default: warmVerifier
        }
    }

    /// An authority under the same root with a new leaf and, if requested, a new intermediate.
    func newChain(newIntermediate: Bool) throws -> TestCertificateAuthority {
        chainCount += 1
        let serial = (0..<4).map { UInt8(truncatingIfNeeded: chainCount >> UInt32(24 - 8 * $0)) }
        return try authority.renewed(serialNumber: serial, includingIntermediate: newIntermediate)
    }
}

enum BenchmarkError: Error {
    /// A baseline failed.
    case baseline
    /// A task gave a wrong result.
    case wrongResult(BenchmarkTask)
    case thresholds(String)
    case tooManyAllocations([String])
    case usage
}
