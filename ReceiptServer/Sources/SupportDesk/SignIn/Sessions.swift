import AppStoreReceipt
import LedgerService
import LibcryptoHandles
import PurchaseLedger
import StrictText
import Synchronization

/// A signed-in user.
struct Session: Sendable {
    /// The digest of the token. The token's scopes are looked up for each request, so removing a token ends its
    /// sessions.
    let token: DigestValue
    /// The token in each form of the session, which no other site knows.
    let formToken: String
    let begin: Instant
    var last: Instant
    /// The forms that were sent, with their dates. Each form takes effect only once.
    var sent: [UTF8Bytes: Instant] = [:]
}

/// The sessions of this process, by the digest of their id. Only the browser has the id.
final class Sessions: Sendable {
    static let maximumTime = Duration.seconds(8 * 3600)
    static let idleTime = Duration.seconds(30 * 60)
    /// Beyond a maximum, the session that was idle longest ends. The limit for each token keeps one member of staff
    /// from ending another's sessions; the other limit is for all sessions.
    static let maximumCountOfToken = 32
    static let maximumCount = 4096
    /// The maximum number of sent forms to remember. Nobody sends as many within ``FormNumber/maximumAge``.
    private static let maximumSentCount = 4096

    private let sessions = Mutex<[DigestValue: Session]>([:])

    /// Begins a session with a new id, and returns the id.
    func begin(_ token: DigestValue, at now: Instant) throws(LedgerError) -> String {
        let id = RandomText.make()
        let digest = try AccessTokens.digest(of: id)
        let session = Session(token: token, formToken: RandomText.make(), begin: now, last: now)
        sessions.withLock { sessions in
            sessions = sessions.filter { !Self.isOver($0.value, at: now) }
            Self.makeRoom(in: &sessions, Self.maximumCountOfToken) { $0.token == token }
            Self.makeRoom(in: &sessions, Self.maximumCount) { _ in true }
            sessions[digest] = session
        }
        return id
    }

    private static func makeRoom(
        in sessions: inout [DigestValue: Session], _ limit: Int, where counts: (Session) -> Bool
    ) {
        let those = sessions.filter { counts($0.value) }
        guard those.count >= limit, let oldest = those.min(by: { $0.value.last < $1.value.last }) else { return }
        sessions[oldest.key] = nil
    }

    /// Returns the session with an id, and records its use.
    func session(_ id: String, at now: Instant) throws(LedgerError) -> Session? {
        let digest = try AccessTokens.digest(of: id)
        return sessions.withLock { sessions in
            guard var session = sessions[digest] else { return nil }
            guard !Self.isOver(session, at: now) else {
                sessions[digest] = nil
                return nil
            }
            session.last = max(session.last, now)
            sessions[digest] = session
            return session
        }
    }

    func end(_ id: String) throws(LedgerError) {
        let digest = try AccessTokens.digest(of: id)
        sessions.withLock { $0[digest] = nil }
    }

    /// The result of sending a form.
    enum Sending { case first, repeated, tooOld }

    /// Records that a form was sent.
    func send(_ form: String, of id: String, at now: Instant) throws(LedgerError) -> Sending {
        let digest = try AccessTokens.digest(of: id)
        let date = FormNumber.date(of: form)
        let form = UTF8Bytes(form)
        return sessions.withLock { sessions in
            guard var session = sessions[digest] else { return .tooOld }
            if session.sent[form] != nil { return .repeated }
            let oldest = now - FormNumber.maximumAge
            // The clock may have been set back since the form was made.
            if let date, date < oldest || now < date - .seconds(300) { return .tooOld }
            if session.sent.count >= Self.maximumSentCount {
                // A form that is forgotten here is refused because of its age.
                session.sent = session.sent.filter { $0.value >= oldest }
            }
            guard session.sent.count < Self.maximumSentCount else { return .tooOld }
            // A number with an unknown format is remembered as long as the session lasts.
            session.sent[form] = date ?? Instant(millisecondsSince1970: .max)
            sessions[digest] = session
            return .first
        }
    }

    /// Removes the record that a form was sent.
    func takeBack(_ form: String, of id: String) throws(LedgerError) {
        let digest = try AccessTokens.digest(of: id)
        let form = UTF8Bytes(form)
        _ = sessions.withLock { $0[digest]?.sent.removeValue(forKey: form) }
    }

    var count: Int { sessions.withLock(\.count) }

    private static func isOver(_ session: Session, at now: Instant) -> Bool {
        session.begin.duration(to: now) >= maximumTime || session.last.duration(to: now) >= idleTime
            // A clock that was set back would extend the session.
            || now.duration(to: session.begin) > .seconds(300)
    }
}
