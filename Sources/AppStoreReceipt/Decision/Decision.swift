public import Instants

/// The evidence of one customer, verified piece by piece, and what it entitles to at a date.
///
/// ```swift
/// let decision = verifier.decision(on: pieces, at: .now)
/// for item in decision.entitlements.items { … }
/// for refusal in decision.refusals { log(refusal.index, refusal.error) }
/// ```
///
/// A piece that is refused gives access to nothing, and the others count. The command `receipt entitlements`, the HTTP
/// service and the packages of other languages answer with ``json``.
public struct Decision: Sendable {
    /// A piece of evidence that was refused.
    public struct Refusal: Sendable {
        /// The position of the piece, counted from 0.
        public let index: Int
        /// The reason.
        public let error: VerificationError
    }

    /// A piece of evidence, and its outcome.
    package struct Piece: Sendable {
        package enum Outcome: Sendable {
            case verified(VerifiedEvidence)
            case refused(VerificationError)
            /// It could not be read, such as a file that does not exist.
            case unreadable(message: String)
        }

        package let place: EvidencePlace
        package let outcome: Outcome

        package init(_ place: EvidencePlace, _ outcome: Outcome) {
            self.place = place
            self.outcome = outcome
        }
    }

    /// All pieces, in their order.
    package let pieces: [Piece]
    /// What the pieces that were verified entitle to, taken together. It has the date of the decision, the items and
    /// the subscriptions with their renewals.
    public let entitlements: Entitlements

    /// - Parameters:
    ///   - pieces: The pieces of one customer.
    ///   - date: The date to decide for.
    ///   - productTypes: The types of products by their ids, for purchases whose evidence does not say the type. It
    ///     also says how long a non-renewing subscription lasts.
    package init(_ pieces: [Piece], at date: Instant, productTypes: ProductCatalog = [:]) {
        self.pieces = pieces
        entitlements = Entitlements(
            pieces.compactMap(\.evidence), at: date, productTypes: productTypes)
    }

    /// The pieces that were verified, in their order.
    public var evidence: [VerifiedEvidence] { pieces.compactMap(\.evidence) }

    /// The pieces that were refused, in their order.
    public var refusals: [Refusal] {
        pieces.enumerated().compactMap { index, piece in
            guard case .refused(let error) = piece.outcome else { return nil }
            return Refusal(index: index, error: error)
        }
    }

    /// The refusal of the worst category, the first of several: ``VerificationError/Category/host``, then
    /// ``VerificationError/Category/forgery``, then ``VerificationError/Category/client``; `nil` if no piece was
    /// refused.
    ///
    /// Only a fault of the host itself (``VerificationError/isHostFault``) counts as `host`. Nothing is then known
    /// about that piece: decide again. If Apple signed something that this version cannot read, only that piece is
    /// refused, with category `client`.
    public var worstRefusal: Refusal? {
        refusals.reduce(nil) { worst, refusal in
            guard let worst, refusal.error.statusAmongOthers <= worst.error.statusAmongOthers else { return refusal }
            return worst
        }
    }

    /// The status for the HTTP response: that of ``worstRefusal``, or 200.
    public var httpStatus: Int { worstRefusal?.error.statusAmongOthers ?? 200 }
}

extension AppStoreVerifier {
    /// Verifies the evidence of one customer, piece by piece, and decides what it entitles to at a date.
    ///
    /// - Parameters:
    ///   - pieces: The pieces of evidence, of any kind and in any order. There is no limit: set your own if customers
    ///     choose how much they send.
    ///   - date: The date to decide for; by default, the present by the policy's clock.
    ///   - productTypes: The types of products, for purchases whose evidence does not say the type. It also says how
    ///     long a non-renewing subscription lasts.
    public func decision(
        on pieces: some Sequence<some EvidenceSource>, at date: Instant? = nil, productTypes: ProductCatalog = [:]
    ) -> Decision {
        let pieces = pieces.enumerated().map { index, piece in
            Decision.Piece(.index(index), Decision.Piece.Outcome(verifying: piece, by: self))
        }
        return Decision(pieces, at: date ?? policy.clock(), productTypes: productTypes)
    }

    /// Verifies the evidence of one customer, and decides what it entitles to in the environment that is named, or in
    /// the only one that the policy accepts.
    @_spi(Surfaces) public func decision(
        on pieces: some Sequence<some EvidenceSource>, inEnvironment environment: AppStoreEnvironment?,
        at date: Instant? = nil, productTypes: ProductCatalog = [:]
    ) throws(VerificationError) -> Decision {
        guard let environment else {
            guard policy.acceptedEnvironments.count <= 1 else { throw .configuration(.environmentNotNamed) }
            return decision(on: pieces, at: date, productTypes: productTypes)
        }
        return decision(on: pieces, in: environment, at: date, productTypes: productTypes)
    }

    func decision(
        on pieces: some Sequence<some EvidenceSource>, in environment: AppStoreEnvironment, at date: Instant? = nil,
        productTypes: ProductCatalog = [:]
    ) -> Decision {
        let pieces = pieces.enumerated().map { index, piece in
            let outcome = Decision.Piece.Outcome(verifying: piece, by: self)
            return Decision.Piece(.index(index), outcome.within(environment))
        }
        return Decision(pieces, at: date ?? policy.clock(), productTypes: productTypes)
    }
}

extension Decision.Piece {
    var evidence: VerifiedEvidence? { if case .verified(let evidence) = outcome { evidence } else { nil } }
}

extension Decision.Piece.Outcome {
    package init(verifying piece: some EvidenceSource, by verifier: AppStoreVerifier) {
        do throws(VerificationError) {
            self = .verified(try verifier.verify(piece))
        } catch {
            self = .refused(error)
        }
    }

    /// The outcome in one environment. Evidence from another environment is refused, and so are purchases and renewals
    /// that name none.
    fileprivate func within(_ environment: AppStoreEnvironment) -> Self {
        guard case .verified(let evidence) = self, evidence.environment != environment else { return self }
        guard let found = evidence.environment else {
            guard evidence.hasSignedPurchases || !evidence.renewals.isEmpty else { return self }
            return .refused(.policy(.missingEnvironment, expected: environment.rawValue))
        }
        return .refused(.policy(.environmentMismatch, found: found.rawValue, expected: environment.rawValue))
    }
}

extension VerificationError {
    fileprivate var statusAmongOthers: Int { fault.party.categoryAmongOthers.httpStatus }
}

/// More pieces of evidence than a surface takes at once: see ``Entitlements/maximumEvidenceCount``.
@_spi(Surfaces) public struct TooMuchEvidence: Error {
    public static var fault: Fault { SurfaceFault.tooMuchEvidence.fault }

    /// Checks a number of pieces, also while they are being read.
    public static func check(pieceCount: Int) throws(TooMuchEvidence) {
        guard pieceCount <= Entitlements.maximumEvidenceCount else { throw TooMuchEvidence() }
    }
}
