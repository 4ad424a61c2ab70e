import Synchronization

/// Up to eight verification contexts of a key that are not in use.
///
/// One atomic exchange empties or fills a slot, and nothing waits. Therefore a child of `fork()` finds complete
/// contexts here, whatever the threads of its parent were doing. The child loses the contexts that those threads were
/// using.
@safe
struct IdleContexts: ~Copyable, Sendable {
    private static let count = 8
    private let slots: InlineArray<8, Atomic<Unmanaged<VerificationContext>?>>

    init() { unsafe slots = InlineArray { _ in unsafe Atomic(nil) } }

    deinit {
        for index in 0..<Self.count { unsafe slots[index].exchange(nil, ordering: .acquiring)?.release() }
    }

    /// Returns a context for an algorithm and a scheme. The caller owns it until ``keep(_:)``.
    func take(_ algorithm: DigestAlgorithm, _ scheme: SignatureScheme) -> VerificationContext? {
        for index in 0..<Self.count {
            // Most slots are empty. A load is cheaper than an exchange.
            guard unsafe slots[index].load(ordering: .relaxed) != nil,
                let context = unsafe slots[index].exchange(nil, ordering: .acquiring)?.takeRetainedValue()
            else { continue }
            if context.algorithm == algorithm, context.scheme == scheme { return context }
            keep(context)
        }
        return nil
    }

    /// Keeps a context. If all slots are taken, it replaces another.
    func keep(_ context: VerificationContext) {
        let kept = unsafe Unmanaged.passRetained(context)
        for index in 0..<Self.count where unsafe slots[index].load(ordering: .relaxed) == nil {
            let (isExchanged, _) = unsafe slots[index].compareExchange(
                expected: nil, desired: kept, ordering: .releasing)
            if isExchanged { return }
        }
        unsafe slots[0].exchange(kept, ordering: .acquiringAndReleasing)?.release()
    }
}
