@_spi(Surfaces) public import AppStoreReceipt

/// The codes that say what a client sent in place of evidence, and what to do about each: the short form of the article
/// *The client sends something else*.
@_spi(Surfaces) public enum ClientHelp {
    /// Writes a list, whose terms are the codes.
    public static func write(to html: inout HTMLWriter, for audience: Audience) {
        html.element(.dl, .style(.facts)) { html in
            for kind in InputError.Kind.ofClients {
                let error = VerificationError(.input(InputError(kind, armor: nil, offset: 0)))
                html.element(.dt) { $0.element(.code, text: error.code.rawValue) }
                html.element(.dd) { html in
                    html.element(.p, text: error.sentence(in: html.language))
                    html.element(.p, text: error.advice(for: audience, in: html.language))
                }
            }
        }
    }
}
