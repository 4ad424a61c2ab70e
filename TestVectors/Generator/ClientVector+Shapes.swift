import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText

// The shapes, as clients of the frameworks send them. Ids and names are made up.
extension ClientVector {
    static let all = texts + frameworks + others + notEvidence + cutOff

    private static func json(_ members: KeyValuePairs<String, String>) -> String {
        "{" + members.map { "\(quoted($0.key)):\(quoted($0.value))" }.joined(separator: ",") + "}"
    }

    /// A string of JSON.
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
            return isPlain ? String(UnicodeScalar(byte)) : "%" + hexadecimal([byte]).uppercased()
        }.joined()
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    private static func base64(_ text: String) -> String { Base64.encode(Array(text.utf8).span) }

    private static func lines(of text: String, _ count: Int, _ end: String) -> String {
        let letters = Array(text)
        return stride(from: 0, to: letters.count, by: count)
            .map { String(letters[$0..<min($0 + count, letters.count)]) }.joined(separator: end)
    }

    private static func part(_ index: Int, of jws: String) -> String {
        String(jws.split(separator: ".")[index])
    }

    private static func decoded(_ part: String) -> String {
        let bytes = (try? Base64.decode(Array(part.utf8).span)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unity(_ payload: String, store: String = "AppleAppStore") -> String {
        json(["Store": store, "TransactionID": "200000000000001", "Payload": payload])
    }

    private static let texts: [ClientVector] = [
        accepted(
            "receipt-in-a-json-string.txt", "json-string", before: "unrecognized-form", "JSON.stringify of a string."
        ) {
            quoted($0.receipt)
        },
        accepted(
            "jws-in-a-json-string.txt", "json-string", kind: "transaction", before: "unrecognized-form",
            "JSON.stringify of a string."
        ) { quoted($0.jws) },
        accepted(
            "receipt-percent-encoded.txt", "percent-encoding", before: "invalid-base64",
            "encodeURIComponent, which nobody undid."
        ) { percentEncoded($0.receipt) },
        accepted("receipt-in-a-form.txt", "form", before: "unrecognized-form", "A form instead of JSON.") {
            "password=secret&receipt-data=\(percentEncoded($0.receipt))"
        },
        accepted(
            "receipt-in-a-form-not-encoded.txt", "form", before: "unrecognized-form", "A form put together by hand."
        ) { "receipt-data=\($0.receipt)" },
        accepted(
            "jws-in-a-form.txt", "form", kind: "transaction", before: "unrecognized-form", "A form with another name."
        ) { "signedTransactionInfo=\($0.jws)&user=17" },
        accepted("receipt-in-a-data-uri.txt", "data-uri", before: "unrecognized-form", "FileReader.readAsDataURL.") {
            "data:application/octet-stream;base64,\($0.receipt)"
        },
        accepted(
            "base64-of-base64.txt", "base64", before: "unrecognized-form", "Encoded by the app and by the library."
        ) {
            base64($0.receipt)
        },
        accepted(
            "base64-of-a-jws.txt", "base64", kind: "transaction", before: "unrecognized-form",
            "A JWS needs no base64."
        ) { base64($0.jws) },
        accepted(
            "base64-of-a-data-uri.txt", "base64", "data-uri", before: "unrecognized-form", "Two layers."
        ) { base64("data:;base64,\($0.receipt)") },
        accepted(
            "jws-in-lines-of-64.txt", "line-breaks", kind: "transaction", before: "invalid-base64url",
            "As OpenSSL wraps."
        ) { lines(of: $0.jws, 64, "\n") },
        accepted(
            "jws-in-lines-of-76.txt", "line-breaks", kind: "transaction", before: "invalid-base64url",
            "As MIME wraps."
        ) { lines(of: $0.jws, 76, "\r\n") + "\r\n" },
        accepted(
            "receipt-data-in-a-json-string.json", "json-string", before: "invalid-base64",
            "In the object of verifyReceipt, which is no layer."
        ) { json(["receipt-data": quoted($0.receipt)]) },
        accepted(
            "receipt-data-in-base64.json", "base64", before: "unexpected-tag",
            "In the object of verifyReceipt, which is no layer."
        ) { json(["receipt-data": base64($0.receipt), "password": "secret"]) },
        accepted(
            "jws-in-lines-in-a-member.json", "line-breaks", kind: "transaction", before: "invalid-base64url",
            "In an object of Apple's, which is no layer."
        ) { "{\"signedTransactionInfo\":\"\(lines(of: $0.jws, 76, "\\n"))\"}" },
    ]

    private static let frameworks: [ClientVector] = [
        accepted("unity.json", "unity", before: "missing-receipt-data", "`product.receipt` of Unity IAP.") {
            unity($0.receipt)
        },
        accepted(
            "unity-byte-order-mark.json", "unity", before: "missing-receipt-data", "A mark is no layer."
        ) { "\u{FEFF}" + unity($0.receipt) },
        accepted(
            "unity-in-a-json-string.json", "json-string", "unity", before: "unrecognized-form",
            "It is a string in C#, and JSON was made of it."
        ) { quoted(unity($0.receipt)) },
        accepted("unity-in-base64.txt", "base64", "unity", before: "part-count", "It begins with `ey`, as a JWS does.")
        {
            base64(unity($0.receipt))
        },
        accepted(
            "unity-in-receipt-data.json", "unity", before: "invalid-base64", "Sent on as if it were the receipt."
        ) { json(["receipt-data": unity($0.receipt)]) },
        accepted(
            "unity-jws.json", "unity", kind: "transaction", before: "missing-receipt-data", "StoreKit 2 in Unity IAP 5."
        ) { unity($0.jws) },
        accepted(
            "unity-transaction-receipt.json", "unity", kind: "transaction_receipt", before: "missing-receipt-data",
            "iOS 6 and older."
        ) { unity($0.transactionReceipt) },
        accepted(
            "flutter.json", "flutter", kind: "transaction", before: "missing-receipt-data",
            "`PurchaseVerificationData` of in_app_purchase."
        ) {
            json([
                "localVerificationData": decoded(part(1, of: $0.jws)), "serverVerificationData": $0.jws,
                "source": "app_store",
            ])
        },
        accepted("flutter-purchase-details.json", "flutter", before: "missing-receipt-data", "With StoreKit 1.") {
            #"{"purchaseID":"1","verificationData":{"serverVerificationData":"\#($0.receipt)","source":"app_store"}}"#
        },
        accepted(
            "storekit.json", "storekit", kind: "transaction", before: "missing-receipt-data",
            "The name of the property in Swift."
        ) { json(["jwsRepresentation": $0.jws, "productID": "pro"]) },
        accepted(
            "react-native-purchase-token.json", "react-native", kind: "transaction", before: "missing-receipt-data",
            "react-native-iap 14."
        ) { json(["id": "200000000000001", "purchaseToken": $0.jws, "transactionReceipt": ""]) },
        accepted(
            "react-native-verification-result.json", "react-native", kind: "transaction",
            before: "missing-receipt-data", "react-native-iap 12 with StoreKit 2."
        ) { json(["productId": "pro", "verificationResultIOS": $0.jws, "transactionReceipt": ""]) },
        accepted(
            "react-native-transaction-receipt.json", "react-native", before: "missing-receipt-data",
            "react-native-iap with StoreKit 1."
        ) { json(["productId": "pro", "transactionId": "200000000000001", "transactionReceipt": $0.receipt]) },
        accepted(
            "react-native-jws-and-receipt.json", "react-native", kind: "transaction", before: "missing-receipt-data",
            "The JWS counts, wherever it stands."
        ) { json(["transactionReceipt": $0.receipt, "purchaseToken": $0.jws]) },
        accepted(
            "expo.json", "react-native", kind: "transaction", before: "missing-receipt-data",
            "The same JWS under the old name and the new."
        ) { json(["purchaseToken": $0.jws, "jwsRepresentationIOS": $0.jws, "platform": "ios"]) },
        accepted("cordova.json", "cordova", before: "missing-receipt-data", "The body for a validator.") {
            #"{"id":"pro","type":"paid subscription","transaction":{"type":"ios-appstore","appStoreReceipt":"\#($0.receipt)"}}"#
        },
        accepted(
            "cordova-storekit-2.json", "cordova", kind: "transaction", before: "missing-receipt-data",
            "The body for a validator."
        ) { #"{"id":"pro","transaction":{"type":"apple-sk2","jwsRepresentation":"\#($0.jws)"}}"# },
        accepted("cordova-receipt.json", "cordova", before: "missing-receipt-data", "The receipt by its name.") {
            json(["appStoreReceipt": $0.receipt, "bundleIdentifier": "com.example.app"])
        },
        accepted(
            "verify-receipt-answer.json", "verify-receipt", before: "missing-receipt-data",
            "What Apple's server answered."
        ) {
            #"{"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.app","in_app":[]},"latest_receipt":"\#($0.receipt)"}"#
        },
        accepted(
            "notification-version-1.json", "notification-v1", before: "missing-receipt-data",
            "The same receipt in both places."
        ) {
            #"{"notification_type":"DID_RENEW","latest_receipt":"\#($0.receipt)","unified_receipt":{"status":0,"latest_receipt":"\#($0.receipt)"}}"#
        },
        accepted(
            "identical-members-of-two-frameworks.json", "unity", before: "missing-receipt-data",
            "Identical bytes count once."
        ) { json(["Store": "AppleAppStore", "Payload": $0.receipt, "appStoreReceipt": $0.receipt]) },
    ]

    private static let others: [ClientVector] = [
        refused(
            "members-of-two-frameworks.json", "ambiguous-evidence", before: "missing-receipt-data",
            "No framework has both."
        ) { json(["Store": "AppleAppStore", "Payload": $0.receipt, "serverVerificationData": $0.jws]) },
        refused(
            "form-with-two-values.txt", "ambiguous-evidence", before: "unrecognized-form", "Two values of one name."
        ) { "signedTransactionInfo=\($0.jws)&signedTransactionInfo=\($0.otherJWS)" },
        refused(
            "unity-in-three-layers.json", "evidence-in-member", "json-string", "json-string", path: "/Payload",
            before: "unrecognized-form", "One layer too many."
        ) { quoted(quoted(unity($0.receipt))) },
        refused(
            "evidence-in-receipt.json", "evidence-in-member", path: "/receipt", before: "missing-receipt-data",
            "A name that nobody has defined."
        ) { json(["user": "17", "receipt": $0.receipt]) },
        refused(
            "evidence-in-a-nested-member.json", "evidence-in-member", path: "/data/0/a~1b~0c",
            before: "missing-receipt-data", "With characters that a pointer escapes."
        ) { #"{"data":[{"a/b~c":"\#($0.jws)"}]}"# },
        refused(
            "evidence-in-two-members.json", "ambiguous-evidence", before: "missing-receipt-data",
            "Which one counts, nobody knows."
        ) { json(["old": $0.jws, "new": $0.otherJWS]) },
        refused("array.json", "several-pieces", before: "unrecognized-form", "Where one piece is read.") {
            "[\(quoted($0.jws)),\(quoted($0.otherJWS))]"
        },
        refused("lines-of-jws.txt", "several-pieces", before: "part-count", "One on each line.") {
            "\($0.jws)\n\($0.otherJWS)\n"
        },
        refused("lines-of-receipts.txt", "several-pieces", before: "invalid-base64", "One on each line.") {
            "\($0.receipt)\n\($0.receipt)\n"
        },
    ]

    private static let notEvidence: [ClientVector] = [
        refused(
            "unsigned-transaction.json", "unsigned-transaction", before: "missing-receipt-data",
            "`jsonRepresentation` of StoreKit 2."
        ) { decoded(part(1, of: $0.jws)) },
        refused(
            "unsigned-transaction-in-base64.txt", "unsigned-transaction", before: "part-count",
            "`jsonRepresentation.base64EncodedString()`."
        ) { base64(decoded(part(1, of: $0.jws))) },
        refused(
            "jws-payload-alone.txt", "unsigned-transaction", before: "part-count", "The middle part of a JWS."
        ) { part(1, of: $0.jws) },
        refused(
            "verify-receipt-answer-without-receipt.json", "unsigned-transaction", before: "missing-receipt-data",
            "The `receipt` of an answer."
        ) { _ in #"{"receipt_type":"Production","bundle_id":"com.example.app","in_app":[{"product_id":"pro"}]}"# },
        refused("transaction-id.txt", "transaction-id", before: "unrecognized-form", "An id proves nothing.") { _ in
            "200000000000001"
        },
        refused("transaction-id.json", "transaction-id", before: "missing-receipt-data", "An id proves nothing.") { _ in
            #"{"transactionId":"200000000000001"}"#
        },
        refused("google-play.json", "google-play", before: "missing-receipt-data", "INAPP_PURCHASE_DATA.") { _ in
            #"{"orderId":"GPA.3300-0000-0000-00000","packageName":"com.example.app","productId":"pro","purchaseToken":"abc"}"#
        },
        refused("google-play-unity.json", "google-play", before: "missing-receipt-data", "The other store.") { _ in
            json(["Store": "GooglePlay", "TransactionID": "1", "Payload": #"{"json":"{}","signature":"c2ln"}"#])
        },
        refused("google-play-order.txt", "google-play", before: "unrecognized-form", "An order id.") { _ in
            "GPA.3300-0000-0000-00000"
        },
        refused("google-play-token.txt", "google-play", before: "unrecognized-form", "A purchase token.") { _ in
            "kdjfhgkdjfhgkjdfhgkjdfhg.AO-J1OzexampleexampleexampleexampleexampleexampleexampleexampleA"
        },
        refused("page.html", "html", before: "unrecognized-form", "A proxy's answer.") { _ in
            "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>\n"
        },
        refused("hexadecimal.txt", "hexadecimal", before: "unrecognized-form", "A dump.") { hexadecimal($0.binary) },
        refused("nsdata-description.txt", "hexadecimal", before: "unrecognized-form", "Until iOS 12.") {
            "<" + lines(of: hexadecimal($0.binary), 8, " ") + ">"
        },
        refused("nsdata-description-of-ios-13.txt", "hexadecimal", before: "invalid-json", "It is shortened.") {
            "{length = \($0.binary.count), bytes = 0x\(hexadecimal($0.binary.prefix(16))) ... \(hexadecimal($0.binary.suffix(8))) }"
        },
        ClientVector(
            name: "utf-16.txt", expected: ClientVerdict(code: "utf-16"), before: "unrecognized-form",
            why: "A string of Windows, with its mark."
        ) { [0xFF, 0xFE] + $0.receipt.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } },
        ClientVector(
            name: "utf-16-without-a-mark.txt", expected: ClientVerdict(code: "utf-16"), before: "unrecognized-form",
            why: "In the order of the network."
        ) { $0.receipt.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } },
        refused("null.txt", "leaked-text", before: "unrecognized-form", "No value.") { _ in "null" },
        refused("undefined.json", "leaked-text", before: "invalid-base64", "No value.") { _ in
            json(["receipt-data": "undefined"])
        },
        refused("object-object.txt", "leaked-text", before: "unrecognized-form", "JavaScript's text of an object.") {
            _ in
            "[object Object]"
        },
        refused("optional.txt", "leaked-text", before: "unrecognized-form", "Swift's text of an optional.") {
            "Optional(\"\($0.receipt)\")"
        },
        refused("python-bytes.txt", "leaked-text", before: "unrecognized-form", "Python's text of bytes.") {
            "b'\($0.receipt)'"
        },
        refused("curly-quotes.txt", "leaked-text", before: "unrecognized-form", "Through a word processor.") {
            "\u{201C}\($0.receipt)\u{201D}"
        },
        refused("curly-quotes-in-json.json", "leaked-text", before: "invalid-json", "Through a word processor.") {
            "{\u{201C}receipt-data\u{201D}:\u{201C}\($0.receipt)\u{201D}}"
        },
        refused("ellipsis.txt", "leaked-text", before: "invalid-base64", "Copied from a log.") {
            "\($0.receipt.prefix(100))...\($0.receipt.suffix(100))"
        },
        refused("ellipsis-in-a-jws.txt", "leaked-text", before: "part-count", "Copied from a console.") {
            "\($0.jws.prefix(100))\u{2026}\($0.jws.suffix(100))"
        },
        refused("bearer.txt", "leaked-text", before: "unrecognized-form", "The value of a header.") {
            "Bearer \($0.jws)"
        },
        refused("data-description.txt", "leaked-text", before: "unrecognized-form", "Swift's text of Data.") {
            "\($0.binary.count) bytes"
        },
    ]

    private static let cutOff: [ClientVector] = [
        refused(
            "receipt-cut-at-255.txt", "truncated", path: "container › ContentInfo", found: "191 bytes",
            expected: "4682 bytes", before: "truncated",
            "A column of a database."
        ) { String($0.receipt.prefix(255)) },
        refused(
            "receipt-cut-at-4096.txt", "truncated", path: "container › ContentInfo", found: "3072 bytes",
            expected: "4682 bytes",
            before: "truncated", "A buffer."
        ) { String($0.receipt.prefix(4096)) },
        ClientVector(
            name: "receipt-cut.der",
            expected: ClientVerdict(
                code: "truncated", path: "container › ContentInfo", found: "1024 bytes", expected: "4682 bytes"),
            before: "truncated", why: "Binary, and cut at 1,024 bytes."
        ) { Array($0.binary.prefix(1024)) },
        refused(
            "request-cut.json", "truncated", found: "755 bytes", expected: "4682 bytes", before: "invalid-json",
            "The string has no end, and the object neither."
        ) { String(json(["receipt-data": $0.receipt]).prefix(1024)) },
        refused(
            "unity-cut.json", "truncated", "unity", path: "container › ContentInfo", found: "768 bytes",
            expected: "4682 bytes",
            before: "missing-receipt-data",
            "Cut before Unity had it."
        ) { unity(String($0.receipt.prefix(1024))) },
        refused(
            "jws-cut-in-the-payload.txt", "truncated", found: "2 parts", expected: "3 parts", before: "part-count",
            "Two parts of three."
        ) { $0.jws.split(separator: ".").dropLast().joined(separator: ".") },
        refused(
            "jws-cut-at-1024.txt", "truncated", found: "1 parts", expected: "3 parts", before: "part-count",
            "In the header, where the certificates are."
        ) { String($0.jws.prefix(1024)) },
        refused(
            "request-with-a-jws-cut.json", "truncated", found: "1 parts", expected: "3 parts", before: "invalid-json",
            "The string has no end, and the object neither."
        ) { String(json(["signedTransactionInfo": $0.jws]).prefix(1024)) },
    ]
}
