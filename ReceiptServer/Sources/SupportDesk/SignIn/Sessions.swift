import AppStoreReceipt
import LedgerService
import LibcryptoHandles
import PurchaseLedger
import StrictText
import Synchronization

/// A signed-in user.
struct Session: Sendable {
    /// The digest of the token: what it allows is looked up anew for each request, so that a token that is removed
    /// signs out.
    let token: DigestValue
    /// What each form of the session has, and no other site knows.
    let formToken: String
    let begin: Instant
    var last: Instant
    /// The forms that were sent, with their dates: none does its work twice.
    var sent: [UTF8Bytes: Instant] = [:]
}

/// The sessions of this process, by the digest of their id. The browser alone has the id.
final class Sessions: Sendable {
    static let maximumTime = Duration.seconds(8 * 3600)
    static let idleTime = Duration.seconds(30 * 60)
    /// Beyond it, the one that was idle for longest ends: of one token, so that no member of staff ends another's, and
    /// of all.
    static let maximumCountOfToken = 32
    static let maximumCount = 4096
    /// More forms than anybody sends within ``FormNumber/maximumAge``.
    private static let maximumSentCount = 4096

    private let sessions = Mutex<[DigestValue: Session]>([:])

    /// Begins a session, whose id nobody knew before.
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

    /// Returns the session with an id, and notes that it is used.
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

    /// What becomes of a form that is sent.
    enum Sending { case first, repeated, tooOld }

    /// Notes that a form is sent.
    func send(_ form: String, of id: String, at now: Instant) throws(LedgerError) -> Sending {
        let digest = try AccessTokens.digest(of: id)
        let date = FormNumber.date(of: form)
        let form = UTF8Bytes(form)
        return sessions.withLock { sessions in
            guard var session = sessions[digest] else { return .tooOld }
            if session.sent[form] != nil { return .repeated }
            let oldest = now - FormNumber.maximumAge
            // The clock may have been set back since.
            if let date, date < oldest || now < date - .seconds(300) { return .tooOld }
            if session.sent.count >= Self.maximumSentCount {
                // What is forgotten is refused by its age.
                session.sent = session.sent.filter { $0.value >= oldest }
            }
            guard session.sent.count < Self.maximumSentCount else { return .tooOld }
            // A number that no page has is remembered as long as the session lasts.
            session.sent[form] = date ?? Instant(millisecondsSince1970: .max)
            sessions[digest] = session
            return .first
        }
    }

    /// Notes that a form was not sent.
    func takeBack(_ form: String, of id: String) throws(LedgerError) {
        let digest = try AccessTokens.digest(of: id)
        let form = UTF8Bytes(form)
        _ = sessions.withLock { $0[digest]?.sent.removeValue(forKey: form) }
    }

    var count: Int { sessions.withLock(\.count) }

    private static func isOver(_ session: Session, at now: Instant) -> Bool {
        session.begin.duration(to: now) >= maximumTime || session.last.duration(to: now) >= idleTime
            // A clock that was set back would make sessions longer.
            || now.duration(to: session.begin) > .seconds(300)
    }
}
