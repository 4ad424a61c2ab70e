/// The languages of the page.
public enum Language: String, CaseIterable, Sendable {
    case english = "en"
    case simplifiedChinese = "zh-Hans"

    /// The tag of BCP 47.
    var tag: StaticString {
        switch self {
        case .english: "en"
        case .simplifiedChinese: "zh-Hans"
        }
    }

    /// Returns the text in this language.
    @_spi(Surfaces) public func choose(_ english: StaticString, _ chinese: StaticString) -> StaticString {
        switch self {
        case .english: english
        case .simplifiedChinese: chinese
        }
    }
}
