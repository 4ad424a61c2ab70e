@_spi(Surfaces) import AppStoreSigning
import Foundation
import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7

// Signs and verifies for scripts/check/compare-signatures: one JSON object on each line, and one answer.

/// A line.
struct Question: Decodable {
    /// A signer for the lines that follow.
    var key: String?
    var settings: String?
    /// A request to sign, as the C library takes it.
    var request: String?
    /// A signature to verify: in DER, as base64, of a text; or a JWS.
    var publicKey: Data?
    var signature: Data?
    var message: String?
    var jws: String?
    /// How many signatures to time.
    var count: Int?
}

func verifies(_ question: Question) throws -> Bool {
    guard let publicKey = question.publicKey else { return false }
    var (signature, message) = (Array(question.signature ?? Data()), Array((question.message ?? "").utf8))
    if let jws = question.jws {
        let parts = jws.split(separator: ".").map(String.init)
        let base64 = parts[2].replacing("-", with: "+").replacing("_", with: "/") + "=="
        let rs = Array(Data(base64Encoded: base64) ?? Data())
        guard rs.count == 64 else { return false }
        signature = ECDSASignatureValue.encoded(fixedLength: rs.span)
        message = Array((parts[0] + "." + parts[1]).utf8)
    }
    return try PublicKey(subjectPublicKeyInfo: Array(publicKey).span).verify(
        signature: signature.span, digest: DigestAlgorithm.sha256.digest(of: message.span), scheme: .ecdsa)
}

func answer(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

var signer: AppStoreSigner?
while let line = readLine() {
    let question = try JSONDecoder().decode(Question.self, from: Data(line.utf8))
    if let key = question.key, let settings = SignerSettings(Array((question.settings ?? "").utf8)) {
        var p8: [UInt8]? = Array(key.utf8)
        signer = try settings.signer(erasing: &p8)
        answer("{}")
    } else if let request = question.request, let signer {
        answer(try SigningRequest(Array(request.utf8))?.signed(by: signer) ?? "null")
    } else if let count = question.count, let signer {
        let clock = ContinuousClock()
        let time = try clock.measure {
            for _ in 0..<count {
                _ = try signer.signOriginalPromotionalOffer(productID: "pro", offerID: "winback", appAccountToken: nil)
            }
        }
        let jws = try clock.measure {
            for _ in 0..<count {
                _ = try signer.signPromotionalOffer(productID: "pro", offerID: "winback", transactionID: "1")
            }
        }
        answer("[\(time / .microseconds(count)),\(jws / .microseconds(count))]")
    } else {
        answer("\(try verifies(question))")
    }
}
