import AppStoreReceipt
import SpanASN1
import SpanPKCS7

public enum TLVContent {
    /// The content of a message in any form of a receipt, if it can be found. Nothing is checked.
    public static func payload(of input: [UInt8]) -> [UInt8]? {
        do {
            let recognized = try ReceiptInput(input.span)
            let message = try ReceivedMessage([UInt8](copying: recognized.binary(in: input.span)))
            guard let content = try SignedData(ContentInfo(message.der.span)).content else { return nil }
            return [UInt8](copying: content.content)
        } catch {
            return nil
        }
    }
}
