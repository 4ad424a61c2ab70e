// Batches. Each piece is evidence that ``AppStoreVerifier/verify(_:)`` accepts.
extension AppStoreVerifier {
    /// Verifies many pieces of evidence on several threads, and calls `body` with the verdicts in the order of the
    /// pieces. It blocks its thread until all is done.
    ///
    /// ```swift
    /// verifier.forEachVerdict(on: lines) { verdict in
    ///     if case .success(.receipt(let receipt)) = verdict.result { … }
    /// }
    /// ```
    ///
    /// At most four pieces for each thread are in memory. When the method returns, all its threads have ended.
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence. The threads read them in turn.
    ///   - concurrency: The number of threads, at most 1024; by default one for each processor.
    ///   - body: A closure that is called with each verdict, on the caller's thread. If it throws an error, the work
    ///     ends.
    /// - Throws: The error that `body` throws.
    @available(*, noasync, message: "It blocks a thread that all tasks share. Use verdicts(on:).")
    public func forEachVerdict<Pieces: Sequence & Sendable, Failure: Error>(
        on pieces: Pieces, concurrency: Int? = nil, _ body: (BatchVerdict) throws(Failure) -> Void
    ) throws(Failure) where Pieces.Element: EvidenceSource & Sendable {
        try forEachVerdict(on: pieces, concurrency: concurrency, transform: { $0 }, body)
    }

    /// Verifies many pieces of evidence on several threads, transforms each verdict on the thread that verified it, and
    /// calls `body` with the results in the order of the pieces. It blocks its thread until all is done.
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence. The threads read them in turn.
    ///   - concurrency: The number of threads, at most 1024; by default one for each processor.
    ///   - transform: A closure that makes a result of a verdict, on the thread that verified the piece.
    ///   - body: A closure that is called with each result, on the caller's thread. If it throws an error, the work
    ///     ends.
    /// - Throws: The error that `body` throws.
    @available(*, noasync, message: "It blocks a thread that all tasks share. Use verdicts(on:).")
    public func forEachVerdict<Pieces: Sequence & Sendable, Output: Sendable, Failure: Error>(
        on pieces: Pieces, concurrency: Int? = nil, transform: @escaping @Sendable (BatchVerdict) -> Output,
        _ body: (Output) throws(Failure) -> Void
    ) throws(Failure) where Pieces.Element: EvidenceSource & Sendable {
        let results = BatchSequence(pieces, concurrency: concurrency) { transform(self.verdict(on: $0)) }.makeIterator()
        // libcrypto's exit handler does not expect threads that are still running.
        defer { results.end() }
        while let output = results.next() { try body(output) }
    }

    /// Verifies many pieces of evidence on threads of its own, transforms each verdict on the thread that verified it,
    /// and returns the results in the order of the pieces.
    ///
    /// ```swift
    /// for await verdict in verifier.verdicts(on: lines) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence. The threads read them in turn, and can block when they do.
    ///   - concurrency: The number of threads, at most 1024; by default one for each processor.
    ///   - transform: A closure that makes a result of a verdict; by default, the result is the verdict.
    /// - Returns: The results. Each iteration has its own threads, which have ended when the sequence ends. It ends
    ///   when the consumer's task is cancelled.
    public func verdicts<Pieces: Sequence & Sendable, Output: Sendable>(
        on pieces: Pieces, concurrency: Int? = nil,
        transform: @escaping @Sendable (BatchVerdict) -> Output = { (verdict: BatchVerdict) -> BatchVerdict in verdict }
    ) -> some AsyncSequence<Output, Never> & Sendable where Pieces.Element: EvidenceSource & Sendable {
        WaitingBatchSequence(
            BatchSequence(pieces, concurrency: concurrency) { transform(self.verdict(on: $0)) })
    }

    /// Verifies the pieces of evidence of an asynchronous sequence on threads of its own, transforms each verdict on
    /// the thread that verified it, and returns the results in the order of the pieces.
    ///
    /// ```swift
    /// for try await verdict in verifier.verdicts(on: messages) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence. If the sequence throws an error, the returned sequence throws it after the
    ///     results for the pieces before it.
    ///   - concurrency: The maximum number of pieces that are being verified, or are verified and not yet consumed, at
    ///     most 65,536; by default four for each processor.
    ///   - transform: A closure that makes a result of a verdict; by default, the result is the verdict.
    /// - Returns: The results, in the order of the pieces. Each iteration reads `pieces` ahead of the consumer, and a
    ///   result is available as soon as it and all before it are done. The sequence ends when the consumer's task is
    ///   cancelled, and reads nothing after its iterator is released.
    public func verdicts<Pieces: AsyncSequence & Sendable, Output: Sendable>(
        on pieces: Pieces, concurrency: Int? = nil,
        transform: @escaping @Sendable (BatchVerdict) -> Output = { (verdict: BatchVerdict) -> BatchVerdict in verdict }
    ) -> some AsyncSequence<Output, Pieces.Failure> & Sendable where Pieces.Element: EvidenceSource & Sendable {
        AsyncBatchSequence(pieces, concurrency: concurrency) { transform(self.verdict(on: $0)) }
    }

    /// Verifies one piece of evidence of a batch.
    package func verdict(on piece: some EvidenceSource) -> BatchVerdict {
        let received = ReceivedEvidence(piece, policy.limits, keepsOtherMembers: true)
        return piece._withEvidenceBytes { verdict(on: received, in: $0) }
    }

    /// Verifies one piece of evidence of a batch, and copies it only if it is a binary receipt.
    package func verdict(on piece: Span<UInt8>) -> BatchVerdict {
        verdict(on: ReceivedEvidence(copying: piece, policy.limits, keepsOtherMembers: true), in: piece)
    }

    private func verdict(on received: ReceivedEvidence, in piece: Span<UInt8>) -> BatchVerdict {
        let result = Result { () throws(VerificationError) in try verify(received, in: piece) }
        let isUnwrapped =
            switch result {
            case .success(let evidence): !evidence.layers.isEmpty
            case .failure(let error): !error.unwrapped.isEmpty
            }
        let members = isUnwrapped ? Unwrapper.otherMembers(of: received.otherMembers) : received.otherMembers
        return BatchVerdict(result, otherMembers: members)
    }
}
