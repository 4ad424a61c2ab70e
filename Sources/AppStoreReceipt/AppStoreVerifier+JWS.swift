extension AppStoreVerifier {
    /// Verifies a JWS of any kind.
    ///
    /// To accept one kind only, use the method for that kind.
    ///
    /// - Parameter jws: A JWS in its compact form.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the JWS was refused. The code for a payload of an unknown kind is `missing-member`.
    public func verifyJWS(_ jws: String) throws(VerificationError) -> VerifiedEvidence {
        try verifyJWS(jws.utf8Span.span)
    }

    /// Verifies a JWS of any kind, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: What the method for a string throws.
    public func verifyJWS(_ jws: [UInt8]) throws(VerificationError) -> VerifiedEvidence {
        try verifyJWS(jws.span)
    }

    /// Verifies a transaction.
    ///
    /// A transaction that Apple has revoked is genuine, too. ``Entitlements`` decides what it grants.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<Transaction>` on a device, or `signedTransactionInfo` on a server.
    /// - Returns: The verified transaction.
    /// - Throws: The reason the transaction was refused. The code for a JWS of another kind is `missing-member`.
    public func verifyTransaction(_ jws: String) throws(VerificationError) -> Verified<TransactionInfo> {
        try verifyTransaction(jws.utf8Span.span)
    }

    /// Verifies a transaction, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified transaction.
    /// - Throws: What the method for a string throws.
    public func verifyTransaction(_ jws: [UInt8]) throws(VerificationError) -> Verified<TransactionInfo> {
        try verifyTransaction(jws.span)
    }

    /// Verifies renewal information.
    ///
    /// Renewal information has no bundle id. See ``RenewalInfo``.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<RenewalInfo>` on a device, or `signedRenewalInfo` on a server.
    /// - Returns: The verified renewal information.
    /// - Throws: The reason the renewal information was refused. The code for a JWS of another kind is `missing-member`.
    public func verifyRenewalInfo(_ jws: String) throws(VerificationError) -> Verified<RenewalInfo> {
        try verifyRenewalInfo(jws.utf8Span.span)
    }

    /// Verifies renewal information, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified renewal information.
    /// - Throws: What the method for a string throws.
    public func verifyRenewalInfo(_ jws: [UInt8]) throws(VerificationError) -> Verified<RenewalInfo> {
        try verifyRenewalInfo(jws.span)
    }

    /// Verifies an app transaction.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<AppTransaction>` on a device, or `signedAppTransactionInfo` on a server.
    /// - Returns: The verified app transaction.
    /// - Throws: The reason the app transaction was refused. The code for a JWS of another kind is `missing-member`.
    public func verifyAppTransaction(_ jws: String) throws(VerificationError) -> Verified<AppTransaction> {
        try verifyAppTransaction(jws.utf8Span.span)
    }

    /// Verifies an app transaction, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified app transaction.
    /// - Throws: What the method for a string throws.
    public func verifyAppTransaction(_ jws: [UInt8]) throws(VerificationError) -> Verified<AppTransaction> {
        try verifyAppTransaction(jws.span)
    }

    /// Verifies a server notification and its signed parts, which must be for the same app and environment.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified notification with its verified parts.
    /// - Throws: The reason the notification was refused. If a signed part was refused, ``VerificationError/part`` names it. The code for a JWS of
    ///   another kind is `missing-member`.
    public func verifyNotification(_ jws: String) throws(VerificationError) -> VerifiedNotification {
        try verifyNotification(jws.utf8Span.span)
    }

    /// Verifies a server notification and its signed parts, from bytes.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified notification with its verified parts.
    /// - Throws: What the method for a string throws.
    public func verifyNotification(_ jws: [UInt8]) throws(VerificationError) -> VerifiedNotification {
        try verifyNotification(jws.span)
    }

    /// Verifies a request for a retention message.
    ///
    /// Such a request has no bundle id. Only the app's Apple id shows which app it is for.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified request.
    /// - Throws: The reason the request was refused. The code is `no-app-apple-id` if the policy has bundle ids but no ``VerificationPolicy/appAppleID``,
    ///   and `missing-member` for a JWS of another kind.
    public func verifyRealtimeRequest(_ jws: String) throws(VerificationError) -> Verified<RealtimeRequest> {
        try verifyRealtimeRequest(jws.utf8Span.span)
    }

    /// Verifies a request for a retention message, from bytes.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified request.
    /// - Throws: What the method for a string throws.
    public func verifyRealtimeRequest(_ jws: [UInt8]) throws(VerificationError) -> Verified<RealtimeRequest> {
        try verifyRealtimeRequest(jws.span)
    }
}

// Nothing is copied from these spans but the payload.
extension AppStoreVerifier {
    package func verifyJWS(_ jws: Span<UInt8>) throws(VerificationError) -> VerifiedEvidence {
        try counters.counting { () throws(VerificationError) in try self.jws.verify(jws) }
    }

    package func verifyNotification(_ jws: Span<UInt8>) throws(VerificationError) -> VerifiedNotification {
        try counters.counting { () throws(VerificationError) in
            try withJWS(in: jws) { (jws) throws(VerificationError) in try self.jws.verifyNotification(jws) }
        }
    }

    package func verifyTransaction(_ jws: Span<UInt8>) throws(VerificationError) -> Verified<TransactionInfo> {
        try verify(jws)
    }

    package func verifyRenewalInfo(_ jws: Span<UInt8>) throws(VerificationError) -> Verified<RenewalInfo> {
        try verify(jws)
    }

    package func verifyAppTransaction(_ jws: Span<UInt8>) throws(VerificationError) -> Verified<AppTransaction> {
        try verify(jws)
    }

    package func verifyRealtimeRequest(_ jws: Span<UInt8>) throws(VerificationError) -> Verified<RealtimeRequest> {
        try counters.counting { () throws(VerificationError) in
            try withJWS(in: jws) { (jws) throws(VerificationError) in try self.jws.verify(jws) }
        }
    }

    private func verify<Payload: JWSClaims>(_ jws: Span<UInt8>) throws(VerificationError) -> Verified<Payload> {
        try counters.counting { () throws(VerificationError) in try self.jws.verify(jws) }
    }
}
