import AppStoreReceipt

// What became of evidence of either kind, for people to read.
extension TextReport {
    /// - Parameter bytes: what `input` held.
    func print(
        _ result: Result<VerifiedEvidence, EvidenceError>, of input: FileInput, _ bytes: [UInt8],
        to console: inout Console
    ) {
        switch result {
        case .success(.receipt(let receipt)): print(receipt, of: input, to: &console)
        case .failure(.receipt(let error)): print(error, of: input, bytes, to: &console)
        case .success(let evidence):
            for (index, part) in evidence.signedParts.enumerated() {
                if index == 0 {
                    printVerified(input, part.kind.text + " " + part.trust.authority.text, to: &console)
                } else {
                    console.print("\n  \(style(.bold, part.kind.text))")
                }
                print(
                    fields: part.fields.map { ($0.name.printable, $0.value.text) } + part.trust.textFields, to: &console
                )
            }
            printLimits(to: &console)
        case .failure(.signedData(let error)):
            var place: [String] = []
            if let offset = error.offset, let base = error.offsetBase {
                place.append("byte \(offset) of the \(base.rawValue)")
            }
            if let part = error.part { place.append(part.rawValue) }
            let refusal = Refusal(
                code: error.code, explanation: error.explanation, place: place,
                advice: Self.advice(error.code) ?? error.advice)
            print(refusal, of: input, to: &console)
        }
    }
}

extension JWSPart.Kind {
    fileprivate var text: String {
        switch self {
        case .transaction: "transaction"
        case .renewalInfo: "renewal information"
        case .appTransaction: "app transaction"
        case .notification: "notification"
        case .realtimeRequest: "real-time request"
        }
    }
}

extension JWSField.Value {
    fileprivate var text: String {
        switch self {
        case .string(let text), .json(let text): text
        case .date(let date): date.text
        }
    }
}
