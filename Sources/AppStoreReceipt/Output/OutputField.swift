import Instants
import StrictText

/// A member of the JSON of a value, and how it is written.
struct OutputField<Value>: Sendable {
    let member: OutputMember
    let write: @Sendable (Value, inout JSONWriter) -> Void

    /// - Parameter isOptional: Whether it can be `null`.
    static func member(
        _ name: StaticString, _ kind: OutputMember.Kind, isOptional: Bool = false, _ meaning: String = "",
        _ write: @escaping @Sendable (Value, inout JSONWriter) -> Void
    ) -> Self {
        var output = OutputMember("\(name)", kind, isOptional: isOptional, meaning)
        output.isNull = isOptional
        return OutputField(member: output) { value, writer in
            writer.name(name)
            write(value, &writer)
        }
    }

    /// A text, or `null`.
    static func text(_ name: StaticString, _ meaning: String, _ text: @escaping @Sendable (Value) -> String?) -> Self {
        self.text(name, .text, meaning, text)
    }

    /// A word, or `null`.
    static func word(
        _ name: StaticString, _ words: OutputMember.Words, _ meaning: String,
        _ word: @escaping @Sendable (Value) -> String?
    ) -> Self {
        text(name, .word(words), meaning, word)
    }

    private static func text(
        _ name: StaticString, _ kind: OutputMember.Kind, _ meaning: String,
        _ text: @escaping @Sendable (Value) -> String?
    ) -> Self {
        member(name, kind, isOptional: true, meaning) {
            if let text = text($0) { $1.string(text) } else { $1.null() }
        }
    }

    /// A number, or `null`.
    static func number(
        _ name: StaticString, _ meaning: String, _ number: @escaping @Sendable (Value) -> Int64?
    ) -> Self {
        member(name, .number, isOptional: true, meaning) {
            if let number = number($0) { $1.integer(number) } else { $1.null() }
        }
    }

    /// A number, or `null`.
    static func number(
        _ name: StaticString, _ meaning: String, _ number: @escaping @Sendable (Value) -> Int?
    ) -> Self {
        self.number(name, meaning) { value -> Int64? in number(value).map { Int64($0) } }
    }

    /// A date, or `null`.
    static func date(
        _ name: StaticString, _ meaning: String, _ date: @escaping @Sendable (Value) -> Instant?
    ) -> Self {
        member(name, .date, isOptional: true, meaning) {
            if let date = date($0) { $1.date(date) } else { $1.null() }
        }
    }

    /// `true` or `false`, or `null`.
    static func flag(_ name: StaticString, _ meaning: String, _ flag: @escaping @Sendable (Value) -> Bool?) -> Self {
        member(name, .flag, isOptional: true, meaning) {
            if let flag = flag($0) { $1.bool(flag) } else { $1.null() }
        }
    }

    /// A member that is missing if there is no text.
    static func missing(
        _ name: StaticString, _ kind: OutputMember.Kind, _ meaning: String,
        _ text: @escaping @Sendable (Value) -> String?
    ) -> Self {
        OutputField(member: OutputMember("\(name)", kind, isOptional: true, meaning)) {
            $1.member(name, ifAny: text($0))
        }
    }
}
