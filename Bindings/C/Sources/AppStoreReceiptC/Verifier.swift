@_spi(Surfaces) import AppStoreReceipt
import CAppStoreReceipt
import Synchronization

/// What `asr_verifier` points to.
///
/// It has no lock: all its state is the library's, or atomic.
final class Verifier: Sendable {
    let verifier: AppStoreVerifier
    /// The surface whose option names advice uses.
    let surface: Surface
    /// What the app states of its products.
    let productTypes: ProductCatalog
    /// Answers verifyReceipt: made for the first request, since most programs have none.
    private let responder = AtomicLazyReference<Responder>()
    /// Whether it belongs to the process and is never freed.
    let isShared: Bool

    init(_ settings: VerifierSettings, isShared: Bool) throws(VerificationError) {
        verifier = try AppStoreVerifier(policy: settings.verificationPolicy, trust: settings.trust)
        productTypes = ProductCatalog(settings.productTypes)
        surface = settings.surface
        self.isShared = isShared
    }

    /// Returns the responder with the policy and the trust of the verifier.
    func responder(fillsLatestReceiptInfo: Bool) throws(VerificationError) -> VerifyReceiptResponder {
        let made: Responder
        if let known = responder.load() {
            made = known
        } else {
            made = responder.storeIfNil(try Responder(verifier))
        }
        return made.responder.filling(latestReceiptInfo: fillsLatestReceiptInfo)
    }

    /// The counts of the verifier and of its responder.
    var counts: VerifierCounts {
        responder.load().map { verifier.counts + $0.responder.counts } ?? verifier.counts
    }

    /// The verifier of a pointer that ``asr_verifier_new`` or ``asr_verifier_shared`` returned.
    static func at(_ pointer: OpaquePointer?) -> Verifier? {
        guard let pointer = unsafe pointer else { return nil }
        return unsafe Unmanaged<Verifier>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
    }

    private final class Responder: Sendable {
        let responder: VerifyReceiptResponder

        init(_ verifier: AppStoreVerifier) throws(VerificationError) {
            responder = try VerifyReceiptResponder(policy: verifier.policy, trust: verifier.trust)
        }
    }
}

/// A verifier of the process, and the one that was made after it.
private final class SharedVerifier: Sendable {
    let meaning: VerifierSettings.Meaning
    let verifier: Verifier
    let next = AtomicLazyReference<SharedVerifier>()

    init(_ settings: VerifierSettings) throws(VerificationError) {
        meaning = settings.meaning
        verifier = try Verifier(settings, isShared: true)
    }

    static let first = AtomicLazyReference<SharedVerifier>()

    /// Returns the verifier with a configuration. Two threads that ask for a new one at
    /// the same time may each make one, and both get the one that is stored first.
    static func verifier(_ settings: VerifierSettings) throws(VerificationError) -> Verifier {
        let meaning = settings.meaning
        var current: SharedVerifier
        if let known = first.load() {
            current = known
        } else {
            current = first.storeIfNil(try SharedVerifier(settings))
        }
        while current.meaning != meaning {
            if let next = current.next.load() {
                current = next
            } else {
                current = current.next.storeIfNil(try SharedVerifier(settings))
            }
        }
        return current.verifier
    }
}

extension Library {
    static func verifierNew(
        _ options: OpaquePointer?, _ verifier: UnsafeMutablePointer<OpaquePointer?>?, _ outputs: Outputs
    ) -> asr_status {
        unsafe make(options, verifier, outputs) { (settings) throws(VerificationError) in
            unsafe Unmanaged.passRetained(try Verifier(settings, isShared: false))
        }
    }

    static func verifierShared(
        _ options: OpaquePointer?, _ verifier: UnsafeMutablePointer<OpaquePointer?>?, _ outputs: Outputs
    ) -> asr_status {
        unsafe make(options, verifier, outputs) { (settings) throws(VerificationError) in
            // The list keeps it.
            unsafe Unmanaged.passUnretained(try SharedVerifier.verifier(settings))
        }
    }

    private static func make(
        _ options: OpaquePointer?, _ verifier: UnsafeMutablePointer<OpaquePointer?>?, _ outputs: Outputs,
        _ make: (VerifierSettings) throws(VerificationError) -> Unmanaged<Verifier>
    ) -> asr_status {
        unsafe verifier?.pointee = nil
        guard let options = unsafe Options.at(options), !options.hasUnreadableValue, let verifier = unsafe verifier
        else { return outputs.usage() }
        do throws(VerificationError) {
            unsafe verifier.pointee = OpaquePointer(try make(options.settings).toOpaque())
            return Status.verified
        } catch {
            return outputs.refusal(error, for: options.settings.surface)
        }
    }

    static func verifierFree(_ verifier: OpaquePointer?) {
        guard let verifier = unsafe verifier else { return }
        let object = unsafe Unmanaged<Verifier>.fromOpaque(UnsafeRawPointer(verifier))
        guard unsafe !object._withUnsafeGuaranteedRef({ $0.isShared }) else { return }
        unsafe object.release()
    }

    static func counts(_ verifier: OpaquePointer?, _ outputs: Outputs) -> asr_status {
        guard let counts = unsafe Verifier.at(verifier)?.counts else { return outputs.usage() }
        // Codes are words, which need no escapes.
        let refused = counts.refused.sorted { $0.key.rawValue.utf8.lexicographicallyPrecedes($1.key.rawValue.utf8) }
            .map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return outputs.write(
            "{\"verified\":\(counts.verified),\"refused\":{\(refused)},\"chain_cache\":{\"hits\":\(counts.chainCacheHits),"
                + "\"misses\":\(counts.chainCacheMisses),\"evictions\":\(counts.chainCacheEvictions)}}", Status.verified
        )
    }
}
