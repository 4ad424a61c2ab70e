import AppStoreReceipt
import Foundation
import SpanASN1
import Testing

struct AccessCodableTests {
    private static let date = Instant(millisecondsSince1970: 1_751_362_200_123)
    private static let rows: [(access: Entitlements.Access, json: String, text: String)] = [
        (.active(until: date), #"{"access":"active","date":1751362200123}"#, "active until \(date)"),
        (.owned, #"{"access":"owned"}"#, "owned"),
        (.consumable(quantity: 3), #"{"access":"consumable","quantity":3}"#, "consumable, quantity 3"),
        (.notYet(from: date), #"{"access":"not-yet","date":1751362200123}"#, "not yet, from \(date)"),
        (.expired(at: date), #"{"access":"expired","date":1751362200123}"#, "expired at \(date)"),
        (.revoked(at: date), #"{"access":"revoked","date":1751362200123}"#, "revoked at \(date)"),
        (.revoked(at: nil), #"{"access":"revoked"}"#, "revoked"),
        (.upgraded(at: date), #"{"access":"upgraded","date":1751362200123}"#, "upgraded at \(date)"),
        (.upgraded(at: nil), #"{"access":"upgraded"}"#, "upgraded"),
        (.lengthUnknown, #"{"access":"length-unknown"}"#, "length-unknown"),
        (.undetermined, #"{"access":"undetermined"}"#, "undetermined"),
    ]

    @Test func `access is encoded with its code and what belongs to it, and decoded again`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for row in Self.rows {
            #expect(String(decoding: try encoder.encode(row.access), as: UTF8.self) == row.json)
            #expect(try JSONDecoder().decode(Entitlements.Access.self, from: Data(row.json.utf8)) == row.access)
            #expect("\(row.access)" == row.text)
        }
        #expect(Set(Self.rows.map(\.access.code)).count == 9)
    }

    @Test(arguments: [
        "{}", #"{"access":"gone"}"#, #"{"access":"active"}"#, #"{"access":"consumable"}"#, #"{"access":"not-yet"}"#,
        #"{"access":"expired","date":"soon"}"#, #""active""#,
    ])
    func `access that lacks what belongs to it is refused`(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Entitlements.Access.self, from: Data(json.utf8))
        }
    }
}
