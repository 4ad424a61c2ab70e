import AppStoreReceipt
import StrictText

// The chain of certificates as a picture.
extension Report {
    private static let maximumCertificateCount = 6

    func signer(of piece: ReportPiece, _ html: inout HTMLWriter) {
        if let verification = piece.verification, let chain = piece.verifiedChain(trust) {
            func picture(_ html: inout HTMLWriter) {
                html.element(.p, .style(.note), phrase: .chainVerified, .date(verification.validationDate))
                self.chain(chain, verification.validationDate, isVerified: true, &html)
            }
            guard pieces.count > 1 else {
                html.element(.h3, phrase: .whoSigned)
                return picture(&html)
            }
            // The pieces of one customer mostly have the same signers.
            return html.element(.details) { html in
                html.element(.summary) { html in
                    html.phrase(.whoSigned)
                    if let name = chain.last?.commonName {
                        html.text(": ")
                        html.inline(name)
                    }
                }
                picture(&html)
            }
        }
        let certificates = piece.embeddedCertificates()
        guard !certificates.isEmpty else { return }
        html.element(.h3, phrase: .whoSigned)
        if piece.areContentsSigned {
            html.element(.p, .style(.note), phrase: .chainPassed)
        } else {
            html.element(.p, .style(.claim), phrase: .chainUnverified)
        }
        // A JWS has its signer first; receipts too.
        let facts = certificates.prefix(Self.maximumCertificateCount).map(CertificateFacts.init)
        chain(facts.reversed(), nil, isVerified: false, &html)
        if certificates.count > facts.count {
            html.element(.p, .style(.note), phrase: .moreCertificates, .number(certificates.count - facts.count))
        }
    }

    private func chain(
        _ chain: [CertificateFacts], _ date: Instant?, isVerified: Bool, _ html: inout HTMLWriter
    ) {
        let scale = Scale(
            chain.compactMap(\.validity).flatMap { [$0.lowerBound, $0.upperBound] } + [date].compactMap(\.self))
        html.element(.ol, .style(.chain)) { html in
            for (index, certificate) in chain.enumerated() {
                html.element(.li, .styles(isVerified ? [.link] : [.link, .unknown])) { html in
                    html.element(.span, .style(.seal), .hidden) { html in
                        html.element(.svg, .box(width: 24, height: 24)) { html in
                            html.element(.circle, .cx(.pixels(12)), .cy(.pixels(9)), .r(.pixels(6)))
                            html.element(
                                .path,
                                .shape(
                                    isVerified
                                        ? "M9.5 9 11.3 11 14.6 7.2M8.5 14.5 7 22 12 19 17 22 15.5 14.5"
                                        : "M8.5 14.5 7 22 12 19 17 22 15.5 14.5"))
                        }
                    }
                    html.element(.div) { html in
                        let role: Phrase =
                            !isVerified
                            ? .certificate : index == chain.count - 1 ? .signer : index == 0 ? .root : .intermediate
                        html.element(.p, .style(.quiet)) { html in
                            html.phrase(role, .number(chain.count - index))
                        }
                        self.certificate(certificate, scale, date, &html)
                    }
                }
            }
        }
    }

    private func certificate(
        _ certificate: CertificateFacts, _ scale: Scale?, _ date: Instant?, _ html: inout HTMLWriter
    ) {
        guard let name = certificate.commonName, let subject = certificate.subject else {
            return html.element(.p, phrase: .unreadableCertificate)
        }
        html.element(.h4) { $0.inline(name) }
        html.element(.div, .style(.note)) { $0.value(subject) }
        if let validity = certificate.validity {
            html.element(.p) { html in
                html.phrase(.validFromTo, .date(validity.lowerBound), .date(validity.upperBound))
            }
            if let scale { picture(of: validity, scale, date, &html) }
        }
        if let fingerprint = certificate.fingerprint {
            html.element(.p) { html in
                html.phrase(.fingerprint)
                html.text(" ")
                html.element(.code, text: fingerprint.description)
            }
        }
    }

    private func picture(
        of validity: ClosedRange<Instant>, _ scale: Scale, _ date: Instant?, _ html: inout HTMLWriter
    ) {
        html.element(
            .svg, .style(.picture), .height(.pixels(14)), .role(.img), .label(html.plain(.validityPicture))
        ) { html in
            let (start, end) = (scale.part(of: validity.lowerBound), scale.part(of: validity.upperBound))
            html.element(.line, .style(.axis), .x1(.part(0)), .x2(.part(10_000)), .y1(.pixels(7)), .y2(.pixels(7)))
            html.element(
                .rect, .style(.paid), .x(.part(start)), .y(.pixels(4)), .width(.part(max(40, end - start))),
                .height(.pixels(6)), .cornerRadius(.pixels(3)))
            guard let date else { return }
            let x = scale.part(of: date)
            html.element(.line, .style(.now), .x1(.part(x)), .x2(.part(x)), .y1(.pixels(0)), .y2(.pixels(14)))
        }
    }
}
