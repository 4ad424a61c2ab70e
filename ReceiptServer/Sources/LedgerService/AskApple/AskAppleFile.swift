@_spi(Surfaces) import AppStoreReceipt
import AppStoreServerAPI
import AppStoreSigning
import HTTPService
import PurchaseLedger
import Reconciliation
import StrictText

/// The file of `--ask-apple`: the keys for the App Store Server API, and the apps they are for.
///
/// ```json
/// [{"bundle_id":"com.example.app","issuer_id":"57246542-96fe-1a63-e053-0824d011072a","key_id":"2X9R4HXF34",
///   "key_file":"key.p8"}]
/// ```
struct AskAppleFile: Sendable {
    /// The key for one app in one environment.
    struct Asker: Sendable {
        let app: AppleApp
        let keyID: String
    }

    /// One element for each app and environment, in the order of the file, production first.
    let askers: [Asker]

    /// Apple's limit for most endpoints.
    private static let maximumRequestsPerHour = 180_000

    /// Reads the file and the keys that it names.
    ///
    /// - Parameter verifier: The verifier of the answers. Its policy determines the apps and environments.
    init(_ path: String, _ verifier: AppStoreVerifier) throws(AskAppleFault) {
        let entries = try Self.entries(Self.read(path))
        var askers: [Asker] = []
        for (number, entry) in entries.enumerated() {
            do throws(AskAppleFault.Reason) {
                for asker in try entry.askers(beside: path, verifier) {
                    guard !askers.contains(where: { $0.app.app == asker.app.app }) else {
                        throw .listedTwice(asker.app.app.environment)
                    }
                    askers.append(asker)
                }
            } catch {
                throw AskAppleFault(error, entry: number + 1)
            }
        }
        self.askers = askers
    }

    private static func read(_ path: String) throws(AskAppleFault) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try System.readSecretFile(path, maximumByteCount: 1 << 20)
        } catch {
            throw AskAppleFault(.unreadable(path, error))
        }
        guard let bytes else { throw AskAppleFault(.accessibleToOthers(path)) }
        return bytes
    }

    private static func entries(_ bytes: [UInt8]) throws(AskAppleFault) -> [Entry] {
        var entries: [Entry] = []
        var fault: AskAppleFault?
        do throws(JSONError) {
            try JSONCursor.decode(bytes.span) { (cursor) throws(JSONError) in
                try cursor.readArray { (cursor) throws(JSONError) in
                    var entry = Entry()
                    let reason = try entry.read(&cursor)
                    entries.append(entry)
                    if let reason, fault == nil { fault = AskAppleFault(reason, entry: entries.count) }
                }
            }
        } catch {
            throw AskAppleFault(.notJSON(offset: error.offset))
        }
        if let fault { throw fault }
        guard !entries.isEmpty else { throw AskAppleFault(.noEntry) }
        return entries
    }

    /// An object of the file.
    private struct Entry {
        private static let members = JSONMembers<AskAppleFault.Member>()
        private var texts: [AskAppleFault.Member: String] = [:]
        private var environments: [AppStoreEnvironment]?
        private var requestsPerHour = AppleApp.defaultRequestsPerHour

        /// - Returns: The first reason to refuse the object.
        mutating func read(_ cursor: inout JSONCursor) throws(JSONError) -> AskAppleFault.Reason? {
            var seen: Set<AskAppleFault.Member> = []
            var found = Entry()
            var reason: AskAppleFault.Reason?
            try cursor.readObject { (cursor, name) throws(JSONError) in
                guard let member = Self.members.member(of: name) else {
                    reason = reason ?? .unknownMember
                    return
                }
                guard seen.insert(member).inserted else { throw JSONError(.duplicateMember, offset: name.offset) }
                if let fault = try found.readValue(of: member, &cursor) { reason = reason ?? fault }
            }
            self = found
            return reason
        }

        private mutating func readValue(
            of member: AskAppleFault.Member, _ cursor: inout JSONCursor
        ) throws(JSONError) -> AskAppleFault.Reason? {
            switch (member, try cursor.peekType()) {
            case (.environments, .array):
                var names: [String] = []
                var isText = true
                try cursor.readArray { (cursor) throws(JSONError) in
                    if try cursor.peekType() == .string {
                        names.append(try cursor.readString().value)
                    } else {
                        isText = false
                        _ = try cursor.skipValue()
                    }
                }
                let known = names.compactMap { name in
                    [.production, .sandbox].first { (known: AppStoreEnvironment) in
                        known.rawValue.hasSameBytes(as: name)
                    }
                }
                guard isText, !names.isEmpty, known.count == names.count else { return .invalid(.environments) }
                environments = known
            case (.requestsPerHour, .number):
                let number = try cursor.readNumber()
                guard let count = try? number.int64(), 1...Int64(maximumRequestsPerHour) ~= count else {
                    return .invalid(.requestsPerHour)
                }
                requestsPerHour = Int(count)
            case (.bundleID, .string), (.issuerID, .string), (.keyID, .string), (.keyFile, .string), (.url, .string):
                let text = try cursor.readString().value
                guard !text.isEmpty, !text.utf8.contains(0) else { return .invalid(member) }
                texts[member] = text
            default:
                _ = try cursor.skipValue()
                return .invalid(member)
            }
            return nil
        }

        private func required(_ member: AskAppleFault.Member) throws(AskAppleFault.Reason) -> String {
            guard let text = texts[member] else { throw .missing(member) }
            return text
        }

        func askers(beside path: String, _ verifier: AppStoreVerifier) throws(AskAppleFault.Reason) -> [Asker] {
            let bundleID = try required(.bundleID)
            let (keyID, issuerID, keyFile) = (try required(.keyID), try required(.issuerID), try required(.keyFile))
            let policy = verifier.policy
            guard policy.accepts(bundleID: bundleID) else { throw .otherApp }
            let accepted = ([.production, .sandbox] as [AppStoreEnvironment]).filter(
                policy.acceptedEnvironments.contains)
            guard environments?.allSatisfy(accepted.contains) ?? !accepted.isEmpty else { throw .otherEnvironment }
            guard texts[.url] != nil || verifier.trust.isApple else { throw .otherRoots }
            let keyPath = keyFile.utf8.first == UInt8(ascii: "/") ? keyFile : Self.folder(of: path) + keyFile
            let signer: AppStoreSigner
            do throws(SigningError) {
                signer = try AppStoreSigner(
                    keyID: keyID, issuerID: issuerID, bundleID: bundleID, key: InAppPurchaseKey(file: keyPath))
            } catch {
                throw .signer(keyPath, error)
            }
            var options = AppStoreServerClient.Options()
            options.loopbackURL = texts[.url]
            var askers: [Asker] = []
            for environment in accepted where environments?.contains(environment) ?? true {
                do throws(AppStoreServerError) {
                    let client = try AppStoreServerClient(
                        signer, environment: environment, verifier: verifier, options: options)
                    let app = AppleApp(client, requestsPerHour: requestsPerHour)
                    askers.append(Asker(app: app, keyID: keyID))
                } catch {
                    throw .client(error)
                }
            }
            return askers
        }

        /// Returns the part of a path before the name of the file.
        private static func folder(of path: String) -> String {
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
            return String(path[...slash])
        }
    }
}

