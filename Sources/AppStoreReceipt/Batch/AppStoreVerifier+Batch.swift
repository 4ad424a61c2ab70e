// Many pieces of evidence at once, each in a form that ``AppStoreVerifier/verify(_:)-([UInt8])`` takes.
extension AppStoreVerifier {
    /// Verifies many pieces of evidence on several threads, and calls `body` with the verdicts in the order of the pieces.
    ///
    /// ```swift
    /// verifier.verifyAll(lines) { verdict in
    ///     if case .success(.receipt(let receipt)) = verdict.result { … }
    /// }
    /// ```
    ///
    /// At most four pieces for each thread are in memory. All threads have ended when the function returns.
    ///
    /// - Parameters:
    ///   - pieces: read in turn by the threads that verify.
    ///   - concurrency: the number of threads; one for each processor unless given, at most 1024.
    ///   - body: called by the caller's thread. An error that it throws ends the work.
    public func verifyAll<Pieces: Sequence<[UInt8]> & Sendable, Failure: Error>(
        _ pieces: Pieces, concurrency: Int? = nil, _ body: (BatchVerdict) throws(Failure) -> Void
    ) throws(Failure) {
        try verifyAll(pieces, concurrency: concurrency, transform: { $0 }, body)
    }

    /// Verifies many pieces of evidence on several threads, transforms each verdict on the thread that verified it, and calls `body` with the
    /// results in the order of the pieces.
    ///
    /// - Parameters:
    ///   - pieces: read in turn by the threads that verify.
    ///   - concurrency: the number of threads; one for each processor unless given, at most 1024.
    ///   - transform: the work on a verdict.
    ///   - body: called by the caller's thread. An error that it throws ends the work.
    public func verifyAll<Pieces: Sequence<[UInt8]> & Sendable, Output: Sendable, Failure: Error>(
        _ pieces: Pieces, concurrency: Int? = nil, transform: @escaping @Sendable (BatchVerdict) -> Output,
        _ body: (Output) throws(Failure) -> Void
    ) throws(Failure) {
        let results = BatchSequence(pieces, concurrency: concurrency) { transform(self.verdict(on: $0)) }.makeIterator()
        // libcrypto's exit handler does not expect threads that are still running.
        defer { results.end() }
        while let output = results.next() { try body(output) }
    }

    /// Verifies the pieces of evidence of an asynchronous sequence on all processors, and gives the verdicts in their order.
    ///
    /// ```swift
    /// for try await verdict in verifier.verifyAll(messages) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: its error ends the sequence, after the verdicts on all pieces before it.
    ///   - concurrency: how many pieces may be under way, or verified and not yet taken; four for each processor unless given, at most
    ///     65,536.
    public func verifyAll<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces, concurrency: Int? = nil
    ) -> AsyncBatchSequence<Pieces, BatchVerdict> where Pieces.Element == [UInt8] {
        verifyAll(pieces, concurrency: concurrency) { $0 }
    }

    /// Verifies the pieces of evidence of an asynchronous sequence, and does more with each verdict on the thread that has verified it.
    ///
    /// - Parameters:
    ///   - pieces: its error ends the sequence, after the results for all pieces before it.
    ///   - concurrency: how many pieces may be under way, or verified and not yet taken; four for each processor unless given, at most
    ///     65,536.
    ///   - transform: the work on a verdict, whose result the sequence gives in place of it.
    public func verifyAll<Pieces: AsyncSequence & Sendable, Output: Sendable>(
        _ pieces: Pieces, concurrency: Int? = nil, transform: @escaping @Sendable (BatchVerdict) -> Output
    ) -> AsyncBatchSequence<Pieces, Output> where Pieces.Element == [UInt8] {
        AsyncBatchSequence(pieces, concurrency: concurrency) { transform(self.verdict(on: $0)) }
    }

    /// Verifies one of many pieces of evidence.
    package func verdict(on piece: [UInt8]) -> BatchVerdict {
        verdict(on: piece.span) { piece }
    }

    /// Verifies one of many pieces of evidence, which is copied only if it is a receipt.
    package func verdict(on piece: Span<UInt8>) -> BatchVerdict {
        verdict(on: piece) { [UInt8](copying: piece) }
    }

    private func verdict(on piece: Span<UInt8>, _ bytes: () -> [UInt8]) -> BatchVerdict {
        var otherMembers: [UInt8] = []
        let result = Result { () throws(VerificationError) in
            try counters.counting { () throws(VerificationError) -> VerifiedEvidence in
                try verifyUncounted(piece, binary: bytes) { (start) throws(VerificationError) in
                    let object = try EvidenceObject(piece, from: start, keepsOtherMembers: true)
                    otherMembers = object.otherMembers
                    return object
                }
            }
        }
        return BatchVerdict(result, otherMembers: otherMembers)
    }
}
