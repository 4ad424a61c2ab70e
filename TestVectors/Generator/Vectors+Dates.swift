import AppStoreReceipt
import AppStoreReceiptTesting

// Dates: when a receipt was made, and the forms of all dates in it.
extension Vector {
    static let dates: [Vector] = creation + forms

    private static func written(_ text: String) -> [Step] {
        [.receipt { $0.creationDate = nil }, .adding(.ia5String(.creationDate, text))]
    }

    private static func unreadable(_ file: String, _ text: String, _ why: String) -> Vector {
        var vector = refused(
            "receipts/creation-date-\(file).der", "18", .date, "creation-date-unreadable", .attribute(12, [2, 0]), why)
        vector.fault = written(text)
        return vector
    }

    private static func readable(_ file: String, _ text: String, _ why: String) -> Vector {
        var vector = accepted("receipts/creation-date-\(file).der", "18", why)
        vector.base = written(text)
        return vector
    }

    private static let creation: [Vector] = [
        refused(
            "receipts/creation-date-missing.der", "20b", .date, "creation-date-missing", .content(Path.octets),
            "Without attribute 12 there is no date to judge by: not attribute 8, not now.",
            .receipt { $0.creationDate = nil }),
        refused(
            "receipts/creation-date-empty.der", "20b", .date, "creation-date-missing", .content(Path.octets),
            "An empty date is none.", .receipt { $0.creationDate = nil }, .adding(.date(.creationDate, nil))),
        refused(
            "receipts/creation-date-twice.der", "13", .date, "creation-date-repeated",
            .attribute(12, occurrence: 1), "Two dates: the chain could be judged at either.",
            .adding(.date(.creationDate, ReceiptBuilder.defaultPurchaseDate))),
        refused(
            "receipts/creation-date-twice-the-same.der", "13", .date, "creation-date-repeated",
            .attribute(12, occurrence: 1), "The same date twice is twice.",
            .adding(.date(.creationDate, ReceiptBuilder.defaultCreationDate))),
        refused(
            "receipts/creation-date-a-utf8-string.der", "20b", .date, "creation-date-unreadable",
            .attribute(12, [2, 0]), "Dates are IA5Strings.", .value(12) { $0.tag = [0x0C] }),
        refused(
            "receipts/creation-date-a-generalized-time.der", "20b", .date, "creation-date-unreadable",
            .attribute(12, [2, 0]), "Dates are IA5Strings.",
            .value(12) { $0 = Node(0x18, Array("20250615120000Z".utf8)) }),
        accepted(
            "receipts/original-creation-date-outside-the-chain.der", "20b",
            "Attribute 8 lies before the leaf's first day; the date that counts is attribute 12.",
            .receipt { $0.originalCreationDate = try date("2009-01-01T00:00:00Z") }),
        refused(
            "receipts/creation-date-outside-the-chain.der", "20b", .chain, "certificate-not-yet-valid",
            .node(Path.certificate(0)), "Attribute 8 lies within the leaf's validity, attribute 12 before it.",
            base: [.leaf { $0.notBefore = try date("2020-01-01T00:00:00Z") }],
            .receipt { $0.creationDate = try date("2015-01-01T00:00:00Z") }),
        readable("with-fraction", "2025-06-15T12:00:00.123Z", "Milliseconds."),
        readable("with-long-fraction", "2025-06-15T12:00:00.123456789Z", "Nanoseconds."),
        readable("with-offset", "2025-06-15T15:00:00+03:00", "An offset as RFC 3339 writes it."),
        readable("with-offset-without-colon", "2025-06-15T15:00:00+0300", "An offset as Xcode writes it."),
        readable("with-negative-offset", "2025-06-14T23:00:00-13:00", "An offset to the west, on another day."),
        readable("on-a-leap-day", "2024-02-29T00:00:00Z", "The 29th of February in a leap year."),
        unreadable("with-12-hour-clock", "2025-06-15T12:00:00 PM", "What a device set to twelve hours writes."),
        unreadable("without-zone", "2025-06-15T12:00:00", "Local to whom?"),
        unreadable("without-time", "2025-06-15", "A day and no time."),
        unreadable("in-month-13", "2025-13-15T12:00:00Z", "A year has twelve months."),
        unreadable("on-february-29-of-2025", "2025-02-29T12:00:00Z", "2025 is no leap year."),
        unreadable("at-24-hours", "2025-06-15T24:00:00Z", "A day has the hours 0 to 23."),
        unreadable("with-space-for-t", "2025-06-15 12:00:00Z", "A space in place of T."),
        unreadable("with-trailing-space", "2025-06-15T12:00:00Z ", "A character too many."),
        unreadable("with-comma-for-point", "2025-06-15T12:00:00,123Z", "A comma in place of the point."),
        unreadable("with-empty-fraction", "2025-06-15T12:00:00.Z", "A point without a fraction."),
        unreadable("with-offset-of-24-hours", "2025-06-15T12:00:00+24:00", "No clock differs by a day."),
        unreadable("with-arabic-digits", "٢٠٢٥-٠٦-١٥T12:00:00Z", "What a device set to Arabic digits writes."),
        unreadable("with-nul", "2025-06-15T12:00:00Z\0", "A NUL at the end."),
    ]

