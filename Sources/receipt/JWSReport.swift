import AppStoreReceipt

// The verdict on evidence of any kind, as text.
extension TextReport {
    /// - Parameter bytes: The bytes of `input`.
    func print(
        _ result: Result<VerifiedEvidence, VerificationError>, of input: FileInput, _ bytes: [UInt8],
        to console: inout Console
    ) {
        switch result {
        case .success(.receipt(let receipt)): print(receipt, of: input, to: &console)
        case .failure(let error): print(error, of: input, bytes, to: &console)
        case .success(let evidence):
            for (index, part) in evidence.signedParts.enumerated() {
                if index == 0 {
                    printVerified(input, part.kind.text + " " + part.verification.authority.text, to: &console)
                } else {
                    console.print("\n  \(style(.bold, part.kind.text))")
                }
                let fields = part.fields.map { (label: $0.name.printable, value: $0.value.text) }
                print(fields: fields + part.verification.textFields, to: &console)
            }
            printLimits(to: &console)
        }
    }
}

extension TextReport {
    func print(_ receipt: UnverifiedTransactionReceipt, of input: FileInput, to console: inout Console) {
        console.print(
            "\(style(.yellow, "UNVERIFIED"))  \(style(.bold, input.name.printable)): anyone can have written this")
        print(
            fields: receipt.transactionReceipt.fields.map { (label: $0.name.printable, value: $0.value.text) },
            to: &console)
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
        case .transactionReceipt: "transaction receipt"
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
