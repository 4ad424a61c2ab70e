import LedgerService
import LibcryptoHandles
import PurchaseLedger
import SpanASN1
import StrictText
import Synchronization

/// Who is signed in.
struct Session: Sendable {
    /// The digest of the token: what it allows is looked up anew for each request, so that a token that is removed signs out.
    let token: DigestValue
    /// What each form of the session has, and no other site knows.
    let formToken: String
    let begin: Instant
    var last: Instant
    /// The forms that were sent, the latest last: none does its work twice.
    var sent: [UTF8Bytes] = []
}

/// The sessions of this process, by the digest of their id. The browser alone has the id.
final class Sessions: Sendable {
    static let maximumTime = Duration.seconds(8 * 3600)
    static let idleTime = Duration.seconds(30 * 60)
    /// Beyond it, the one that was idle for longest ends: of one token, so that no member of staff ends another's, and of all.
    static let maximumCountOfToken = 32
    static let maximumCount = 4096
    private static let maximumSentCount = 256

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

    /// Notes that a form is sent; `false` if it was before.
    func send(_ form: String, of id: String) throws(LedgerError) -> Bool {
        let digest = try AccessTokens.digest(of: id)
        let form = UTF8Bytes(form)
        return sessions.withLock { sessions in
            guard sessions[digest]?.sent.contains(form) == false else { return false }
            sessions[digest]?.sent.append(form)
            if let count = sessions[digest]?.sent.count, count > Self.maximumSentCount {
                sessions[digest]?.sent.removeFirst()
            }
            return true
        }
    }

    /// Notes that a form was not sent.
    func takeBack(_ form: String, of id: String) throws(LedgerError) {
        let digest = try AccessTokens.digest(of: id)
        let form = UTF8Bytes(form)
        sessions.withLock { $0[digest]?.sent.removeAll { $0 == form } }
    }

    var count: Int { sessions.withLock(\.count) }

    private static func isOver(_ session: Session, at now: Instant) -> Bool {
        session.begin.duration(to: now) >= maximumTime || session.last.duration(to: now) >= idleTime
            // A clock that was set back would make sessions longer.
            || now.duration(to: session.begin) > .seconds(300)
    }
}
