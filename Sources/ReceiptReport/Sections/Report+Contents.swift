import AppStoreReceipt
import SpanASN1
import StrictText

// The raw values of a piece, folded away.
extension Report {
    private static let maximumValueCount = 200
    private static let maximumPurchaseCount = 25

    func contents(of piece: ReportPiece, _ html: inout HTMLWriter) {
        let isSigned = piece.verified != nil || piece.areContentsSigned
        guard piece.verified != nil || piece.decoded != nil else { return }
        html.element(.details) { html in
            html.element(.summary, phrase: .contents)
            html.element(
                .p, .style(isSigned ? .note : .claim),
                phrase: piece.verified != nil ? .contentsVerified : isSigned ? .contentsUnaccepted : .contentsUnverified
            )
            if let jws = piece.decoded?.jws {
                html.element(.h4, phrase: .header)
                fields(jws.headerFields, &html)
            }
            for part in piece.parts {
                if let receipt = part.receipt {
                    self.receipt(receipt, &html)
                } else {
                    html.element(.h4, phrase: part.phrase ?? .payload)
                    fields(part.fields, &html)
                }
            }
        }
    }

    func fields(_ fields: [EvidenceField], _ html: inout HTMLWriter) {
        html.element(.dl, .style(.facts)) { html in
            for field in fields.prefix(Self.maximumValueCount) {
                html.element(.dt) { $0.value(field.name, limit: HTMLWriter.shortCount) }
                html.element(.dd) { html in
                    switch field.value {
                    case .string(let text): html.value(text)
                    case .json(let text): html.element(.code) { $0.value(text) }
                    case .date(let date): html.date(date)
                    }
                }
            }
        }
        rest(fields.count - Self.maximumValueCount, "receipt decode", &html)
    }

    private func receipt(_ receipt: Receipt, _ html: inout HTMLWriter) {
        attributes(receipt.attributes.lazy.filter { $0.type != .inAppPurchase }, &html)
        let purchases = receipt.inAppPurchases
        for (index, purchase) in purchases.prefix(Self.maximumPurchaseCount).enumerated() {
            html.element(.details) { html in
                html.element(.summary) { $0.phrase(.purchaseAttributes, .number(index + 1)) }
                attributes(purchase.attributes, &html)
            }
        }
        rest(purchases.count - Self.maximumPurchaseCount, "receipt decode --format attributes", &html)
    }

    private func attributes(_ attributes: some Sequence<ReceiptAttribute>, _ html: inout HTMLWriter) {
        var count = 0
        html.element(.dl, .style(.facts)) { html in
            for attribute in attributes {
                count += 1
                guard count <= Self.maximumValueCount else { continue }
                html.element(.dt) { html in
                    html.text("\(attribute.type.rawValue) \(attribute.type.name ?? "")")
                }
                html.element(.dd) { html in
                    if let text = attribute.text {
                        html.value(text)
                    } else {
                        html.element(.code) { $0.value(attribute.octets) }
                    }
                }
            }
        }
        rest(count - Self.maximumValueCount, "receipt decode --format attributes", &html)
    }

    private func rest(_ count: Int, _ command: String, _ html: inout HTMLWriter) {
        if count > 0 { html.element(.p, .style(.note), phrase: .moreRows, .number(count), .code(command)) }
    }
}

extension ReceiptAttribute {
    /// The text or the number that is the whole value; `nil` for any other value, and for opaque ones.
    fileprivate var text: String? {
        guard !(4...7 ~= type.rawValue) else { return nil }
        var cursor = ASN1Cursor(value.span)
        guard let element = try? cursor.read(), cursor.isAtEnd else { return nil }
        if element.tag == .integer { return (try? element.integer(as: Int64.self)).map { "\($0)" } }
        return try? element.string()
    }

    fileprivate var octets: String {
        Hexadecimal.text(value.span.extracting(first: 4096))
    }
}
