import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import TestSupport
import Testing

/// Every small change to a JWS, warm and cold. All of a JWS is signed, or is the signature in the one spelling it has:
/// nothing in it may be changed.
@Suite(.tamperingTable) struct JWSTamperingTests {
    final class Sample {
        let text: [UInt8]
        private let warm: AppStoreVerifier
        private var cold: AppStoreVerifier

        init() throws {
            let authority = try Minted.ellipticAuthority
            let builder = JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1")
            text = Array(try builder.signed(by: authority).utf8)
            warm = try Self.verifier()
            cold = try Self.verifier()
            _ = try warm.verify(text)
        }

        static func verifier() throws -> AppStoreVerifier {
            try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.production],
                trust: .roots([Minted.ellipticAuthority.trustAnchor]))
        }

        /// Whether it was verified. Cold and warm must agree, to the error's offset.
        func isVerified(_ text: [UInt8], _ change: @autoclosure () -> String) throws -> Bool {
            var isVerified = false
            let time = try processorTime { isVerified = try compare(text, change()) }
            if time > .seconds(5) { Issue.record("\(change()) takes too long") }
            return isVerified
        }

        private func compare(_ text: [UInt8], _ change: @autoclosure () -> String) throws -> Bool {
            let warm = Result { () throws(VerificationError) in try self.warm.verify(text) }
            // Before the signature no cache has a say.
            if case .failure(let error) = warm, error.stage == .form || error.stage == .header { return false }
            let verdict = Result { () throws(VerificationError) in try cold.verify(text) }
            if warm != verdict { Issue.record("\(change()): warm \(warm), cold \(verdict)") }
            if case .success = verdict { cold = try Self.verifier() }
            return (try? verdict.get()) != nil
        }
    }

    @Test(arguments: Sampling.share(0..<8, of: "jws-bits"))
    func `a flipped bit is refused`(bit: Int) throws {
        let sample = try Sample()
        for offset in sample.text.indices {
            var text = sample.text
            text[offset] ^= 1 << bit
            #expect(try !sample.isVerified(text, "bit \(bit) of byte \(offset)"), "bit \(bit) of byte \(offset)")
        }
        TamperingRow("JWS: each bit flipped", count: sample.text.count).record()
    }

    @Test func `a truncated JWS is refused`() throws {
        let sample = try Sample()
        for count in sample.text.indices {
            #expect(try !sample.isVerified(Array(sample.text.prefix(count)), "\(count) bytes"), "\(count) bytes")
        }
        TamperingRow("JWS: truncated after each byte", count: sample.text.count).record()
    }

    @Test func `a byte removed anywhere is refused`() throws {
        let sample = try Sample()
        for offset in sample.text.indices {
            var text = sample.text
            text.remove(at: offset)
            #expect(try !sample.isVerified(text, "byte \(offset) removed"), "byte \(offset)")
        }
        TamperingRow("JWS: each byte removed", count: sample.text.count).record()
    }

    @Test func `a byte inserted where parts begin or end is refused, but for whitespace, of which base64url has none`()
        throws
    {
        let sample = try Sample()
        let dots = sample.text.indices.filter { sample.text[$0] == UInt8(ascii: ".") }
        let boundaries = Set([0, sample.text.count] + dots + dots.map { $0 + 1 }).sorted()
        var row = TamperingRow("JWS: each byte inserted at \(boundaries.count) boundaries of parts")
        for offset in boundaries {
            for value in UInt8.min...UInt8.max {
                var text = sample.text
                text.insert(value, at: offset)
                row.count += 1
                guard try sample.isVerified(text, "\(value) at \(offset)") else { continue }
                #expect(Array(" \t\r\n".utf8).contains(value), "\(value) at \(offset)")
                row.harmless["whitespace", default: 0] += 1
            }
        }
        row.record()
    }
}
