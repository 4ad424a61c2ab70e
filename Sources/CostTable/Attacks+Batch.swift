import AppStoreReceipt
import AppStoreReceiptTesting

// Lines of `receipt batch`: objects whose other members come back in the answer, which is written too.

extension Attack {
    private static func answering(_ name: String, _ members: @escaping @Sendable (Int) -> String) -> Attack {
        Attack(name: "batch: " + name) { n in
            let trust = AppStoreTrust.roots([try authority.get().trustAnchor])
            let verifier = try AppStoreVerifier(bundleID: "a", environments: [.production], trust: trust)
            let line = Array("{\(members(n)),\"receipt-data\":\"MIIB\"}".utf8)
            return (
                line.count,
                {
                    let verdict = verifier.verdict(on: line.span)
                    _ = verdict.json()
                    return outcome { () throws(VerificationError) in try verdict.result.get() }
                }
            )
        }
    }

    private static func list(_ unit: String, _ n: Int) -> String {
        String(repeating: unit, count: n / unit.utf8.count).dropLast().description
    }

    static var batches: [Attack] {
        [
            answering("many members") { n in list("\"x\":0,", n) },
            answering("many names like the verdict's") { n in list("\"VERIFIED\":0,", n) },
            answering("a name of n characters") { n in "\"\(String(repeating: "K", count: n))\":0" },
            answering("a name of escapes") { n in "\"\(String(repeating: "\\u212A", count: n / 6))\":0" },
            answering("a value of empty lines") { n in "\"x\":[\(String(repeating: "\n", count: n))]" },
            answering("many values of two lines") { n in list("\"x\":[\n],", n) },
        ]
    }
}