/// The reason a file of `--ask-apple` is refused. It quotes nothing of a key.
struct AskAppleFault: Error {
    /// The members of an entry.
    enum Member: String, CaseIterable, Sendable {
        case bundleID = "bundle_id"
        case issuerID = "issuer_id"
        case keyID = "key_id"
        case keyFile = "key_file"
        case environments
        case requestsPerHour = "requests_per_hour"
        /// The server on this machine to query instead of Apple's.
        case url
    }

    enum Reason: Error {
        case unreadable(String, SystemError)
        case accessibleToOthers(String)
        case notJSON(offset: Int)
        case noEntry
        case unknownMember
        case missing(Member)
        case invalid(Member)
        case otherApp
        case otherEnvironment
        /// Another root is trusted. Apple doesn't know its transactions.
        case otherRoots
        case listedTwice(AppStoreEnvironment)
        case signer(String, SigningError)
        case client(AppStoreServerError)
    }

    let reason: Reason
    /// The number of the entry, from 1, or `nil` for the whole file.
    let entry: Int?

    init(_ reason: Reason, entry: Int? = nil) {
        self.reason = reason
        self.entry = entry
    }
}

extension AskAppleFault: CustomStringConvertible {
    var description: String { (entry.map { "entry \($0): " } ?? "") + reason.text }
}

extension AskAppleFault.Reason {
    fileprivate var text: String {
        switch self {
        case .unreadable(let path, let error): "\(path): \(error)"
        case .accessibleToOthers(let path): "\(path): others than its owner can read or change it: chmod 600"
        case .notJSON(let offset): "not an array of JSON objects, as byte \(offset) shows"
        case .noEntry: "it has no entry"
        case .unknownMember:
            "an unknown member; there are "
                + AskAppleFault.Member.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        case .missing(let member): "'\(member.rawValue)' is missing"
        case .invalid(.environments): "'environments' must be an array of 'production' and 'sandbox'"
        case .invalid(.requestsPerHour): "'requests_per_hour' must be a number from 1 to 180000"
        case .invalid(let member): "'\(member.rawValue)' must be a text that is not empty"
        case .otherApp: "the app is none of --bundle-id"
        case .otherEnvironment: "an environment is none of --environment"
        case .otherRoots: "--root is for tests: 'url' must name an App Store on this machine"
        case .listedTwice(let environment): "the app is there twice for the environment '\(environment.rawValue)'"
        case .signer(let path, let error): error.argument == nil ? "\(path): \(error)" : "\(error)"
        case .client(let error): "\(error)"
        }
    }
}
