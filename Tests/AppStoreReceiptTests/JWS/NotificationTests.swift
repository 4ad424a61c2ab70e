import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@Suite struct NotificationTests {
    private let authority: TestCertificateAuthority
    private let verifier: AppStoreVerifier

    init() throws {
        authority = try Minted.ellipticAuthority
        verifier = try Minted.verifier()
    }

    private func failure(_ builder: JWSBuilder) throws -> VerificationError? {
        let jws = try builder.signed(by: authority)
        do throws(VerificationError) {
            _ = try verifier.verifyNotification(jws)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a notification is verified with its signed parts`() throws {
        let notification = try verifier.verifyNotification(
            JWSBuilder.notification(
                .subscribed, subtype: .resubscribe, bundleID: Minted.bundleID,
                transaction: Minted.transaction.signed(by: authority),
                renewalInfo: JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000")
                    .signed(by: authority)
            ).signed(by: authority))
        #expect(notification.type == .subscribed && notification.subtype == .resubscribe)
        #expect(notification.data?.appAppleID == "1234567890")
        #expect(notification.transactionInfo?.transactionID == "1000")
        #expect(notification.renewalInfo?.autoRenewStatus == .on)
        #expect(notification.appTransaction == nil)
    }

    @Test func `the body that Apple posts is as good as the JWS in it`() throws {
        let jws = try JWSBuilder.notification(.test, bundleID: Minted.bundleID).signed(by: authority)
        let body = #" {"signedPayload": "\#(jws)"} "#
        #expect(try verifier.verifyNotification(body) == verifier.verifyNotification(jws))
        let request = try JWSBuilder.realtimeRequest(productID: "pro", originalTransactionID: "1000").signed(
            by: authority)
        let own = try Minted.verifier { $0.appAppleID = "1234567890" }
        #expect(
            try own.verifyRealtimeRequest(#"{"signedPayload":"\#(request)"}"#) == own.verifyRealtimeRequest(request))
        for (wrong, code) in [
            ("{}", "missing-receipt-data"), ("{", "invalid-json"), ("{\"signedPayload\":\"a\"}", "part-count"),
        ] {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyNotification(wrong) }
            #expect(error?.code.rawValue == code && error?.category == .client)
        }
    }

    @Test func `a JWS of another kind is refused with the kind that was expected`() throws {
        for builder in [Minted.transaction, .appTransaction(bundleID: Minted.bundleID)] {
            let error = try failure(builder)
            #expect(error?.code == .missingMember && error?.expected == "notification")
            #expect(error?.description.contains(#"expected "notification""#) == true)
        }
    }

    @Test func `parts about another app or environment are refused`() throws {
        let renewal = try JWSBuilder.renewalInfo(
            productID: "pro", originalTransactionID: "1000", environment: .sandbox
        ).signed(by: authority)
        let sandbox = try failure(.notification(.didRenew, bundleID: Minted.bundleID, renewalInfo: renewal))
        #expect(sandbox?.code == .partMismatch && sandbox?.part == .renewalInfo)

        let any = try Minted.verifier { $0.bundleIDs = nil }
        var other = Minted.transaction
        // The second has the length of the notification's.
        for bundleID in ["com.example.other", String(Minted.bundleID.dropLast()) + "q"] {
            other.bundleID = bundleID
            let jws = try JWSBuilder.notification(
                .refund, bundleID: Minted.bundleID, transaction: other.signed(by: authority)
            )
            .signed(by: authority)
            let error = #expect(throws: VerificationError.self) { try any.verifyNotification(jws) }
            #expect(error?.code == .partMismatch && error?.part == .transactionInfo)
            let own = #expect(throws: VerificationError.self) { try verifier.verifyNotification(jws) }
            #expect(own?.code == .bundleIDMismatch && own?.part == .transactionInfo)
        }
    }

    @Test func `a part that is not verified makes the notification fail`() throws {
        let stranger = try Minted.transaction.signed(by: Minted.ellipticStranger)
        let forged = try failure(.notification(.refund, bundleID: Minted.bundleID, transaction: stranger))
        #expect(forged?.code == .untrustedChain && forged?.part == .transactionInfo)
        let kind = try failure(
            .notification(
                .refund, bundleID: Minted.bundleID,
                transaction: JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1").signed(by: authority))
        )
        #expect(kind?.code == .missingMember && kind?.part == .transactionInfo)
        let empty = try failure(.notification(.refund, bundleID: Minted.bundleID, transaction: ""))
        #expect(empty?.code == .emptyInput && empty?.part == .transactionInfo)
    }

    @Test func `a notification in a notification is not read again`() throws {
        let inner = try JWSBuilder.notification(.test, bundleID: Minted.bundleID).signed(by: authority)
        let error = try failure(.notification(.test, bundleID: Minted.bundleID, transaction: inner))
        #expect(error?.code == .missingMember)
    }

    @Test func `an app transaction in appData is verified with its notification`() throws {
        let part = try JWSBuilder.appTransaction(bundleID: Minted.bundleID).signed(by: authority)
        var appData: JSONValue = [
            "appAppleId": 1_234_567_890, "bundleId": "com.example.app", "environment": "Production",
        ]
        appData["signedAppTransactionInfo"] = .string(part)
        let builder = JWSBuilder.notification(.rescindConsent, about: "appData", appData)
        let notification = try verifier.verifyNotification(builder.signed(by: authority))
        #expect(notification.type == .rescindConsent)
        #expect(notification.appTransaction?.appTransactionID == "700000000000000001")
        appData["appAppleId"] = 1
        let error = try failure(.notification(.rescindConsent, about: "appData", appData))
        #expect(error?.code == .partMismatch && error?.part == .appTransactionInfo)
    }

    @Test func `summaries and external purchase tokens are read`() throws {
        let extended = try verifier.verifyNotification(
            JWSBuilder.notification(
                .renewalExtension, about: "summary",
                [
                    "requestIdentifier": "r", "environment": "Sandbox", "appAppleId": 1, "bundleId": "com.example.app",
                    "productId": "pro", "storefrontCountryCodes": ["CAN", "USA"], "failedCount": 1, "succeededCount": 2,
                ]
            ).signed(by: authority)
        )
        let summary = extended.summary
        #expect(extended.environment == .sandbox)
        #expect(summary?.storefrontCountryCodes == ["CAN", "USA"] && summary?.failedCount == 1)
        #expect(summary?.succeededCount == 2 && summary?.environment == .sandbox)

        let token: JSONValue = [
            "externalPurchaseId": "SANDBOX_1", "tokenCreationDate": 1, "appAppleId": 2, "bundleId": "com.example.app",
            "tokenExpirationDate": 3, "tokenType": "ACQUISITION",
        ]
        let builder = JWSBuilder.notification(.externalPurchaseToken, about: "externalPurchaseToken", token)
        let notification = try verifier.verifyNotification(builder.signed(by: authority))
        #expect(notification.externalPurchaseToken?.kind == .acquisition && notification.environment == .sandbox)
        #expect(notification.externalPurchaseToken?.expirationDate?.millisecondsSince1970 == 3)
    }

    @Test func `the claims of seats that end are read`() throws {
        var builder = JWSBuilder.notification(.unclaimSeats, bundleID: Minted.bundleID)
        builder.payload["unclaimInfo"] = ["unclaimSeatIds": ["a", "b"], "new": 1]
        let notification = try verifier.verifyNotification(builder.signed(by: authority))
        #expect(notification.type == .unclaimSeats && notification.unclaimInfo?.unclaimSeatIDs == ["a", "b"])
        #expect(notification.unclaimInfo?.object.unknownMembers.map(\.name) == ["new"])
    }

    /// Printing one of 20,000 bytes must not fill a log.
    @Test func `a notification, its parts and all that hold them are printed on one short line`() throws {
        let words = String(repeating: "0123456789", count: 400)
        func padded(_ builder: JWSBuilder) throws -> String {
            var builder = builder
            builder.payload["unknownMember"] = .string(words)
            return try builder.signed(by: authority)
        }
        let notification = try padded(
            .notification(
                .didRenew, subtype: .billingRecovery, bundleID: Minted.bundleID,
                transaction: padded(Minted.transaction),
                renewalInfo: padded(.renewalInfo(productID: "pro", originalTransactionID: "1000"))))
        #expect(notification.utf8.count > 15_000)
        let verified = try verifier.verifyNotification(notification)
        let evidence = try verifier.verify(notification)
        let transaction = try #require(verified.transactionInfo)
        let values: [Any] = [
            verified, evidence, verified.notification, verified.notification.payload, transaction, transaction.payload,
            try #require(verified.renewalInfo), try #require(verified.data), transaction.payload.object,
            BatchVerdict(.success(evidence)), Result<VerifiedEvidence, VerificationError>.success(evidence),
        ]
        for value in values {
            for text in [String(describing: value), String(reflecting: value), "\(value)"] {
                #expect(text.count < 1_000, "\(type(of: value)): \(text.count)")
                #expect(!text.contains { $0.isNewline })
            }
        }
        #expect(
            "\(verified)" == """
                verified: notification "DID_RENEW/BILLING_RECOVERY" in "com.example.app" with transaction "1000" of \
                "pro" in "com.example.app", renewal information on "1000"
                """)
        #expect(verified.object.text.utf8.count > 4_000)
    }

    @Test func `what stands in a notification is printed escaped and shortened`() throws {
        let text = String(repeating: "\u{202E}\n\"", count: 300)
        let any = try Minted.verifier { $0.bundleIDs = nil }
        let transaction = try JWSBuilder.transaction(bundleID: text, productID: text, transactionID: text)
            .signed(by: authority)
        let builder = JWSBuilder.notification(
            NotificationType(rawValue: text), subtype: NotificationSubtype(rawValue: text), bundleID: text,
            transaction: transaction)
        let verified = try any.verifyNotification(builder.signed(by: authority))
        let description = "\(verified)"
        #expect(description.unicodeScalars.allSatisfy { $0 == "…" || $0.isASCII && $0.value >= 0x20 })
        #expect(description.count < 5_000, "\(description.count)")
    }

    @Test(
        arguments: [
            ([:], nil), (["bundleId": .string(Minted.bundleID)], nil),
            (["bundleId": "com.example.other"], "bundle-id-mismatch"),
            (["list": [["environment": "Xcode"]]], "environment-mismatch"),
            (["environment": "Moon"], "unknown-environment"), (["environment": "Production"], nil),
            (["appAppleId": 0], nil), (["appAppleId": 7], nil), (["appAppleId": 8], "app-apple-id-mismatch"),
            (["appAppleId": .raw("1e400")], "bundle-id-missing"),
            (["list": [["signedRenewalInfo": "a"]]], "bundle-id-missing"), (["signedNumber": 1], nil),
        ] as [(JSONValue, String?)])
    func `a notification that names no app is accepted on its signature, but for what it names elsewhere`(
        contents: JSONValue, code: String?
    ) throws {
        let verifier = try Minted.verifier { $0.appAppleID = "7" }
        for member in ["unclaimInfo", "new"] {
            let builder = JWSBuilder.notification(.unclaimSeats, about: member, contents)
            let jws = try builder.signed(by: authority)
            do throws(VerificationError) {
                let notification = try verifier.verifyNotification(jws)
                #expect(code == nil && notification.environment == nil && notification.transactionInfo == nil)
            } catch {
                #expect(error.code.rawValue == code)
            }
        }
    }

    @Test func `a notification about two apps is refused`() throws {
        var two = JWSBuilder.notification(.test, bundleID: Minted.bundleID)
        two.payload["summary"] = ["bundleId": "com.example.other", "environment": "Production"]
        #expect(try failure(two)?.code == .bundleIDMismatch)
    }
}
