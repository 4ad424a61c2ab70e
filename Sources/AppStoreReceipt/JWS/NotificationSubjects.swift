import StrictText

/// The apps and environments that a notification names in members that this library does not know.
///
/// An `UNCLAIM_SEATS` has no `data`, and Apple has documented neither an app nor an environment in it.
struct NotificationSubjects {
    private(set) var subjects: [JWSSubject] = []
    /// Whether it has signed parts, such as a transaction.
    private(set) var hasSignedParts = false

    init(_ object: JSONObject) {
        do throws(JSONError) {
            try JSONCursor.decode(Array(object.text.utf8).span) { (cursor) throws(JSONError) in try read(&cursor) }
        } catch {
            // An unreadable identifier: refuse the notification, as with signed parts.
            hasSignedParts = true
        }
    }

    private mutating func read(_ cursor: inout JSONCursor) throws(JSONError) {
        switch try cursor.peekType() {
        case .object:
            var subject = JWSSubject()
            subject.mayBeMissing = true
            try cursor.readObject { (cursor, name) throws(JSONError) in
                let type = try cursor.peekType()
                if type == .string, name == "bundleId" {
                    subject.bundleID = try cursor.readString().value
                } else if type == .string, name == "environment" {
                    subject.nameEnvironment(try cursor.readString().value)
                } else if type == .number, name == "appAppleId" {
                    subject.appAppleID = String(decimal: try cursor.readInt64()).nonZero
                } else if type != .number, type != .null, name.value.utf8.starts(with: "signed".utf8) {
                    hasSignedParts = true
                } else {
                    try read(&cursor)
                }
            }
            subjects.append(subject)
        case .array: try cursor.readArray { (cursor) throws(JSONError) in try read(&cursor) }
        default: _ = try cursor.skipValue()
        }
    }
}
