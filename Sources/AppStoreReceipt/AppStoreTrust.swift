public import SignatureTrust

/// The certificates that a verifier trusts.
///
/// The trust decides which checks apply. Nothing in the evidence changes them.
public struct AppStoreTrust: Hashable, Sendable {
    /// The roots.
    package enum Base: Hashable, Sendable {
        case apple
        case roots([TrustAnchor])
        case storeKitTesting([TrustAnchor])
    }

    package let base: Base
    /// The intermediates that were added.
    package private(set) var addedIssuers: [TransactionReceiptIssuer] = []

    private init(_ base: Base) { self.base = base }

    /// The root certificates that Apple publishes (`TrustAnchor.appleRoots`). The certificates under them must have the
    /// marker extensions with which Apple marks its App Store signers.
    public static let apple = AppStoreTrust(.apple)

    /// Your own root certificates instead of Apple's, for tests. Their keys are RSA or elliptic-curve keys. The marker
    /// extensions are required, too. A certificate that is not self-signed is refused when the verifier is made:
    /// intermediates come with the evidence.
    ///
    /// - Parameter anchors: The certificates. Without one, no verifier is made: the code is `no-trust-anchor`.
    public static func roots(_ anchors: [TrustAnchor]) -> AppStoreTrust { AppStoreTrust(.roots(anchors)) }

    /// StoreKit Testing in Xcode. The signer's certificate itself must be one of these.
    ///
    /// Anyone who has Xcode can sign with its certificate. Therefore the verifier accepts only evidence from Xcode.
    ///
    /// - Parameter certificates: The certificates. Without one, no verifier is made: the code is `no-trust-anchor`.
    public static func storeKitTesting(_ certificates: [TrustAnchor]) -> AppStoreTrust {
        AppStoreTrust(.storeKitTesting(certificates))
    }

    /// Returns this trust with more intermediates for transaction receipts: one that Apple has published since this
    /// version of the library, or that of your own root.
    ///
    /// ```swift
    /// let trust = AppStoreTrust.apple.adding([try TransactionReceiptIssuer(der: certificate)])
    /// ```
    ///
    /// An intermediate is not a root: chains over it must end in a root of this trust.
    ///
    /// - Parameter issuers: The intermediates.
    public func adding(_ issuers: [TransactionReceiptIssuer]) -> AppStoreTrust {
        var trust = self
        trust.addedIssuers += issuers
        return trust
    }
}

extension AppStoreTrust {
    /// Whether the roots are Apple's.
    @_spi(Surfaces) public var isApple: Bool { base == .apple }

    /// The intermediates of transaction receipts: Apple's for Apple's roots, and those that were added.
    package var transactionReceiptIssuers: [TransactionReceiptIssuer] {
        isApple ? TransactionReceiptIssuer.apple + addedIssuers : addedIssuers
    }
}
