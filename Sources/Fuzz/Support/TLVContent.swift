import AppStoreReceipt
import SpanASN1
import SpanPKCS7

public enum TLVContent {
    /// The content of a message in any armor of a receipt, if it can be found. Nothing is checked.
    public static func payload(of input: [UInt8]) -> [UInt8]? {
        do {
            let received = ReceivedEvidence(input, as: .receipt, VerificationLimits())
            let message = try ReceivedMessage(received.binary())
            guard let content = try SignedData(ContentInfo(message.der.span)).content else { return nil }
            return [UInt8](copying: content.content)
        } catch {
            return nil
        }
    }
}
