import AppStoreReceipt
@_spi(Surfaces) import AppStoreReceiptTesting

/// What all receipts of a run have in common: who signed them, and who verifies.
final class Fixture {
    let authority: TestCertificateAuthority
    /// Knows the authority's chain from its first receipt on.
    private let warmVerifier: AppStoreVerifier
    /// Sees new chains only, which would drive the known one out of the other's cache.
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

    /// An authority under the same root whose leaf nobody has seen before, and its intermediate neither if so asked.
    func newChain(newIntermediate: Bool) throws -> TestCertificateAuthority {
        chainCount += 1
        let serial = (0..<4).map { UInt8(truncatingIfNeeded: chainCount >> UInt32(24 - 8 * $0)) }
        return try authority.renewed(serialNumber: serial, includingIntermediate: newIntermediate)
    }
}

enum BenchmarkError: Error {
    /// libcrypto's own way failed.
    case baseline
    /// A task did not give the result that it must give.
    case wrongResult(BenchmarkTask)
    case thresholds(String)
    case tooManyAllocations([String])
    case usage
}
