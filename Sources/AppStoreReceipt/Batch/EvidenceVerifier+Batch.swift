// Many pieces of evidence at once, each in a form that ``EvidenceVerifier/verify(anyEvidence:)-([UInt8])`` takes.
extension EvidenceVerifier {
    /// Verifies many pieces of evidence on several threads, and gives the verdicts in the order of the pieces.
    ///
    /// ```swift
    /// for verdict in verifier.verifyAll(lines) {
    ///     if case .success(.receipt(let receipt)) = verdict.result { … }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: read in turn by the threads that verify; nothing of it is kept once its verdict was taken.
    ///   - jobs: how many threads verify; one for each processor when left out, at most 1024.
    public func verifyAll<Pieces: Sequence<[UInt8]> & Sendable>(
        _ pieces: Pieces, jobs: Int? = nil
    ) -> BatchSequence<Pieces, BatchVerdict> {
        verifyAll(pieces, jobs: jobs) { $0 }
    }

    /// Verifies many pieces of evidence, and does more with each verdict on the thread that has verified it.
    ///
    /// - Parameters:
    ///   - pieces: read in turn by the threads that verify.
    ///   - jobs: how many threads verify; one for each processor when left out, at most 1024.
    ///   - transform: the work on a verdict, whose result the sequence gives in place of it.
    public func verifyAll<Pieces: Sequence<[UInt8]> & Sendable, Output: Sendable>(
        _ pieces: Pieces, jobs: Int? = nil, transform: @escaping @Sendable (BatchVerdict) -> Output
    ) -> BatchSequence<Pieces, Output> {
        BatchSequence(pieces, jobs: jobs) { transform(verdict(on: $0)) }
    }

    /// Verifies the pieces of evidence of an asynchronous sequence on all processors, and gives the verdicts in their order.
    ///
    /// ```swift
    /// for try await verdict in verifier.verifyAll(messages) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: its error ends the sequence, after the verdicts on all pieces before it.
    ///   - window: how many pieces may be under way, or verified and not yet taken; four for each processor when left out, at most
    ///     65,536.
    public func verifyAll<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces, window: Int? = nil
    ) -> AsyncBatchSequence<Pieces, BatchVerdict> where Pieces.Element == [UInt8] {
        verifyAll(pieces, window: window) { $0 }
    }

    /// Verifies the pieces of evidence of an asynchronous sequence, and does more with each verdict on the thread that has verified it.
    ///
    /// - Parameters:
    ///   - pieces: its error ends the sequence, after the results for all pieces before it.
    ///   - window: how many pieces may be under way, or verified and not yet taken; four for each processor when left out, at most
    ///     65,536.
    ///   - transform: the work on a verdict, whose result the sequence gives in place of it.
    public func verifyAll<Pieces: AsyncSequence & Sendable, Output: Sendable>(
        _ pieces: Pieces, window: Int? = nil, transform: @escaping @Sendable (BatchVerdict) -> Output
    ) -> AsyncBatchSequence<Pieces, Output> where Pieces.Element == [UInt8] {
        AsyncBatchSequence(pieces, window: window) { transform(verdict(on: $0)) }
    }

    /// Verifies one of many pieces of evidence.
    package func verdict(on piece: [UInt8]) -> BatchVerdict {
        guard let start = ReceiptInput.startOfObject(in: piece.span) else {
            return BatchVerdict(Result { () throws(EvidenceError) in try verify(anyEvidence: piece) })
        }
        return verdict(onObject: piece.span, from: start)
    }

    /// Verifies one of many pieces of evidence, which is not copied if it is an object.
    package func verdict(on piece: Span<UInt8>) -> BatchVerdict {
        guard let start = ReceiptInput.startOfObject(in: piece) else { return verdict(on: [UInt8](copying: piece)) }
        return verdict(onObject: piece, from: start)
    }

    private func verdict(onObject piece: Span<UInt8>, from start: Int) -> BatchVerdict {
        let object: EvidenceObject
        do throws(EvidenceError) {
            object = try readObject(piece, from: start, keepsOtherMembers: true)
        } catch {
            return BatchVerdict(.failure(error))
        }
        let result = Result { () throws(EvidenceError) in try verify(object, in: piece, from: start) }
        return BatchVerdict(result, otherMembers: object.otherMembers)
    }
}
