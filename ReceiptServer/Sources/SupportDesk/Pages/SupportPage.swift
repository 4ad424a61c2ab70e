import HTTPService
@_spi(Surfaces) import ReceiptReport

/// The frame of every page of the desk.
struct SupportPage {
    let view: View
    /// The forms for the signed-in user, or `nil` on a page for anyone.
    let forms: Forms?

    /// The headers of every answer of the desk. They forbid scripts, requests to other sites, and framing.
    static var headers: [(name: String, value: String)] {
        [
            (
                "Content-Security-Policy",
                "default-src 'none'; style-src \(StyleSheet.page.source) \(SupportStyle.sheet.source); form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
            ),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            // With `no-referrer`, browsers don't send the origin of a form.
            ("Referrer-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ]
    }

    func response(
        _ status: Int = 200, code: String = "ok", content: (inout HTMLWriter) -> Void
    ) -> Response {
        var html = HTMLWriter(view.language, view.timeZone)
        html.document(title: SupportPhrase.title, [.page, SupportStyle.sheet]) { html in
            html.element(.a, .style(.skip), .to(.contents), phrase: SupportPhrase.skip)
            html.element(.header, .styled("bar")) { html in bar(&html) }
            html.element(.main, .id(.contents), content: content)
            html.element(.footer) { html in
                if forms != nil { html.element(.p, phrase: SupportPhrase.limits) }
                html.element(.p) { html in
                    if let zone = view.timeZone {
                        html.phrase(SupportPhrase.timesInZone, Self.name(of: zone))
                    } else {
                        html.phrase(SupportPhrase.timesInUTC)
                    }
                }
            }
        }
        var response = Response(status: status, body: html.bytes, code: code)
        response.contentType = "text/html; charset=utf-8"
        return response
    }

    private static func name(of zone: ReportTimeZone) -> Slot {
        zone.name.utf8.elementsEqual("Asia/Shanghai".utf8) ? .words(SupportPhrase.beijing) : .code(zone.name)
    }

    private func bar(_ html: inout HTMLWriter) {
        html.element(.p, .styled("desk"), phrase: SupportPhrase.title)
        guard let forms else { return }
        html.element(.nav, .label(html.plain(SupportPhrase.title))) { html in
            html.element(.ul) { html in
                html.element(.li) { $0.link("/", $0.plain(SupportPhrase.newSearch)) }
                html.element(.li) { $0.link("/settings", $0.plain(SupportPhrase.settings)) }
            }
        }
        forms.form("/sign-out", to: &html) { $0.button($0.plain(SupportPhrase.signOut), .styled("quietly")) }
    }
}

/// The forms of a page, each with a token that proves it belongs to the session.
struct Forms {
    let session: Session

    /// Writes a form with the session's token, which no other site knows.
    func form(
        _ path: StaticString, _ attributes: [Attribute] = [], hidden: [(name: StaticString, value: String)] = [],
        to html: inout HTMLWriter, content: (inout HTMLWriter) -> Void
    ) {
        html.form(
            path, attributes,
            hidden: [("form", session.formToken)] + hidden.map { ($0.name, FormBody.escaped($0.value)) },
            content: content)
    }
}
