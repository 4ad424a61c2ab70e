/// The ids of requests: 28 hexadecimal digits that begin with the milliseconds since 1970 in 12 digits. Sorted as text,
/// they are in order of time.
package enum RequestID {
    package static func make() -> String {
        digits(UInt64(clamping: System.now.millisecondsSince1970), 12) + digits(.random(in: .min ... .max), 16)
    }

    private static func digits(_ value: UInt64, _ count: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
}