    private static func purchase(_ name: String, _ attribute: ReceiptAttribute, _ why: String) -> Vector {
        refused(
            "receipts/\(name).der", "18", .payload, "invalid-time",
            .purchase(0, Int(attribute.type.rawValue), [2, 0]), why,
            .receipt { receipt in
                receipt.purchases.removeLast()
                receipt.writesEmptyAttributes = false
                receipt.purchases[0].additionalAttributes = [attribute]
            },
            .purchase { purchase in
                if attribute.type == .purchaseDate { purchase.purchaseDate = nil }
                if attribute.type == .purchaseOriginalPurchaseDate { purchase.originalPurchaseDate = nil }
            })
    }

    private static let forms: [Vector] = [
        purchase(
            "cancellation-date-unreadable", .ia5String(.revocationDate, "2025-06-10"),
            "A cancellation that cannot be read must not become no cancellation."),
        purchase(
            "expires-date-unreadable", .ia5String(.expiresDate, "never"), "An expiry that cannot be read."),
        purchase(
            "purchase-date-unreadable", .ia5String(.purchaseDate, "2025-06-10T9:30:00Z"), "An hour of one digit."),
        purchase(
            "original-purchase-date-of-purchase-unreadable",
            .ia5String(.purchaseOriginalPurchaseDate, "10/06/2025 09:30:00"), "Another order of day, month and year."),
        refused(
            "receipts/original-purchase-date-unreadable.der", "18", .payload, "invalid-time",
            .attribute(18, [2, 0]), "Another documented date.",
            .receipt { $0.originalPurchaseDate = nil },
            .adding(.ia5String(.originalPurchaseDate, "2013-08-01T07:00:00"))),
        refused(
            "receipts/expiration-date-unreadable.der", "18", .payload, "invalid-time", .attribute(21, [2, 0]),
            "When a receipt expires must be readable.", .adding(.ia5String(.expirationDate, "4001"))),
        accepted(
            "receipts/dates-in-all-forms.der", "18", "Fractions, offsets with and without colon, empty ones.",
            .receipt { receipt in
                (receipt.originalCreationDate, receipt.originalPurchaseDate) = (nil, nil)
                receipt.additionalAttributes = [
                    .ia5String(.originalPurchaseDate, "2013-08-01T10:00:00.500+0300"),
                    .ia5String(.expirationDate, "4001-01-01T02:00:00+0200"),
                ]
                receipt.purchases[0].purchaseDate = nil
                receipt.purchases[0].additionalAttributes = [
                    .ia5String(.purchaseDate, "2025-06-01T11:30:00.001+02:00")
                ]
            }),
    ]
}
