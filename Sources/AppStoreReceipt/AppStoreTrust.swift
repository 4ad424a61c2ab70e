public import SignatureTrust

/// The certificates that a verifier trusts.
///
/// The trust decides which checks apply. Nothing in the evidence changes them.
public enum AppStoreTrust: Hashable, Sendable {
    /// The root certificates that Apple publishes (`TrustAnchor.appleRoots`). The certificates under them must have the marker extensions with which
    /// Apple marks its App Store signers.
    case apple
    /// Your own root certificates instead of Apple's, for tests. Their keys are RSA or elliptic-curve keys. The marker extensions are required,
    /// too. A certificate that is not self-signed is refused when the verifier is made: intermediates come with the evidence.
    case roots([TrustAnchor])
    /// StoreKit Testing in Xcode. The signer's certificate itself must be one of these.
    ///
    /// Anyone who has Xcode can sign with its certificate. Therefore the verifier accepts only evidence from Xcode.
    case storeKitTesting([TrustAnchor])
    /// Other trust, with more intermediates for transaction receipts: one that Apple has published since this version of the library, or that of your
    /// own root.
    ///
    /// ```swift
    /// let trust = AppStoreTrust.adding([try TransactionReceiptIssuer(der: certificate)], to: .apple)
    /// ```
    ///
    /// An intermediate is not a root: chains over it must end in a root of the other trust.
    indirect case adding([TransactionReceiptIssuer], to: AppStoreTrust)
}

extension AppStoreTrust {
    /// The trust without added intermediates.
    package var base: AppStoreTrust { if case .adding(_, let other) = self { other.base } else { self } }

    /// The intermediates that were added.
    var addedIssuers: [TransactionReceiptIssuer] {
        if case .adding(let issuers, let other) = self { other.addedIssuers + issuers } else { [] }
    }

    /// The intermediates of transaction receipts: Apple's for Apple's roots, and those that were added.
    package var transactionReceiptIssuers: [TransactionReceiptIssuer] {
        if case .apple = base { TransactionReceiptIssuer.apple + addedIssuers } else { addedIssuers }
    }
}
