import HTTPService
@_spi(Surfaces) import ReceiptReport
import StrictText

/// The language and time zone of the desk in a browser, kept in a cookie that isn't secret.
struct View: Sendable {
    var language = Language.english
    var timeZone: ReportTimeZone?
    /// Whether the user chose the language and time zone.
    private(set) var isChosen = true

    init(_ request: Request, _ cookie: Cookie, _ zones: TimeZones) {
        let stored = cookie.value(in: request.header("Cookie"))?.split(separator: "|", maxSplits: 1)
        if let language = stored?.first.flatMap({ Language(rawValue: String($0)) }) {
            self.language = language
        } else if request.header("Accept-Language")?.utf8.starts(with: "zh".utf8) ?? false {
            language = .simplifiedChinese
        }
        isChosen = stored != nil
        timeZone =
            isChosen ? stored?.dropFirst().first.flatMap { zones.zone(named: String($0)) } : zones.usual(language)
    }

    init(_ language: Language, _ timeZone: ReportTimeZone?) {
        self.language = language
        self.timeZone = timeZone
    }

    /// The value of the cookie. Zone names contain no characters that cookies can't.
    var text: String { "\(language.rawValue)|\(timeZone?.name ?? "")" }
}
