import AppStoreReceipt
import SpanPKCS7

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
            for (index, part) in evidence.parts.enumerated() {
                guard let verification = part.verification else { continue }
                if index == 0 {
                    printVerified(input, part.title + " " + verification.authority.text, to: &console)
                } else {
                    console.print("\n  \(style(.bold, part.title))")
                }
                print(fields: part.fields.map(\.text) + verification.textFields, to: &console)
            }
            printLimits(to: &console)
        }
    }

    /// Prints the header of a JWS that was not verified.
    func printHeader(of jws: UnverifiedJWS, to console: inout Console) {
        var header = jws.headerFields.map(\.text)
        if let certificates = try? jws.certificates() {
            let subjects = certificates.map { certificate in
                (try? SpanPKCS7.Certificate(certificate.span).subject.distinguishedName()) ?? "not a certificate"
            }
            header += subjects.enumerated().map { ("x5c[\($0)]", $1) }
        }
        console.print("\n  \(style(.bold, "header"))")
        print(fields: header, to: &console)
    }
}

extension EvidenceField {
    var text: (label: String, value: String) { (name.printable, value.text) }
}

extension EvidenceField.Value {
    fileprivate var text: String {
        switch self {
        case .string(let text), .json(let text): text
        case .date(let date): date.text
        }
    }
}
