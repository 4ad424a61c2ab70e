import StrictText

extension Decision {
    /// The decision as one line of JSON: `{"schema":1,"at":…,"items":[…],"refused":[{"index":…,"error":{…}},…]}`.
    ///
    /// The members before `refused` are those of ``Entitlements/json``, and `error` is that of ``VerificationError/json``.
    public var json: String { json(for: .swift) }

    /// The same with advice for an audience.
    @_spi(Surfaces) public func json(for audience: Audience) -> String {
        var writer = JSONWriter()
        writer.decision(self, for: audience)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    /// The object of ``Decision/json``.
    ///
    /// - Parameter audience: Whom the advice of the errors is for.
    package mutating func decision(_ decision: Decision, for audience: Audience) {
        beginEntitlements(decision.entitlements)
        name("refused")
        beginArray()
        for piece in decision.pieces {
            switch piece.outcome {
            case .verified: continue
            case .refused(let error):
                beginObject()
                place(piece.place)
                name("error")
                self.error(error, for: audience)
            case .unreadable(let message):
                beginObject()
                place(piece.place)
                name("error")
                error(.unreadableFile, message: message)
            }
            endObject()
        }
        endArray()
        endObject()
    }
}
