import StrictText

extension Decision {
    /// The decision as one line of JSON:
    /// `{"schema":1,"at":…,"next_change":…,"items":[…],"accepted":[{"index":…},…],
    /// "refused":[{"index":…,"error":{…}},…]}`.
    ///
    /// The members before `accepted` are those of ``Entitlements/json``, and `error` is that of
    /// ``VerificationError/json``. A piece that was in a wrapper has `unwrapped`.
    public var json: String { json(for: .swift) }

    /// The same with advice for an audience.
    @_spi(Surfaces) public func json(for audience: Audience) -> String {
        JSONWriter.text { $0.decision(self, for: audience) }
    }
}

extension JSONWriter {
    /// The object of ``Decision/json``.
    ///
    /// - Parameter audience: Whom the advice of the errors is for.
    package mutating func decision(_ decision: Decision, for audience: Audience) {
        beginEntitlements(decision.entitlements)
        objects("accepted", decision.pieces.lazy.filter { $0.evidence != nil }) { writer, piece in
            writer.place(piece.place)
            writer.unwrapped(piece.evidence?.unwrapped ?? [])
        }
        objects("refused", decision.pieces.lazy.filter { $0.evidence == nil }) { writer, piece in
            writer.place(piece.place)
            switch piece.outcome {
            case .verified: break
            case .refused(let error):
                writer.unwrapped(error.unwrapped)
                writer.error(error, for: audience)
            case .unreadable(let message): writer.error(.unreadableFile, message: message)
            }
        }
        endObject()
    }
}
