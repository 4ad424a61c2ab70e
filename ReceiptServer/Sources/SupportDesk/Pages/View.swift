import HTTPService
@_spi(Surfaces) import ReceiptReport
import StrictText

/// How a browser is shown the desk: kept in a cookie, which is no secret.
struct View: Sendable {
    var language = Language.english
    var timeZone: ReportTimeZone?
    /// Whether somebody chose it, and not the browser.
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

    /// The value of the cookie. A name of the system's list has no character that a cookie cannot have.
    var text: String { "\(language.rawValue)|\(timeZone?.name ?? "")" }
}
